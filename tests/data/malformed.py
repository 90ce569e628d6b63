"""Data files that are wrong, each in one way, made from a seed: what every reader must refuse in one sentence.

`malformed_files(folder, count, seed)` goes round the ways, so that any few hundred files hold every way several times.
"""

from __future__ import annotations

import bz2
import gzip
import io
import os
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.io

Content = bytes | str
Way = Callable[[random.Random], tuple[str, Content]]
"""The ending of a file's name, and what is in the file."""

PathTrick = Callable[[random.Random, Path], Path]
"""A path made from a free one: a folder, a pipe, a link to nowhere, ..."""

WAYS: list[Way] = []
PATH_TRICKS: list[PathTrick] = []


def malformed_files(folder: Path, count: int, seed: int) -> list[Path]:
    """`count` paths in the folder, none of which is a data set."""
    draw = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for i in range(count):
        kind = i % (len(WAYS) + len(PATH_TRICKS))
        if kind < len(WAYS):
            end, content = WAYS[kind](draw)
            path = folder / f"{WAYS[kind].__name__}_{i}{end}"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        else:
            path = PATH_TRICKS[kind - len(WAYS)](draw, folder / f"trick_{i}")
        made.append(path)
    return made


def way(function: Way) -> Way:
    WAYS.append(function)
    return function


def trick(function: PathTrick) -> PathTrick:
    PATH_TRICKS.append(function)
    return function


# -- tables ------------------------------------------------------------------------------------------------------


def table(draw: random.Random) -> list[list[str]]:
    """A good table: a header and two to six bags of one to five instances."""
    columns = draw.randint(1, 8)
    rows = [["bag", "label", *(f"f{j}" for j in range(columns))]]
    for bag in range(draw.randint(2, 6)):
        for _ in range(draw.randint(1, 5)):
            rows.append([str(bag), str(bag % 2), *(f"{draw.uniform(-9, 9):.4g}" for _ in range(columns))])
    return rows


def written(rows: list[list[str]]) -> str:
    return "".join(",".join(row) + "\n" for row in rows)


def with_value(draw: random.Random, value: str) -> str:
    """A good table in which one value is another."""
    rows = table(draw)
    row = draw.randrange(1, len(rows))
    rows[row][draw.randrange(2, len(rows[row]))] = value
    return written(rows)


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
    return ".csv", written(rows)


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
    return ".csv", written(rows)


@way
def csv_wide_header(draw):
    return ".csv", "bag,label" + "," * draw.randint(1_100_000, 1_200_000) + "\n1,1,2\n"


@way
def csv_empty(draw):
    return draw.choice([".csv", ".svm", ".ts", ".arff", ".mat", ".npz", ".csv.gz"]), b""


@way
def csv_header_only(draw):
    return ".csv", written(table(draw)[:1]) + draw.choice(["", "\n", "\n \n\n"])


@way
def csv_labels_disagree(draw):
    rows = table(draw)
    rows.append(["0", draw.choice(["1", "-1", "x", "0.5"]), *rows[1][2:]])
    return ".csv", written(rows)


@way
def csv_no_label(draw):
    rows = table(draw)
    rows.append(["new", draw.choice(["", " ", "nan", "NaN", "?", "inf"]), *rows[1][2:]])
    return ".csv", written(rows)


@way
def csv_huge_name(draw):
    rows = table(draw)
    huge = "9" * draw.choice([201, 10_000, 1_000_000])
    rows.append([huge, "1", *rows[1][2:]] if draw.random() < 0.5 else ["new", huge, *rows[1][2:]])
    return ".csv", written(rows)


@way
def csv_quotes(draw):
    rows = table(draw)
    quotes = ['"' * draw.choice([1, 3, 1001]), '"a', 'a"b"', '"' * 2 + "a", '"1,2"', "'1"]
    rows[draw.randrange(1, len(rows))][-1] = draw.choice(quotes)
    return ".csv", written(rows)


