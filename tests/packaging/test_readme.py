"""The README: its test command is the one of the continuous integration, and its code works as stated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.packaging.pages import (
    ROOT,
    check_code,
    code_of,
    comparable_words,
    link_examples,
)

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_the_readme_and_the_continuous_integration_run_the_same_command() -> None:
    stated = re.search(r"```sh\n(.+)\n```", TEXT.split("## Tests")[1])
    assert stated is not None
    assert (ROOT / ".ci" / "run").read_text().splitlines()[-1] == stated[1]


def test_the_code_of_the_readme_prints_the_stated_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    check_code(README)


def test_the_readme_is_short_and_has_code() -> None:
    lines = TEXT.splitlines()
    assert len(lines) <= 125
    assert [line for line in lines if len(line) > 130] == []
    assert len(code_of(README)) >= 3


@pytest.mark.parametrize("page", [README, *sorted(ROOT.glob("docs/**/*.md"))], ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_wrong_digits_are_found_and_times_are_not_compared() -> None:
    head, row = "model solver accuracy seconds\n", "  safe highs 0.847 ± 0.052 {}\n"
    stated = head + row.format("9.4") + "objective 1.25\nseconds solve 0.4, total 3\ncertificate gap 8.1e-14"
    same = head + row.format("31.7") + "objective 1.25\nseconds solve 0.0012, total 3\ncertificate gap 7e-15"
    assert comparable_words(stated) != comparable_words(same.replace("0.847", "0.858"))
    assert comparable_words(stated) != comparable_words(same.replace("0.052", "0.048"))
    assert comparable_words(stated) != comparable_words(same.replace("1.25", "1.26"))
    assert comparable_words(stated) == comparable_words(same.replace("7e-15", "7.5e-15"))
