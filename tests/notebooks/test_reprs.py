"""Notebooks: every result has a short repr, and tables in HTML whose text is escaped and that contain no script."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

import milopt
from milopt.display import MarginsDisplay
from milopt.display.margins import Margins
from milopt.html import VOID_ELEMENTS, Html, element, html_table
from milopt.models import MISVM, ShapeletBoost
from milopt.notebook import NotebookProgress, is_notebook

MAX_REPR_LENGTH = 160


class Checker(HTMLParser):
    """Parser that fails on elements that are not closed, on scripts, and on handlers of events."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "style", "iframe", "object", "link")
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def text_of(page: str) -> str:
    """Return the text of HTML, after checking that it is well formed and contains no script."""
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    return checker.text


@pytest.fixture(scope="module")
def model():
    data = milopt.data.toy_bags("clusters", bags=20)
    names = np.where(data.labels > 0, "<b>yes</b>", "no & no")
    return MISVM(solver="clarabel", positive="<b>yes</b>").fit(data.bags, names)


@pytest.fixture(scope="module")
def given(model):
    data = milopt.data.toy_bags("clusters", bags=20)
    comparison = milopt.compare(
        (data.bags, data.labels), ["set-kernel-svm", "miles"], ["highs", "libsvm"], folds=2, n_jobs=1
    )
    evaluation = milopt.evaluate((data.bags, data.labels), ["ls-svm", "miles", "set-kernel-svm"], "2-fold", grid={})
    program = model.program(data.bags, np.where(data.labels > 0, "<b>yes</b>", "no & no"))
    other = {**evaluation.as_dict(), "data": "<i>other</i>", "digest": "other"}
    return {
        "Bags": data.bags,
        "Windows": milopt.from_series([np.arange(9.0), np.arange(7.0)], length=3),
        "Result": model.result_,
        "Certificate": model.result_.certificate,
        "Report": model.report(),
        "Explanation": model.explain(data.bags[0]),
        "Comparison": comparison,
        "EvaluationReport": evaluation,
        "Ranking": milopt.rank([evaluation, other]),
        "Program": program,
        "SemiInfinite": ShapeletBoost().program(data.bags, data.labels),
        "SolverComparison": milopt.compare(program, solvers=["highs", "clarabel", "libsvm"]),
        "Display": MarginsDisplay((Margins("<u>a</u>", np.arange(4.0)),)).plot(),
    }


KINDS = [
    "Bags",
    "Windows",
    "Result",
    "Certificate",
    "Report",
    "Explanation",
    "Comparison",
    "EvaluationReport",
    "Ranking",
    "Program",
    "SemiInfinite",
    "SolverComparison",
    "Display",
]


@pytest.mark.parametrize("kind", KINDS)
def test_html_is_well_formed_escaped_and_free_of_scripts(kind: str, given) -> None:
    page = given[kind]._repr_html_()
    text = text_of(page)
    assert "<b>yes" not in page
    assert "<u>" not in page
    assert "<i>" not in page
    if kind in ("Explanation", "Report"):
        assert "<b>yes</b>" in text
    if kind == "Ranking":
        assert "<i>other</i>" in text


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "SolverComparison"])
def test_repr_is_one_short_line(kind: str, given) -> None:
    text = repr(given[kind])
    assert "\n" not in text
    assert len(text) <= MAX_REPR_LENGTH
    assert "array(" not in text


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Result", ["objective", "certificate", "slack", "margin"]),
        ("Certificate", ["primal", "dual", "gap", "violation"]),
        ("Report", ["certificate", "versions", "mi-svm"]),
        ("Explanation", ["contribution", "witness"]),
        ("Comparison", ["libsvm only solves", "agree: relative difference"]),
        ("EvaluationReport", ["ls-svm", "Accuracy is the mean"]),
        ("Ranking", ["mean rank", "Friedman"]),
        ("Bags", ["instances per bag"]),
    ],
)
def test_html_has_what_the_text_has(kind: str, expected: list[str], given) -> None:
    text = " ".join(text_of(given[kind]._repr_html_()).split())
    for words in expected:
        assert words in text