@way
def csv_not_utf8(draw):
    return ".csv", written(table(draw)).encode() + draw.choice(
        [b"\xff\xfe1,1\n", b"\xe9,1,1\n", b"\xc3\x28,1\n", b"\xed\xa0\x80,1\n"]
    )


@way
def csv_utf16(draw):
    return ".csv", written(table(draw)).encode("utf-16")


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


# -- packed files ------------------------------------------------------------------------------------------------


@way
def gzip_cut_off(draw):
    packed = gzip.compress((written(table(draw)) * 3).encode())
    return ".csv.gz", packed[: draw.randrange(1, len(packed) - 1)]


@way
def gzip_changed(draw):
    packed = bytearray(gzip.compress(written(table(draw)).encode()))
    packed[-draw.randint(1, 8)] ^= 0xFF
    return ".csv.gz", bytes(packed)


@way
def gzip_followed_by_noise(draw):
    return ".csv.gz", gzip.compress(written(table(draw)).encode()) + b"\x01" + draw.randbytes(20)


@way
def gzip_is_plain(draw):
    return ".csv.gz", written(table(draw))


@way
def plain_is_gzip(draw):
    return draw.choice([".csv", ".ts"]), gzip.compress(written(table(draw)).encode())


@way
def gzip_within_gzip(draw):
    return ".csv.gz", gzip.compress(gzip.compress(written(table(draw)).encode()))


@way
def gzip_bomb(draw):
    # One line of 17 MB in 17 kB; what it unpacks to in full is tried once, not a hundred times.
    letter = draw.choice([b"\0", b"0", b",", b'"', b"\\"])
    return draw.choice([".csv.gz", ".svm.gz", ".ts.gz", ".arff.gz"]), _bomb(letter)


_BOMBS: dict[bytes, bytes] = {}


def _bomb(letter: bytes) -> bytes:
    return _BOMBS.setdefault(letter, gzip.compress(letter * (17 << 20), 1))


# -- sparse rows -------------------------------------------------------------------------------------------------


def sparse_line(draw: random.Random) -> str:
    indices = sorted(draw.sample(range(1, 50), draw.randint(1, 6)))
    return " ".join(f"{i}:{draw.uniform(-1, 1):.3f}" for i in indices)


def sparse_rows(draw: random.Random, bad: str) -> str:
    good = [f"{bag % 2} qid:{bag} {sparse_line(draw)}" for bag in range(1, draw.randint(3, 8))]
    good.insert(draw.randint(0, len(good)), bad)
    return "\n".join(good) + "\n"


@way
def svm_qid(draw):
    bags = ["-1", "1.5", "x", "", "1e3", "9" * 30, "9" * 5000, "0x1", "--", "²", "1:2"]
    return ".svm", sparse_rows(draw, f"1 qid:{draw.choice(bags)} {sparse_line(draw)}")


@way
def svm_no_qid(draw):
    return ".svm", sparse_rows(draw, draw.choice(["1", "1 1:2", "qid:1 1", "1 QID:3 1:1", "1 1:1 qid:1", ": :"]))


@way
def svm_index(draw):
    indices = ["0", "-1", "1.5", "x", "", "99999999", "4294967297", "9" * 50, "18446744073709551617", "9" * 100_000]
    return ".svm", sparse_rows(draw, f"1 qid:99 {draw.choice(indices)}:1")


@way
def svm_order(draw):
    return ".svm", sparse_rows(draw, draw.choice(["1 qid:99 5:1 5:2", "1 qid:99 5:1 4:2", "1 qid:99 1:1 2:2 1:1"]))


@way
def svm_value(draw):
    values = ["nan", "inf", "1e999", "", "x", "1:2", "0x2", "1_0", "?"]
    return ".svm", sparse_rows(draw, f"1 qid:99 3:{draw.choice(values)}")


