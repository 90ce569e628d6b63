"""Names lead to model classes, and texts to hyper-parameters and back."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from milopt import DTW, RBF, BagClassifier, GlobalAlignment, Linear, Options, Polynomial
from milopt.declaration.kernels.kernel import CallableKernel
from milopt.errors import DeclarationError, MiloptError, ParameterError, UnknownNameError
from milopt.model_registry import (
    format_grid,
    format_settings,
    format_value,
    get_model,
    identify_code,
    model_names,
    name_of,
    parse_grid,
    parse_settings,
    parse_value,
    portable_name,
)
from milopt.models import MILES, MISVM, SetKernelSVM

OWN = """
from milopt import BagClassifier, Program


class Mine(BagClassifier):
    width: float = 2.0

    def declare(self, bags, y, weight):
        return Program("mine")


class Half(BagClassifier):
    pass


class Stranger:
    pass
"""


@pytest.fixture
def own_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    return path


class TestNames:
    def test_every_registered_model_is_a_classifier_that_knows_its_name(self) -> None:
        assert {"mi-svm", "miles", "set-kernel-svm"} <= set(model_names())
        for name in model_names():
            assert issubclass(get_model(name), BagClassifier)
            assert name_of(get_model(name)) == name

    def test_a_typo_names_the_near_model(self) -> None:
        with pytest.raises(UnknownNameError, match='No model is called "mils"; did you mean "miles"'):
            get_model("mils")

    def test_a_class_in_a_users_file_keeps_its_requested_name(self, own_file: Path) -> None:
        name = f"{own_file}:Mine"
        assert get_model(name)().get_params()["width"] == 2.0
        assert name_of(get_model(name)) == name

    def test_a_relative_path_has_an_absolute_portable_name(
        self, own_file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(own_file.parent)
        assert name_of(get_model("mine.py:Mine")) == "mine.py:Mine"
        assert portable_name("mine.py:Mine") == f"{own_file.resolve()}:Mine"
        assert portable_name("mi-svm") == "mi-svm"

    @pytest.mark.parametrize(
        ("class_name", "message"),
        [("Stranger", "must be derived from milopt.BagClassifier"), ("Half", 'no method "declare"')],
    )
    def test_a_class_that_is_not_a_model_raises_an_error(self, own_file: Path, class_name: str, message: str) -> None:
        with pytest.raises(DeclarationError, match=message):
            get_model(f"{own_file}:{class_name}")

    def test_a_class_that_was_not_requested_by_name_has_the_name_of_its_file(self) -> None:
        class Local(MISVM):
            pass

        with pytest.raises(DeclarationError, match="Local has no name: define it at the top level of a file"):
            name_of(Local)
        Local.__qualname__ = "Local"
        assert name_of(Local) == f"{__file__}:Local"

    @pytest.mark.parametrize("file", ["<stdin>", "/nowhere/mine.py", "/etc/hostname", None])
    def test_a_class_without_a_file_has_no_name(self, file: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
        module = ModuleType("from_nowhere")
        module.__file__ = file
        monkeypatch.setitem(sys.modules, "from_nowhere", module)
        typed = type("Typed", (MISVM,), {"__module__": "from_nowhere"})
        with pytest.raises(DeclarationError, match="Typed has no name: define it at the top level of a file"):
            name_of(typed)

    def test_the_origin_depends_on_the_content_of_the_file_and_not_on_the_path(
        self, own_file: Path, tmp_path: Path
    ) -> None:
        first = identify_code(f"{own_file}:Mine")
        (tmp_path / "copy.py").write_bytes(own_file.read_bytes())
        assert identify_code(f"{tmp_path}/copy.py:Mine") == first
        own_file.write_text(OWN + "\nedited = True\n")
        assert identify_code(f"{own_file}:Mine") != first
        assert identify_code("mi-svm").startswith("mi-svm of milopt ")


VALUES = {
    "10": 10,
    "-0.5": -0.5,
    "1e-3": 1e-3,
    "inf": math.inf,
    "-inf": -math.inf,
    "true": True,
    "False": False,
    "None": None,
    "none": None,
    "mean": "mean",
    "mi-svm": "mi-svm",
    "cvxpy:SCS": "cvxpy:SCS",
    "a/b.py:C": "a/b.py:C",
    '"10"': "10",
    "'rbf'": "rbf",
    "": "",
    "rbf": RBF(),
    "RBF()": RBF(),
    "rbf(s=0.1)": RBF(0.1),
    "rbf(0.1)": RBF(0.1),
    "rbf(s=median)": RBF("median"),
    "rbf(s=0.25/median)": RBF("0.25/median"),
    "(4/median, median)": ("4/median", "median"),
    "4/median": "4/median",
    "linear": Linear(),
    "polynomial(degree=2, gamma=1, coef0=1)": Polynomial(2, 1, 1),
    "options(time_limit=10)": Options(time_limit=10),
    "(0.1, 1)": (0.1, 1),
    "[native, highs]": ("native", "highs"),
    "{-1: 1, 1: 5}": {-1: 1, 1: 5},
}


@pytest.mark.parametrize(("text", "value"), VALUES.items())
def test_text_is_parsed_as_a_value(text: str, value: object) -> None:
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    "text", ["__import__('os').system('true')", "open(x)", "a.b", "1 + 1", "x[0]", "lambda: 1", "2j"]
)
def test_text_is_never_executed(text: str) -> None:
    assert parse_value(text) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rbf(s=0.1", "check its brackets"),
        ("(1, 2", "check its brackets"),
        ('"open', "check its brackets"),
        ("rbf(**x)", "check its brackets"),
        ("rbf(s=open(x))", "check its brackets"),
        ("{(1, 2): 3}", "check its brackets"),
        ("rbf(sigma=1)", 'No argument is called "sigma" in rbf'),
        ("polynomial(degre=2)", 'No argument is called "degre" in polynomial; did you mean "degree"'),
        ("rbf(1, s=2)", 'rbf is given "s" twice'),
        ("rbf(1, 2)", r"rbf has 1 arguments \(s\), not 2"),
        ("linear(1)", r"linear has 0 arguments \(none\), not 1"),
        ("rbf(s=-1)", "s of RBF must be a positive number"),
        ("polynomial(degree=0.5)", "degree of Polynomial must be an integer"),
        ("(" * 3000, "too long"),
        ("(" * 900, "check its brackets"),
    ],
)
def test_malformed_text_raises_an_error_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(MiloptError, match=message):
        parse_value(text)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
NUMBERS = st.floats(min_value=1e-300, max_value=1e300)
KERNELS = (
    st.just(Linear())
    | st.builds(RBF, st.none() | st.sampled_from(["median", "4/median", "1e-3/median"]) | NUMBERS)
    | st.builds(Polynomial, st.integers(1, 9), NUMBERS, st.floats(0, 1e300))
    | st.builds(
        DTW, st.sampled_from(["median", "4/median"]) | NUMBERS, st.none() | st.integers(0, 9), st.integers(1, 3)
    )
    | st.builds(GlobalAlignment, NUMBERS, st.none() | st.integers(1, 9), st.integers(1, 3))
)
OPTIONS = st.builds(Options, time_limit=st.none() | NUMBERS, verbose=st.booleans(), threads=st.integers(1, 8))
ONE = PLAIN | KERNELS | OPTIONS
SEVERAL = ONE | st.lists(ONE, max_size=3).map(tuple) | st.dictionaries(PLAIN, ONE, max_size=3)


@given(SEVERAL)
@example(("lambda", "rbf", "none", "a b", ""))
@example("ﬁ")
@example(("4/median", "1e3/median", "2/3", "x/y"))
@example("mean # not a comment")
@example("\ud800")
def test_formatted_values_are_parsed_to_equal_values(value: object) -> None:
    parsed = parse_value(format_value(value))
    assert parsed == value
    assert type(parsed) is type(value)
    assert format_value(parsed) == format_value(value)


@given(st.text(max_size=60))
def test_any_text_raises_an_error_or_is_a_value_that_can_be_formatted(text: str) -> None:
    try:
        value = parse_value(text)
    except MiloptError:
        return
    assert repr(parse_value(format_value(value))) == repr(value)


@given(st.lists(ONE, min_size=1, max_size=4).map(tuple))
def test_a_formatted_grid_is_parsed_to_an_equal_grid(values: tuple[object, ...]) -> None:
    text = format_grid({"scheme": values})
    assert parse_grid(MISVM, text) == {"scheme": values}


def test_numpy_numbers_are_formatted_like_python_numbers() -> None:
    assert format_value(np.float64(0.1)) == "0.1"
    assert format_value(np.int64(3)) == "3"
    assert format_value(np.bool_(True)) == "true"


def test_a_value_without_a_text_raises_an_error_with_the_remedy() -> None:
    with pytest.raises(ParameterError, match=r"cannot be written as text: .* path/file\.py:Class"):
        format_value(CallableKernel(lambda A, B: A @ B.T))


class TestSettings:
    def test_settings_have_the_type_of_their_default(self) -> None:
        parsed = parse_settings(MISVM, ["C=10", "kernel=rbf(s=0.1)", "solver=highs"])
        assert parsed == {"C": 10.0, "kernel": RBF(0.1), "solver": "highs"}
        assert isinstance(parsed["C"], float)
        assert MISVM(**parsed).kernel == RBF(0.1)  # type: ignore[arg-type]  # read from text, checked by the test

    def test_a_kernel_name_is_a_string_in_a_field_of_strings(self) -> None:
        assert parse_settings(SetKernelSVM, ["normalise=linear"]) == {"normalise": "linear"}

    @pytest.mark.parametrize("word", ["none", "True", "10", "inf", "linear", "'none'"])
    def test_text_for_a_field_of_strings_is_not_parsed(self, word: str) -> None:
        assert parse_settings(MISVM, [f"scale= {word}"]) == {"scale": word.strip("'")}
        grid = parse_grid(MISVM, [f"scale={word}, minmax01"])
        assert grid == {"scale": (word.strip("'"), "minmax01")}
        assert parse_grid(MISVM, format_grid(grid)) == grid

    def test_a_field_of_strings_and_other_types_accepts_both(self) -> None:
        class Mixed(MISVM):
            width: str | float = "median"

        assert parse_settings(Mixed, ["width=0.5"]) == {"width": 0.5}
        assert parse_settings(Mixed, ["solver=(native, highs)"]) == {"solver": ("native", "highs")}

    def test_formatted_settings_equal_the_parsed_text(self) -> None:
        texts = ("lam=0.5", "kernel=rbf(s=median)")
        assert format_settings(parse_settings(MILES, texts)) == texts

    @pytest.mark.parametrize(
        ("item", "message"),
        [
            ("c=1", 'No hyper-parameter is called "c" in mi-svm; did you mean "C"'),
            ("kernal=rbf", 'No hyper-parameter is called "kernal" in mi-svm; did you mean "kernel"'),
            ("C", 'is set as name=value, such as C=10, not as "C"'),
            ("kernel=rbff", r'No kernel is called "rbff" \(given as kernel\); did you mean "rbf"'),
            ("kernel=3", r"kernel must be a kernel, such as .*rbf\(s=0.1\).*, not 3"),
        ],
    )
    def test_mistakes_name_the_field(self, item: str, message: str) -> None:
        with pytest.raises(MiloptError, match=message):
            parse_settings(MISVM, [item])

    def test_a_field_that_is_set_twice_raises_an_error(self) -> None:
        with pytest.raises(ParameterError, match='"C" is set twice: as 1 and as 2'):
            parse_settings(MISVM, ["C=1", "C=2"])


class TestGrids:
    def test_candidates_are_separated_by_commas(self) -> None:
        parsed = parse_grid(MISVM, ["C=0.1,1,10", "kernel=linear, rbf(s=median)"])
        assert parsed == {"C": (0.1, 1.0, 10.0), "kernel": (Linear(), RBF("median"))}
        assert format_grid(parsed) == ("C=0.1,1.0,10.0", "kernel=linear,rbf(s=median)")

    def test_one_candidate_is_a_grid(self) -> None:
        assert parse_grid(MISVM, ["C=1"]) == {"C": (1.0,)}

    @pytest.mark.parametrize("item", ["C=", "C= "])
    def test_the_error_for_an_empty_grid_shows_the_syntax(self, item: str) -> None:
        with pytest.raises(ParameterError, match='The grid of "C" is empty: write C=first,second'):
            parse_grid(MISVM, [item])