def test_a_program_has_its_formula_above_its_tables(given) -> None:
    page = given["Program"]._repr_html_()
    assert page.index(r"$$\begin{aligned}") < page.index("<table")
    assert given["Program"].to_latex() in text_of(page)
    whole = given["SemiInfinite"]._repr_html_()
    assert whole.count(r"\begin{aligned}") == len(given["SemiInfinite"].parts)


def test_text_is_escaped_and_markup_is_not() -> None:
    assert element("p", "a < b & c", Html("<br>"), class_="x") == '<p class="x">a &lt; b &amp; c<br></p>'
    assert element("img", alt='"quoted"') == '<img alt="&quot;quoted&quot;">'
    table = html_table("1 < 2", ("<name>", "n"), [("<x>", "3")], {"n"})
    assert "&lt;name&gt;" in table
    assert "<x>" not in table
    assert re.findall(r"text-align:(\w+)[^>]*>(?:n|3)<", table) == ["right", "right"]


def test_bags_of_windows_are_not_cut_for_their_table() -> None:
    bags = milopt.from_series([np.arange(50.0)] * 3, length=5)
    assert "138 windows" in text_of(bags._repr_html_())
    assert "_instances" not in vars(bags)


def test_a_sparsity_plot_is_a_picture_of_its_own_size(given) -> None:
    data, size = given["Program"].spy()._repr_png_()
    assert data.startswith(b"\x89PNG")
    assert size["width"] == 7 * 96


def test_a_display_that_was_not_drawn_has_no_picture() -> None:
    display = MarginsDisplay((Margins("a", np.arange(4.0)),))
    assert display._repr_html_() is None
    assert repr(display) == "MarginsDisplay(not drawn)"
    assert repr(display.plot()) == "MarginsDisplay(drawn)"


class Shell:
    """Stands for the shell of a notebook."""

    kernel = object()


class Handle:
    """Stands for the handle of a displayed line."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.lines.append(bundle["text/plain"])


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretend that the program runs in a notebook, and return the lines of progress that it shows."""
    shown: list[str] = []

    def display(bundle: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        shown.append(bundle["text/plain"])
        return Handle(shown)

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=Shell, display=SimpleNamespace()))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return shown


def test_progress_is_shown_in_a_notebook_only(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_notebook()
    with NotebookProgress("fitting", "folds") as line:
        line.update(1, 2)
        line.update(2, 2)
    assert lines[0] == "fitting ..."
    assert lines[1].startswith("fitting: 1 of 2 folds in 0 s")
    assert lines[2].startswith("fitting: 2 of 2 folds")
    assert lines[3] == ""
    monkeypatch.delitem(sys.modules, "IPython")
    assert not is_notebook()
    with NotebookProgress("fitting", "folds") as line:
        line.update(1, 2)
    assert len(lines) == 4


def test_comparisons_and_evaluations_show_their_progress_in_a_notebook(lines: list[str]) -> None:
    data = milopt.data.toy_bags("clusters", bags=12)
    milopt.compare((data.bags, data.labels), ["set-kernel-svm"], ["clarabel", "libsvm"], folds=2, n_jobs=1)
    assert any("2 of 2 cells" in line for line in lines)
    milopt.evaluate((data.bags, data.labels), "ls-svm", "2-fold", grid={})
    assert any(line.startswith("evaluating on bags: 2 of 2 ") for line in lines)


def test_the_notice_of_a_compilation_appears_in_a_notebook(lines: list[str], capsys) -> None:
    from milopt.jit import CompilationNotice

    def compiled() -> None:
        """Stand for a function of milopt."""

    compiled.__module__ = "milopt.somewhere"
    notice = CompilationNotice()
    notice.on_start(SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=compiled)}))
    notice.on_start(SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=compiled)}))
    assert capsys.readouterr().err == "milopt: compiling native algorithms, once; this may take a minute.\n"
