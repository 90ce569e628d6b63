"""Invalid svmlight, series and ARFF files."""

from __future__ import annotations

import random

from tests.data.ways import way


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