@way
def svm_labels(draw):
    bad = draw.choice([f"1 qid:98 {sparse_line(draw)}\n0 qid:98 1:1", "nan qid:98 1:1", "y" * 300 + " qid:98 1:1"])
    return ".svm", sparse_rows(draw, bad)


@way
def svm_nothing_in_it(draw):
    return ".svm", draw.choice(["# nothing\n", "1 qid:1\n0 qid:2\n", "\n\n"])


# -- series ------------------------------------------------------------------------------------------------------


def series(draw: random.Random, header: str = "", bad: str = "", length: int = 12) -> str:
    lines = ["#made", "@problemName made", header, "@classLabel true a b", "@data"]
    lines += [
        ",".join(f"{draw.gauss(0, 1):.3f}" for _ in range(length)) + f":{draw.choice('ab')}"
        for _ in range(draw.randint(1, 6))
    ]
    lines.insert(draw.randint(5, len(lines)), bad)
    return "\n".join(lines) + "\n"


@way
def ts_value(draw):
    values = ["nan", "?", "inf", "x", "", "1e999", "1_0"]
    row = ["1.5"] * 12
    row[draw.randrange(12)] = draw.choice(values)
    return ".ts", series(draw, bad=",".join(row) + ":a")


@way
def ts_label(draw):
    return ".ts", series(draw, bad="1," * 11 + "1" + draw.choice(["", ":", ":c", ":a:b", ":1:a", ": ", ":" * 1000]))


@way
def ts_length(draw):
    return ".ts", series(draw, "@seriesLength 12", bad="1," * draw.choice([1, 10, 12, 5000]) + "1:a")


@way
def ts_header(draw):
    bad = [
        "@seriesLength -3",
        "@seriesLength 1e9",
        "@seriesLength 999999999",
        "@seriesLength " + "9" * 5000,
        "@seriesLength",
        "@univariate false",
        "@dimensions 3",
        "@timeStamps true",
        "@classLabel false",
        "stray",
        "@classLabel",
    ]
    return ".ts", series(draw, draw.choice(bad))


@way
def ts_no_data(draw):
    return ".ts", draw.choice(
        [series(draw).partition("@data")[0], series(draw).partition("@data")[0] + "@data\n", "@data\n"]
    )


@way
def ts_too_short(draw):
    return ".ts", series(draw, bad=draw.choice(["1:a", ":a", "1,2:a\n3:a"]))


# -- relational files --------------------------------------------------------------------------------------------


def relational(draw: random.Random, row: str = "", kind: str = "numeric", head: str = "", tail: str = "") -> str:
    lines = [
        "@relation made",
        head,
        "@attribute name string",
        "@attribute bag relational",
        f"  @attribute f1 {kind}",
        "  @attribute 'f 2' real",
        "@end bag",
        "@attribute class {0,1}",
        tail,
        "@data",
    ]
    lines += [f'b{i},"{draw.random():.3f},2\\n{draw.random():.3f},4",{i % 2}' for i in range(draw.randint(1, 4))]
    return "\n".join([*lines, row]) + "\n"


@way
def arff_value(draw):
    return ".arff", relational(draw, f'x,"1,2\\n{draw.choice(["nan", "?", "", "x", "inf", "1e999"])},3",1')


@way
def arff_counts(draw):
    rows = ['x,"1,2\\n3",1', 'x,"1,2,3",0', "x,1", 'x,"1,2"', 'x,"1,2",1,1', 'x,"1,2",1' + ",1" * 1000, "x", ",,,,"]
    return ".arff", relational(draw, draw.choice(rows))


@way
def arff_quotes(draw):
    rows = ['x,"1,2', "x,'1,2\",1", 'x,"1,2\\",1', "x," + "'\"" * 1000, 'x,"' + '\\"' * 1001 + '",1', 'x,"1,2""1,2",1']
    return ".arff", relational(draw, draw.choice(rows))


