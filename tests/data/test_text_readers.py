"""CSV, svmlight, series and ARFF files: valid content, and error messages with line numbers."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from milopt import load_data
from milopt.data import DataSet
from milopt.errors import DataError, ParameterError


@pytest.fixture
def read(tmp_path: Path):
    def read(ending: str, text: str | bytes, **options: object) -> DataSet:
        path = tmp_path / f"made{ending}"
        content = text.encode() if isinstance(text, str) else text
        path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
        return load_data(path, **options)

    return read


def error_of(read, ending: str, text: str, **options: object) -> str:
    """Return the error message about a file, without its directory."""
    with pytest.raises(DataError) as refusal:
        read(ending, text, **options)
    return str(refusal.value).rpartition("/")[2]


# -- tables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".CSV"])
def test_a_csv_table_is_read(read, tmp_path, ending) -> None:
    data = read(ending, "bag,label,f0,f1\na,1,1,2\na,1,3,4\nb,0,5,6e-1\n")
    assert [bag.tolist() for bag in data.bags] == [[[1, 2], [3, 4]], [[5, 0.6]]]
    assert (data.labels.tolist(), data.ids, data.name, data.test) == ([1, 0], ("a", "b"), "made", None)
    assert data.source == str(tmp_path / f"made{ending}")
    assert repr(data) == "DataSet('made', Bags(2 bags, 3 instances, 2 features))"


def test_rows_of_a_bag_need_not_be_adjacent(read) -> None:
    data = read(".csv", "bag,label,f0\nb,0,1\na,1,2\nb,0,3\na,1,4\nb,0,5\n")
    assert [bag.ravel().tolist() for bag in data.bags] == [[1, 3, 5], [2, 4]]
    assert (data.ids, data.labels.tolist()) == (("b", "a"), [0, 1])


def test_columns_may_be_in_any_order_and_text_may_be_quoted(read) -> None:
    data = read(".csv", '\ufefff0, Label ,"f1",BAG\r\n1,yes,2,"a, b"\r\n\r\n3, no ,4,c\r\n')
    assert data.ids == ("a, b", "c")
    assert data.labels.tolist() == ["yes", "no"]
    assert data.bags.instances.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("1", "-1"), [1, -1]),
        (("1.0", "+2"), [1, 2]),
        (("1", "0.5"), ["1", "0.5"]),
        (("1e400x", "b"), ["1e400x", "b"]),
        (("9007199254740993", "1"), ["9007199254740993", "1"]),
        (("1_0", "1"), ["1_0", "1"]),
    ],
)
def test_labels_are_integers_if_all_are_whole_numbers(read, labels, expected) -> None:
    data = read(".csv", f"bag,label,f0\na,{labels[0]},1\nb,{labels[1]},2\n")
    assert data.labels.tolist() == expected
    assert data.labels.dtype.kind == ("i" if isinstance(expected[0], int) else "U")


def test_two_spellings_of_a_label_agree_but_two_labels_do_not(read) -> None:
    assert read(".csv", "bag,label,f0\na,1,1\na, 1.0 ,2\n a,+1,3\n").bags.sizes.tolist() == [3]
    error = error_of(read, ".csv", "bag,label,f0\na,1,1\nb,0,2\na,0,3\n")
    assert error == 'made.csv, line 4: bag "a" has label "0" here and "1" in line 2; a bag has one label.'


def test_the_line_of_an_invalid_value_is_reported_also_in_a_large_table(read) -> None:
    lines = ["bag,label,f0,f1,f2", *(f"{i},{i % 2},1,2,3" for i in range(1, 60_000))]
    lines[16] = "16,0,1,nan,3"
    expected = 'made.csv, line 17: "f1" is NaN; every value must be a finite number'
    assert error_of(read, ".csv", "\n".join(lines)).startswith(expected)
    lines[16] = "16,0,1,,3"
    missing = expected.replace("is NaN", "is missing").replace("csv,", "csv.gz,")
    assert error_of(read, ".csv.gz", "\n".join(lines)).startswith(missing)
    lines[16] = "16,0,1,2,3"
    lines[50_003] = "50004,0,1,2,x"
    assert error_of(read, ".csv", "\n".join(lines)).startswith(
        'made.csv, line 50004: "f2" is "x", which is not a number'
    )


def test_features_keep_their_names_and_a_comma_in_quotes_is_part_of_one(read) -> None:
    assert read(".csv", 'bag, "height, cm",label,weight\na,1,1,2\nb,3,0,4\n').features == ("height, cm", "weight")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (",bag,label,f0", "column 1 has no name; write with index=False, or name it."),
        ('bag,label,"",f0', "column 3 has no name; write with index=False, or name it."),
        ("bag,label,x,x", 'two columns are called "x"; every feature needs a unique name.'),
    ],
)
def test_every_feature_needs_a_unique_name(read, header, message) -> None:
    assert error_of(read, ".csv", f"{header}\n0,1,1,2\n1,0,3,4\n") == f"made.csv, line 1: {message}"


def test_quotes_after_a_blank_are_quotes(read) -> None:
    assert read(".csv", 'bag,label,f0\na, "1",1\nb, "0",2\n').labels.tolist() == [1, 0]


def test_a_table_has_no_comments_that_need_not_be_utf_8(read) -> None:
    with pytest.raises(DataError, match=r"line 2: the line is not UTF-8"):
        read(".csv", b"bag,label,f0\n#\xe4,1,1\n#\xf6,0,2\n")


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".csv", "bag,f0\na,1\na,2\nb,3\n"),
        (".csv", "f0,bag,label\n1,a,\n2,a,?\n3,b, \n"),
        (".svm", "? qid:0 1:1\n? qid:0 1:2\n? qid:1 1:3\n"),
        (".ts", "@classLabel false\n@data\n1,2,4\n3,2,2\n"),
        (".ts", "@classLabel true 0 1\n@data\n1,2,4:?\n3,2,2:?\n"),
    ],
)
def test_labels_may_be_missing_if_labelled_is_false(read, ending, text) -> None:
    assert read(ending, text, labelled=False, window=2).labels.tolist() == ["", ""]
    with pytest.raises(DataError):
        read(ending, text, window=2)


def test_a_bag_is_labelled_or_not(read) -> None:
    error = error_of(read, ".csv", "bag,label,f0\na,1,1\na,,2\n", labelled=False)
    assert error == 'made.csv, line 3: bag "a" has label "" here and "1" in line 2; a bag has one label.'


def test_features_are_arranged_by_their_names(read) -> None:
    data = read(".csv", "bag,label,weight,height\na,1,1,2\nb,0,3,4\n")
    arranged = data.select_features(["height", "weight"])
    assert arranged.bags.instances.tolist() == [[2, 1], [4, 3]]
    assert arranged.features == ("height", "weight")
    assert data.select_features(None) is data.select_features(["f0", "f1"]) is data
    with pytest.raises(DataError, match=r'no feature "age", .* it has "weight", "height"'):
        data.select_features(["height", "age"])
    with pytest.raises(DataError, match=r'a feature "weight", .* leave it out'):
        data.select_features(["height"])
    numbered = read(".csv", "bag,label,f1,f0\na,1,1,2\nb,0,3,4\n")
    assert numbered.select_features(["f0", "f1"]).bags.instances.tolist() == [[2, 1], [4, 3]]


def test_empty_lines_count_and_do_not_matter(read) -> None:
    assert error_of(read, ".csv", "bag,label,f0\n\n\na,1,1\n\na,1,inf\n").startswith("made.csv, line 6: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "made.csv: the file is empty; it needs a header such as bag,label,f0,f1 and one instance per line."),
        (
            "1,1,2\n",
            'made.csv, line 1: the header has no column called "bag"; the first line must be like bag,label,f0,f1; '
            "other columns are named by --bag and --label, or bag= and label=.",
        ),
        ("bag,label\n1,1\n", "made.csv, line 1: the header names no feature; it must be like bag,label,f0,f1."),
        (
            "bag,label,f0\n1,1,2,3\n",
            "made.csv, line 2: the line has 4 fields where the header has 3; if its numbers have decimal "
            "commas, write decimal points.",
        ),
        ('bag,label,f0\n"1,1,2\n', "made.csv, line 2: the quotes of the line do not match (unexpected end of data)."),
        ("bag,label,f0\n,1,2\n", "made.csv, line 2: the bag's name is empty; every row needs a bag's name."),
    ],
)
def test_an_invalid_table_is_rejected(read, text, message) -> None:
    assert error_of(read, ".csv", text) == message


# -- sparse rows -------------------------------------------------------------------------------------------------


def test_sparse_rows_are_read(read) -> None:
    text = "# made\n1 qid:7 1:0.5 4:2\n\n-1 qid:3 2:1 # one\n1 qid:07\n"
    data = read(".svm", text)
    assert sp.issparse(data.bags.instances)
    assert data.bags.instances.toarray().tolist() == [[0.5, 0, 0, 2], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert (data.bags.sizes.tolist(), data.labels.tolist(), data.ids) == ([2, 1], [1, -1], ("7", "3"))
    assert read(".svm.gz", text).digest == data.digest


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 1:2", "the line has no qid"),
        ("1 qid:-4 1:2", 'the qid is "-4"; it must be a whole number from 0'),
        ("1 qid:4 0:2", "the index 0 is used; indices start from 1"),
        ("1 qid:4 3:1 3:1", "the index 3 comes after 3; the indices of a line must increase"),
        ("1 qid:4 99999999999:1", 'the index "99999999999" is above 16777216'),
        ("1 qid:4 3:nan", "feature 3 is NaN"),
        ("1 qid:4 3", '"3" is not a feature'),
    ],
)
def test_an_invalid_sparse_row_is_rejected(read, line, message) -> None:
    assert f"made.svm, line 2: {message}" in error_of(read, ".svm", f"1 qid:1 1:1\n{line}\n")


# -- series ------------------------------------------------------------------------------------------------------

SERIES = "#made\n@problemName made\n@classLabel true up down\n@data\n1,2,3,4,5:up\n5,4,3,2:down\n"


def test_series_of_unequal_length_are_read(read) -> None:
    data = read(".ts", SERIES, window=3)
    assert [bag.tolist() for bag in data.bags] == [[[1, 2, 3], [2, 3, 4], [3, 4, 5]], [[5, 4, 3], [4, 3, 2]]]
    assert (data.labels.tolist(), data.ids, data.test) == (["up", "down"], ("0", "1"), None)
    assert read(".ts.gz", SERIES, window=3).digest == data.digest
    assert read(".ts", SERIES, window=0.5, stride=2).bags.sizes.tolist() == [2, 2]
    assert abs(read(".ts", SERIES, window=2, znormalise=True).bags.instances).tolist() == [[1, 1]] * 7


def test_the_test_file_next_to_a_training_file_is_its_test_part(tmp_path) -> None:
    (tmp_path / "made_TRAIN.ts").write_text(SERIES)
    (tmp_path / "made_TEST.ts").write_text("@data\n" + "1,2,3,4,5,6,7,8,9,10:up\n")
    for data in (load_data(tmp_path / "made_TRAIN.ts", window=0.5), load_data("MADE", data_dir=tmp_path, window=0.5)):
        assert data.test is not None
        # The window is half of the shortest training series, in both parts.
        assert (data.bags.dimension, data.test.bags.dimension) == (2, 2)
    assert load_data("made", data_dir=tmp_path).name == "made"
    assert load_data(tmp_path / "made_TEST.ts").test is None


def test_a_window_longer_than_a_series_names_file_and_line(read) -> None:
    with pytest.raises(
        ParameterError, match=r"longer than the series in .*made\.ts, line 6, which has 4: choose shorter"
    ):
        read(".ts", SERIES, window=5)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2,3", "the line has no label"),
        ("1,2:3,4:up", "the line has several colons; only univariate series"),
        ("1,2:left", 'the label "left" is not among the classes'),
        ("1,?,3:up", "value 2 is missing"),
        ("1,NaN,3:up", "value 2 is NaN"),
        ("1:up", "the series has fewer than 2 values"),
    ],
)
def test_an_invalid_series_is_rejected(read, line, message) -> None:
    assert f"made.ts, line 7: {message}" in error_of(read, ".ts", SERIES + line + "\n")


# -- relational files --------------------------------------------------------------------------------------------

RELATIONAL = """% made
@RELATION made

