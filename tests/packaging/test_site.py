"""The site in docs/: its extensions, and that the gallery and the reference are complete.

`tests/all.py` builds the site with every warning as an error: all links resolve, all pages are in the tree.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import milopt
from milopt import display

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

pytest.importorskip("sphinx", reason="needs the extra milopt[docs]")
sys.path.insert(0, str(DOCS / "_extensions"))

import docstring_text  # noqa: E402
import figure_directive  # noqa: E402
import program_directive  # noqa: E402
import reference_api  # noqa: E402
import reference_commands  # noqa: E402
import repository_links  # noqa: E402
import rst  # noqa: E402

FIGURE = re.compile(r"^```\{milopt-figure\} (.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FIGURES = [
    (page.name, caption, code)
    for page in sorted(DOCS.glob("**/*.md"))
    for caption, code in FIGURE.findall(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "caption", "code"), FIGURES)
def test_the_figures_of_a_page_are_drawn(page: str, caption: str, code: str) -> None:
    markup = figure_directive.draw_figure(code, "figure0", caption)
    assert markup.startswith("<svg")
    assert caption in markup


def test_the_benchmarks_have_figures() -> None:
    assert sum(page == "benchmarks.md" for page, _, _ in FIGURES) >= 2


def test_indented_formulas_become_literal_blocks() -> None:
    lines = [
        "Solve",
        "",
        "    min  |x|",
        "",
        "where |x| is large.",
        "",
        "Parameters",
        "----------",
        "x : float",
        "    |x|.",
    ]
    marked = docstring_text.escape_bars(docstring_text.mark_formulas(lines))
    assert marked[2:6] == ["::", "", "    min  |x|", ""]
    assert marked[6] == r"where \|x\| is large."
    assert marked[-1] == r"    \|x\|."


def test_the_text_of_list_items_stays_a_list() -> None:
    lines = ["Either", "", "* one", "    continued", "", "* two"]
    assert docstring_text.mark_formulas(lines) == lines


def test_bars_in_code_and_examples_are_not_escaped() -> None:
    lines = ["Use `a|b` or |c|.", "", "Examples", "--------", ">>> 1 | 2", "3"]
    assert docstring_text.escape_bars(lines) == [r"Use `a|b` or \|c\|.", *lines[1:]]


def test_links_to_files_of_the_repository_lead_to_pages_of_the_site() -> None:
    text = "[a](../ARCHITECTURE.md) [b](atoms.md#norms) [c](../examples) [d](https://x.org/e.md)"
    rewritten = repository_links.rewrite_links(text, DOCS, DOCS)
    assert rewritten == "[a](/architecture.md) [b](/atoms.md#norms) c (`examples`) [d](https://x.org/e.md)"


def test_paragraphs_of_a_plain_text_keep_formulas_and_lists() -> None:
    text = "One |x|.\n\n    min |x|\n\n* a_\n* b"
    assert rst.plain_text(text) == "One \\|x\\|.\n\n::\n\n    min |x|\n\n* a\\_\n* b\n\n"


def test_text_of_tables_is_escaped_but_code_is_kept() -> None:
    assert (
        rst.escape("see `milopt data` or result_, *.csv, |x|, a_b")
        == r"see `milopt data` or result\_, \*.csv, \|x\|, a_b"
    )


def test_every_public_name_is_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {name for names in reference_api.topics().values() for name in names}
    assert {"Program", "norm", "RBF", "display.MarginsDisplay", "testing.check_atom", "data.toy_bags"} <= listed
    monkeypatch.setattr(milopt, "__all__", [*milopt.__all__, "new_name"])
    monkeypatch.setattr(milopt, "new_name", print, raising=False)
    assert "new_name" in reference_api.topics()["Others"]


def test_every_command_has_a_page_with_its_options() -> None:
    pages = reference_commands.pages()
    fit = pages["commands/fit.rst"]
    assert "``--model, -m NAME``" in fit
    assert "required" in fit
    assert "``DATA``" in fit
    assert {name.partition("/")[2] for name in pages if "/" in name} >= {"compare.rst", "rank.rst", "inspect.rst"}
    assert "``[].certificate" in pages["schemas.rst"] or "certificate" in pages["schemas.rst"]


def test_fields_of_a_schema_include_those_of_its_references() -> None:
    schema = {
        "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/row"}}},
        "$defs": {"row": {"type": "object", "properties": {"gap": {"type": "number", "description": "The gap."}}}},
    }
    rows = reference_commands.fields(reference_commands.inline(schema, schema["$defs"]))
    assert ("rows[].gap", "number", "The gap.") in rows


def test_the_gallery_draws_every_display() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("displays/plot_*.py"))
    assert {name for name in display.__all__ if not re.search(rf"\b{name}\b", code)} == set()


@pytest.mark.parametrize("name", ["mi-svm", "shapelet-boost"])
def test_the_whole_program_of_a_model_is_shown(name: str) -> None:
    text = program_directive.example_program(name).to_latex()
    shown = program_directive.formulas_of(text)
    assert shown
    assert "\n".join(shown) == text
