"""Tables in Markdown, LaTeX and CSV: special characters are escaped, numbers are kept."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from milopt.latex_text import escape_latex, latex_number
from milopt.table import Table, format_csv
from tests.pdflatex import MISSING, compile_latex

SPECIAL = "\\{}$%#&_^~<>|\"[*-'`,±×≤≥∞→−–—…\N{NO-BREAK SPACE}"
TABLE = Table(
    "accuracy of models_1 & 2, 100%",
    ("model", "mean_accuracy", "note"),
    (("mi-svm (C=10.0, kernel=RBF(s=1e-3))", "0.858 ± 0.048", "50% of {a, b}"), ("[x]", "-1.5e-07", "a_b^c & ~#$\\")),
    frozenset({"mean_accuracy"}),
)


def is_balanced(text: str) -> bool:
    """Return True if braces and dollars of LaTeX text are balanced."""
    plain = re.sub(r"\\[\\{}$%#&_]", "", text)
    depths = [0]
    for character in plain:
        depths.append(depths[-1] + {"{": 1, "}": -1}.get(character, 0))
    return min(depths) == 0 == depths[-1] and plain.count("$") % 2 == 0


def test_a_table_is_printed_in_latex() -> None:
    assert TABLE.latex().splitlines() == [
        "% accuracy of models_1 & 2, 100%",
        r"\begin{tabular}{@{}lrl@{}}",
        r"\toprule",
        r"model & mean\_accuracy & note \\",
        r"\midrule",
        r"mi-svm (C=10.0, kernel=RBF(s=1e-3)) & $0.858 \pm 0.048$ & 50\% of \{a, b\} \\",
        r"{}[x] & $-1.5 \cdot 10^{-7}$ & a\_b\textasciicircum{}c \& \textasciitilde{}\#\$\textbackslash{} \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_a_table_is_printed_in_markdown() -> None:
    assert TABLE.markdown().splitlines() == [
        r"| model | mean\_accuracy | note |",
        "| --- | ---: | --- |",
        r"| mi-svm (C=10.0, kernel=RBF(s=1e-3)) | 0.858 ± 0.048 | 50% of {a, b} |",
        r"| \[x] | -1.5e-07 | a\_b^c & ~#$\\ |",
    ]


def test_bold_cells_are_marked_in_every_format() -> None:
    table = Table("", ("data", "a", "b"), (("x", "0.9 ± 0.1", "-"),), frozenset({"a", "b"}), frozenset({(0, "a")}))
    assert str(table).splitlines()[1].split() == ["x", "*0.9", "±", "0.1", "-"]
    assert r"x & $\mathbf{0.9 \pm 0.1}$ & - \\" in table.latex()
    assert "| x | **0.9 ± 0.1** | - |" in table.markdown()
    assert "<strong>0.9 ± 0.1</strong>" in table.html()
    assert "*" not in table.rows[0][1]


def test_long_texts_are_paragraphs_in_latex() -> None:
    long = "a word " * 10
    first = (
        Table("", ("name", "n", "text", "more"), (("x", "1", long, long),), frozenset({"n"})).latex().splitlines()[0]
    )
    widths = re.findall(r"p\{([\d.]+)\\linewidth\}", first)
    assert first.startswith(r"\begin{tabular}{@{}lrp{")
    assert len(widths) == 2
    assert 0.5 < sum(map(float, widths)) < 1


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("12", "$12$"),
        ("-0.5", "$-0.5$"),
        ("1e+03", r"$1 \cdot 10^{3}$"),
        ("inf", r"$\infty$"),
        ("0.9 ± 0.1", r"$0.9 \pm 0.1$"),
    ],
)
def test_numbers_are_written_in_mathematics_mode(text: str, latex: str) -> None:
    assert latex_number(text) == latex


@pytest.mark.parametrize("text", ["", "-", "1 of 5", "3/2/1", "93+476", "0.9 ±", "info", "nan"])
def test_other_texts_are_not_numbers(text: str) -> None:
    assert latex_number(text) is None


@example(SPECIAL)
@given(st.text(alphabet=SPECIAL + "ab \n\t0", max_size=30))
def test_escaped_text_is_balanced_and_has_no_special_character_left(text: str) -> None:
    escaped = escape_latex(text)
    assert is_balanced(escaped)
    assert "\n" not in escaped
    assert not re.search(r"(?<!\\)[%#&_]", escaped)
    assert not re.search("--|''|``|,,", escaped) or set(text) & {"–", "—", '"'}
    assert not escaped.startswith(("[", "*"))


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ('such as "4/D" or ("x")', "such as ``4/D'' or (``x'')"),
        ("see `a_b`, ``c=1``", r"see \texttt{a\_b}, \texttt{c=1}"),
        ('`d="all"`', r'\texttt{d="all"}'),
        ("one ` only", "one ` only"),
    ],
)
def test_quotes_and_code_are_set_as_such(text: str, latex: str) -> None:
    assert escape_latex(text) == latex


def test_csv_has_all_columns_of_all_rows_and_full_precision() -> None:
    text = format_csv([{"a": 1 / 3, "b": 'say "x", y'}, {"a": None, "c": 2}])
    assert list(csv.DictReader(io.StringIO(text))) == [
        {"a": repr(1 / 3), "b": 'say "x", y', "c": ""},
        {"a": "", "b": "", "c": "2"},
    ]


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "pdflatex is there")
def test_tables_with_every_special_character_compile(tmp_path: Path) -> None:
    every = Table("title % & #", ("head_1 %", *SPECIAL), ((SPECIAL * 2, *SPECIAL), ("[1]", *("**",) * len(SPECIAL))))
    compile_latex(f"{TABLE.latex()}\n\n{every.latex()}", tmp_path, r"\usepackage{booktabs}")