@attribute 'molecule name' {m1,'m 2',m3}
@attribute bag relational
  @attribute f1 numeric
  @attribute 'f 2' real
@end bag
@attribute class {0,1}

@data
m1,"42,-198\\n42,-191",1
% between
'm 2', "1,2
3,4
5,6", 0
m3,'7,8',1
"""


@pytest.mark.parametrize("ending", [".arff", ".arff.gz"])
def test_a_relational_file_is_read(read, ending) -> None:
    data = read(ending, RELATIONAL)
    assert [bag.tolist() for bag in data.bags] == [[[42, -198], [42, -191]], [[1, 2], [3, 4], [5, 6]], [[7, 8]]]
    assert (data.ids, data.labels.tolist()) == (("m1", "m 2", "m3"), [1, 0, 1])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('m4,"1,2,3",1', "instance 0 has 3 values where 2 attributes are declared"),
        ('m4,"1,2\\n1,?",1', '"f 2" of instance 1 is missing'),
        ('m4,"1,2",2', 'the class of bag "m4" is "2", which is not declared'),
        ('m4,"1,2"', "the row has 2 fields where three are declared"),
        ('m4,"1,2,1', 'the quote " that the row opens is never closed'),
        ('m1,"1,2",1', 'bag "m1" already has a row above'),
        ('{0 m4, 1 "1,2", 2 1}', "the row is sparse"),
    ],
)
def test_an_invalid_relational_row_is_rejected(read, row, message) -> None:
    assert f"made.arff, line 18: {message}" in error_of(read, ".arff", RELATIONAL + row + "\n")


def test_ranges_of_features_and_comments_are_ignored(read) -> None:
    head = "@relation r\n@attribute id {a,b}\n@attribute bag relational\n@attribute x real [0,1]\n@end bag\n"
    data = read(".arff", head + '@attribute class {0,1}\n@data\n  % said\na,"1",1\n % more\nb,"2",0\n')
    assert data.bags.instances.tolist() == [[1], [2]]
    assert data.features == ("x",)


def test_a_nominal_feature_is_rejected(read) -> None:
    error = error_of(read, ".arff", RELATIONAL.replace("f1 numeric", "f1 {a,b}"))
    assert error == 'made.arff, line 6: attribute "f1" is "{a,b}"; only numeric features are supported.'


# -- packing -----------------------------------------------------------------------------------------------------


def test_a_decompression_bomb_is_rejected(read) -> None:
    error = error_of(read, ".csv.gz", "bag,label,f0\n" + ("1,1," + "0" * 500 + "\n") * 20_000)
    assert "the file decompresses to more than 8 MB, far more than expected; decompress it, and" in error
    # The same rows are valid if they are not compressed.
    assert len(read(".csv", "bag,label,f0\n" + ("1,1," + "0" * 500 + "\n") * 20_000).bags) == 1


def test_a_large_file_with_little_compression_is_read(read) -> None:
    rows = np.random.default_rng(0).integers(0, 10**9, size=(8_000, 120))
    text = "bag,label" + "".join(f",f{j}" for j in range(120)) + "\n"
    text += "".join(f"{i // 10},{i // 10 % 2}," + ",".join(map(str, row)) + "\n" for i, row in enumerate(rows.tolist()))
    assert len(text) > 8 << 20  # more than the limit for small compressed files
    assert np.array_equal(read(".csv.gz", text).bags.instances, rows)
