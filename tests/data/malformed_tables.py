"""Invalid CSV tables and gzip files."""

from __future__ import annotations

import gzip
import random

from tests.data.ways import way


def table(draw: random.Random) -> list[list[str]]:
    """Return a valid table: a header and two to six bags of one to five instances."""
    columns = draw.randint(1, 8)
    rows = [["bag", "label", *(f"f{j}" for j in range(columns))]]
    for bag in range(draw.randint(2, 6)):
        for _ in range(draw.randint(1, 5)):
            rows.append([str(bag), str(bag % 2), *(f"{draw.uniform(-9, 9):.4g}" for _ in range(columns))])
    return rows


def to_csv(rows: list[list[str]]) -> str:
    return "".join(",".join(row) + "\n" for row in rows)


def with_value(draw: random.Random, value: str) -> str:
    """Return a valid table in which one value is replaced."""
    rows = table(draw)
    row = draw.randrange(1, len(rows))
    rows[row][draw.randrange(2, len(rows[row]))] = value
    return to_csv(rows)


@way
def csv_not_finite(draw):
    return ".csv", with_value(draw, draw.choice(["nan", "NaN", "inf", "-inf", "Infinity", "1e999", "-1e400"]))


@way
def csv_no_number(draw):
    words = ["", " ", "?", "x", "1_000", "0x1F", "1,5", "1.2.3", "--3", "1e", "²", "١٢", "None", "\x00", "=1+1", '"']
    return ".csv", with_value(draw, draw.choice(words))


@way
def csv_column_count(draw):
    rows = table(draw)
    row = rows[draw.randrange(1, len(rows))]
    row[:] = draw.choice([row[:-1], [*row, "1"], row[:1], row * 50])
    return ".csv", to_csv(rows)


@way
def csv_header(draw):
    rows = table(draw)
    width = len(rows[0]) - 2
    features = rows[0][2:]
    heads = [
        ["bag", "f", *features],
        ["id", "label", *features],
        ["bag", "bag", "label"],
        ["bag", "label"],
        ["1"] * (width + 2),
    ]
    rows[0] = draw.choice(heads)
    return ".csv", to_csv(rows)


@way
def csv_wide_header(draw):
    return ".csv", "bag,label" + "," * draw.randint(1_100_000, 1_200_000) + "\n1,1,2\n"


@way
def csv_empty(draw):
    return draw.choice([".csv", ".svm", ".ts", ".arff", ".mat", ".npz", ".csv.gz"]), b""


@way
def csv_header_only(draw):
    return ".csv", to_csv(table(draw)[:1]) + draw.choice(["", "\n", "\n \n\n"])


@way
def csv_labels_disagree(draw):
    rows = table(draw)
    rows.append(["0", draw.choice(["1", "-1", "x", "0.5"]), *rows[1][2:]])
    return ".csv", to_csv(rows)


@way
def csv_no_label(draw):
    rows = table(draw)
    rows.append(["new", draw.choice(["", " ", "nan", "NaN", "?", "inf"]), *rows[1][2:]])
    return ".csv", to_csv(rows)


@way
def csv_huge_name(draw):
    rows = table(draw)
    huge = "9" * draw.choice([201, 10_000, 1_000_000])
    rows.append([huge, "1", *rows[1][2:]] if draw.random() < 0.5 else ["new", huge, *rows[1][2:]])
    return ".csv", to_csv(rows)


@way
def csv_quotes(draw):
    rows = table(draw)
    quotes = ['"' * draw.choice([1, 3, 1001]), '"a', 'a"b"', '"' * 2 + "a", '"1,2"', "'1"]
    rows[draw.randrange(1, len(rows))][-1] = draw.choice(quotes)
    return ".csv", to_csv(rows)


@way
def csv_not_utf8(draw):
    return ".csv", to_csv(table(draw)).encode() + draw.choice(
        [b"\xff\xfe1,1\n", b"\xe9,1,1\n", b"\xc3\x28,1\n", b"\xed\xa0\x80,1\n"]
    )


@way
def csv_utf16(draw):
    return ".csv", to_csv(table(draw)).encode("utf-16")


@way
def noise(draw):
    end = draw.choice([".csv", ".csv.gz", ".svm", ".svm.gz", ".ts", ".ts.gz", ".arff", ".mat", ".npz"])
    return end, draw.randbytes(draw.choice([1, 7, 130, 5000, 100_000]))


@way
def printable_noise(draw):
    end = draw.choice([".csv", ".svm", ".ts", ".arff"])
    return end, "".join(draw.choices("0123456789,.:;@#%'\"\\{} \n\te-+qidbaglabel", k=draw.choice([10, 1000, 50_000])))


@way
def zeros(draw):
    return draw.choice([".csv", ".svm", ".ts", ".arff", ".mat", ".npz"]), bytes(draw.choice([1, 128, 4096, 1_000_000]))


@way
def gzip_cut_off(draw):
    packed = gzip.compress((to_csv(table(draw)) * 3).encode())
    return ".csv.gz", packed[: draw.randrange(1, len(packed) - 1)]


@way
def gzip_changed(draw):
    packed = bytearray(gzip.compress(to_csv(table(draw)).encode()))
    packed[-draw.randint(1, 8)] ^= 0xFF
    return ".csv.gz", bytes(packed)


@way
def gzip_followed_by_noise(draw):
    return ".csv.gz", gzip.compress(to_csv(table(draw)).encode()) + b"\x01" + draw.randbytes(20)


@way
def gzip_is_plain(draw):
    return ".csv.gz", to_csv(table(draw))


@way
def plain_is_gzip(draw):
    return draw.choice([".csv", ".ts"]), gzip.compress(to_csv(table(draw)).encode())


@way
def gzip_within_gzip(draw):
    return ".csv.gz", gzip.compress(gzip.compress(to_csv(table(draw)).encode()))


@way
def gzip_bomb(draw):
    # One line of 17 MB, compressed to 17 kB. Full decompression is tested once elsewhere.
    letter = draw.choice([b"\0", b"0", b",", b'"', b"\\"])
    return draw.choice([".csv.gz", ".svm.gz", ".ts.gz", ".arff.gz"]), _bomb(letter)


_BOMBS: dict[bytes, bytes] = {}


def _bomb(letter: bytes) -> bytes:
    return _BOMBS.setdefault(letter, gzip.compress(letter * (17 << 20), 1))