@way
def arff_row(draw):
    return ".arff", relational(
        draw,
        draw.choice(
            ['{0 x,1 "1,2",2 1}', 'x,"",1', 'x,"\\n\\n",1', 'x,"1,2",7', 'b0,"1,2",0', 'x,"1,2",?', ',"1,2",1']
        ),
    )


@way
def arff_header(draw):
    return draw.choice(
        [
            (".arff", relational(draw, kind=draw.choice(["{a,b}", "string", "date", "relational", ""]))),
            (".arff", relational(draw, head="@attribute other numeric")),
            (
                ".arff",
                relational(
                    draw,
                    tail=draw.choice(
                        ["stray", "@attribute", "@attribute x", "@attribute 'x numeric", "@attribute y real"]
                    ),
                ),
            ),
            (".arff", relational(draw).partition("@data")[0]),
            (".arff", relational(draw).partition("@data")[0] + "@data\n"),
            (".arff", relational(draw).replace("relational", "numeric")),
        ]
    )


# -- MATLAB files ------------------------------------------------------------------------------------------------

LEVEL_5 = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"


def saved(packed: bool = True, **variables: object) -> bytes:
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables, do_compression=packed)
    return stream.getvalue()


def cells(*members: object) -> np.ndarray:
    made = np.empty((len(members), 1), dtype=object)
    for i, member in enumerate(members):
        made[i, 0] = member
    return made


