"""The pages in docs/: their code runs from top to bottom, and code and commands print the stated output."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.main import get_command

import milopt
from milopt.cli.app import app
from milopt.cli.arguments import parse_common_settings
from milopt.declaration import atoms
from milopt.model_registry import get_model, parse_grid
from tests.packaging.pages import (
    NOT_EXECUTED,
    ROOT,
    blocks_of,
    check_code,
    check_commands,
    code_of,
    commands_not_executed,
    commands_of,
    first_command_of,
    indented_blocks_of,
    link_examples,
)

DOCS = ROOT / "docs"
PAGES = {str(page.relative_to(DOCS)): page for page in sorted(DOCS.glob("**/*.md"))}
LANGUAGES_WITHOUT_CODE = {"text", "toml"}
WITHOUT_EXECUTION = {
    "accuracy.md": "the commands take hours, and NAME stands for many data sets",
    "how_to/cluster.md": "the command needs a running scheduler",
}
"""Pages with commands that are not executed, with the reason."""
INDENTED = {"comparison.md"}
"""Pages with an indented block: the default comparison, which takes minutes."""
COMMANDS = [(name, *pair) for name, page in PAGES.items() for pair in commands_of(page)]


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if code_of(page)])
def test_the_code_of_a_page_prints_the_stated_output(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link_examples(tmp_path)
    monkeypatch.chdir(tmp_path)
    check_code(PAGES[name])


@pytest.mark.parametrize(("name", "commands", "expected"), COMMANDS, ids=[commands for _, commands, _ in COMMANDS])
def test_the_commands_of_a_page_print_the_stated_output(
    name: str, commands: str, expected: str, tmp_path: Path
) -> None:
    check_commands(commands, expected, tmp_path)


@pytest.mark.parametrize("name", PAGES)
def test_every_block_of_a_page_is_executed_or_is_no_code(name: str) -> None:
    page = PAGES[name]
    executed = {code for code, _ in code_of(page)} | {f"{commands}\n" for commands, _ in commands_of(page)}
    # `tests/all.py` runs the first command of the README, which installs milopt.
    executed.add(first_command_of(ROOT / "README.md"))
    if name in WITHOUT_EXECUTION:
        executed |= set(NOT_EXECUTED.findall(page.read_text(encoding="utf-8")))
    others = [
        (language, text)
        for language, text in blocks_of(page)
        if text not in executed and language not in LANGUAGES_WITHOUT_CODE and not language.startswith("{")
    ]
    assert others == []


@pytest.mark.parametrize("name", sorted(set(PAGES) - INDENTED))
def test_code_of_a_page_is_fenced(name: str) -> None:
    # An indented block would not be executed.
    assert indented_blocks_of(PAGES[name]) == []


@pytest.mark.parametrize("name", WITHOUT_EXECUTION)
def test_commands_that_are_not_executed_have_options_and_models_that_exist(name: str) -> None:
    commands = commands_not_executed(PAGES[name])
    assert commands
    for line in commands:
        _, command, *arguments = shlex.split(line)
        subcommand = get_command(app).commands[command]
        context = subcommand.make_context(command, arguments)
        classes = [get_model(model) for given in context.params["models"] for model in given.split(",")]
        parse_common_settings(classes, context.params["settings"] or ())
        for cls in classes:
            parse_grid(cls, context.params["grid"] or ())


def test_the_pages_have_code_and_commands() -> None:
    assert len(COMMANDS) >= 7
    assert sum(bool(code_of(page)) for page in PAGES.values()) >= 15


def test_the_page_on_atoms_lists_every_atom() -> None:
    table = PAGES["atoms.md"].read_text(encoding="utf-8").partition("## Composition")[0]
    functions = {name for name in atoms.__all__ if not isinstance(getattr(atoms, name), type)}
    assert functions == {name for name in functions if f"`{name}(" in table or f"`{name}`" in table}
    assert all(hasattr(milopt, name) for name in functions)