def element(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", kind, len(body)) + body + b"\0" * (-len(body) % 8)


def variable(kind: int, shape: tuple[int, ...], *parts: bytes) -> bytes:
    head = element(6, struct.pack("<II", kind, 0)) + element(5, struct.pack(f"<{len(shape)}i", *shape))
    return element(14, head + element(1, b"bags") + b"".join(parts))


@way
def mat_cut_off(draw):
    content = saved(draw.random() < 0.5, bags=cells(np.eye(3), np.ones((2, 3))), labels=[1, 0])
    return ".mat", content[: draw.randrange(len(content) - 1)]


@way
def mat_other_version(draw):
    return ".mat", draw.choice(
        [b"\x89HDF\r\n\x1a\n" + bytes(600), b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n", bytes(20)]
    )


@way
def mat_larger_than_it_is(draw):
    shape = draw.choice([(2**31 - 1, 2**31 - 1), (10**9, 1), (2_000_000, 1), (-1, 5), (1, -(2**31))])
    inside = variable(draw.choice([1, 2, 4, 5, 6, 9]), shape, element(9, bytes(64)))
    if draw.random() < 0.5:
        packed = zlib.compress(inside)
        inside = struct.pack("<II", 15, len(packed)) + packed
    return ".mat", LEVEL_5 + inside


@way
def mat_element_size(draw):
    return ".mat", LEVEL_5 + struct.pack(
        "<II", draw.choice([14, 15, 9, 0]), draw.choice([2**32 - 1, 2**31, 10**6])
    ) + bytes(64)


@way
def mat_deep(draw):
    inside = variable(6, (1, 1), element(9, bytes(8)))
    for _ in range(draw.choice([20, 2000])):
        inside = variable(1, (1, 1), inside)
    return ".mat", LEVEL_5 + inside


@way
def mat_bomb(draw):
    return ".mat", LEVEL_5 + struct.pack("<II", 15, len(_mat_bomb())) + _mat_bomb()


_MAT_BOMB: list[bytes] = []


def _mat_bomb() -> bytes:
    """Cells by the million in some kilobytes."""
    if not _MAT_BOMB:
        _MAT_BOMB.append(zlib.compress(variable(1, (2_000_000, 1), struct.pack("<II", 14, 0) * 2_000_000)))
    return _MAT_BOMB[0]


@way
def mat_no_bags(draw):
    bags = cells(np.eye(2), np.ones((3, 2)))
    return ".mat", draw.choice(
        [
            saved(x=3.0),
            saved(bags=bags),
            saved(bags=bags, labels=[1, 0, 1]),
            saved(bags=cells(np.eye(2), np.ones((3, 3))), labels=[1, 0]),
            saved(bags=cells(np.eye(2), np.full((2, 2), np.nan)), labels=[1, 0]),
            saved(bags=cells(np.eye(2), np.empty((0, 2))), labels=[1, 0]),
            saved(bags=cells(np.eye(2), "word"), labels=[1, 0]),
            saved(bags=cells(np.eye(2), 1j * np.eye(2)), labels=[1, 0]),
            saved(bags=cells(np.eye(2), np.ones((2, 2, 2))), labels=[1, 0]),
            saved(bags=bags, labels=np.eye(2)),
            saved(X=np.eye(3), labels=[1, 0, 1]),
            saved(X=np.eye(3), bag_ids=[1, 1, 2]),
            saved(X=np.eye(3), bag_ids=[1, 1, 1], labels=[1, 0, 1]),
            saved(X=np.eye(3), bag_ids=[1, 1], labels=[1, 0]),
            saved(X=np.full((2, 2), np.inf), bag_ids=[1, 2], labels=[1, 0]),
            saved(X=np.empty((0, 0)), bag_ids=[], labels=[]),
            saved(data={"data": np.eye(2), "nlab": [1, 9], "lablist": ["a", "b"], "ident": {"milbag": [1, 2]}}),
        ]
    )  # fmt: skip


# -- array files -------------------------------------------------------------------------------------------------


def arrays(packed: bool = False, **named: object) -> bytes:
    stream = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(stream, **named)
    return stream.getvalue()


def archive(method: int = zipfile.ZIP_STORED, **members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as made:
        for name, content in members.items():
            made.writestr(f"{name}.npy", content)
    return stream.getvalue()


def npy(header: str, content: bytes = bytes(64)) -> bytes:
    text = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


@way
def npz_cut_off(draw):
    content = arrays(draw.random() < 0.5, instances=np.eye(4), offsets=[0, 2, 4], labels=[1, 0])
    return ".npz", content[: draw.randrange(len(content) - 1)]


@way
def npz_changed(draw):
    content = bytearray(arrays(instances=np.arange(64.0).reshape(8, 8), offsets=[0, 2, 8], labels=[1, 0]))
    # Within the numbers of the first array: the checksum of the archive does not fit any more.
    content[draw.randrange(250, 600)] ^= 0x55
    return ".npz", bytes(content)


@way
def npz_objects(draw):
    name = draw.choice(["instances", "labels", "offsets"])
    given = {"instances": np.eye(4), "offsets": np.array([0, 2, 4]), "labels": np.array([1, 0])}
    given[name] = np.array([{"a": 1}, os.sep], dtype=object)
    return ".npz", arrays(**given)


@way
def npz_header(draw):
    headers = [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-4, -4), }",
        "{'descr': '<U999999', 'fortran_order': False, 'shape': (2, 4), }",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (99999999999, 4), }",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (9, 4), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2, 4), }",
        "{'descr': '<c16', 'fortran_order': False, 'shape': (2, 2), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (8,), }",
        "{'descr': '<f8', 'fortran_order': 3, 'shape': (2, 4), }",
        "{'shape': (2, 4)}",
        "(" * 110,
        "__import__('os').getcwd()",
        "",
    ]
    return ".npz", archive(instances=npy(draw.choice(headers)), offsets=npy(headers[0]), labels=npy(headers[0]))


@way
def npz_arrays(draw):
    good = {"instances": np.eye(4), "offsets": np.array([0, 2, 4]), "labels": np.array([1, 0])}
    other = draw.choice(
        [
            {"offsets": [0, 3, 2, 4]},
            {"offsets": [0, 2]},
            {"offsets": [0, 2, 9]},
            {"offsets": [0.0, 2.0, 4.0]},
            {"offsets": [0, 0, 4]},
            {"offsets": [-1, 2, 4]},
            {"offsets": []},
            {"offsets": [[0, 4]]},
            {"offsets": np.array([0, 2**63, 4], dtype=np.uint64)},
            {"offsets": ["a", "b"]},
            {"labels": [1, 0, 1]},
            {"labels": [1, np.nan]},
            {"labels": [[1, 0]]},
            {"labels": 1},
            {"labels": ["", "a"]},
            {"instances": np.full((4, 4), np.nan)},
            {"instances": np.ones(4)},
            {"instances": np.ones((4, 0))},
            {"instances": np.ones((0, 4))},
            {"instances": [["a"] * 4] * 4},
            {"instances": 1j * np.eye(4)},
            {"instances": np.float64(3)},
        ]
    )
    return ".npz", arrays(draw.random() < 0.5, **{**good, **other})


@way
def npz_missing(draw):
    good = {"instances": np.eye(4), "offsets": np.array([0, 2, 4]), "labels": np.array([1, 0])}
    del good[draw.choice(list(good))]
    return ".npz", arrays(**good)


@way
def npz_bags(draw):
    bag, label = draw.choice(
        [
            ([1, 1, 2], [1, 1, 0]),
            ([1, 1, 2, 2], [1, 0, 0, 0]),
            (["", "a", "b", "c"], [1, 1, 0, 0]),
            ([[1, 2, 3, 4]], [1] * 4),
        ]
    )
    return ".npz", arrays(instances=np.eye(4), bag=bag, labels=label)


@way
def npz_bomb(draw):
    if draw.random() < 0.5:
        return ".npz", archive(
            zipfile.ZIP_BZIP2, instances=npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 4), }"), labels=b""
        )
    return ".npz", _npz_bomb()


_NPZ_BOMB: list[bytes] = []


def _npz_bomb() -> bytes:
    """Forty million bytes, each a number, in forty kilobytes."""
    if not _NPZ_BOMB:
        _NPZ_BOMB.append(arrays(True, instances=np.zeros((4000, 10_000), dtype=np.int8), offsets=[0, 4000], labels=[1]))
    return _NPZ_BOMB[0]


@way
def npz_is_npy(draw):
    stream = io.BytesIO()
    np.save(stream, np.eye(draw.randint(1, 5)))
    return ".npz", stream.getvalue()


@way
def npz_is_another_archive(draw):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        made.writestr(draw.choice(["../../evil", "/etc/passwd", "instances.npy/../labels.npy", "a" * 60_000]), b"x")
    return ".npz", stream.getvalue()


@way
def other_ending(draw):
    return draw.choice([".txt", ".pkl", ".parquet", "", ".csv.bz2", ".csv.gz.gz", ".tsv", "."]), bz2.compress(
        b"bag,label,f0\n1,1,1\n"
    )


# -- path tricks -------------------------------------------------------------------------------------------------


@trick
def folder_called_as_a_file(draw, path):
    made = path.with_suffix(draw.choice([".csv", ".npz", ".mat", ".ts"]))
    made.mkdir()
    return made


@trick
def pipe(draw, path):
    made = path.with_suffix(draw.choice([".csv", ".svm", ".mat", ".npz"]))
    os.mkfifo(made)
    return made


@trick
def link(draw, path):
    made = path.with_suffix(".csv")
    made.symlink_to(draw.choice(["nowhere.csv", made.name, "/dev/zero", "/dev/full", "/", "/proc/self/mem"]))
    return made


@trick
def not_there(draw, path):
    return path.parent / draw.choice(
        ["no.csv", "a/../../no.ts", "x" * 300 + ".csv", "two\nlines.csv", "\x1b[31mred.csv", "tab\t.npz"]
    )


@trick
def way_up(draw, path):
    return path.parent / draw.choice(["../" * 40 + "etc/passwd", "../" * 40 + "etc/passwd.csv", "./../."])


@trick
def strange_name(draw, path):
    made = path.with_name(path.name + draw.choice(["\n", " ", "\u202e", "%s", "{0}", "é", "\x07"]) + ".csv")
    made.write_text("bag,label,f0\n1,1,nan\n")
    return made
