"""ARCHITECTURE.md and CONTRIBUTING.md name files, classes and members that exist, and stations in their order."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from milopt.models import MISVM

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")
QUOTED = re.compile(r"`([^`]+)`")
STATION = re.compile(r"^(\S+\.py):([\w.]+)$")


def quoted(page: str) -> list[str]:
    return QUOTED.findall((ROOT / page).read_text(encoding="utf-8"))


def module_of(path: str) -> str:
    inside = path if path.startswith("milopt/") else f"milopt/{path}"
    return inside.removesuffix(".py").replace("/", ".")


def defined_object(path: str, name: str) -> object:
    """Return the object that a file defines under a name; fail if the file only imports it."""
    value: object = importlib.import_module(module_of(path))
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for part in name.split("."):
        defined = {node.name: node for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        assigned = {
            target.id
            for node in ast.walk(tree)
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        assert part in defined or part in assigned, f"{path} does not define {name}"
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("page", PAGES)
def test_every_path_exists(page: str) -> None:
    paths = {
        text.partition(":")[0]
        for text in quoted(page)
        if re.match(r"^[\w.]+(/[\w.]+)*(/|\.(py|pyi|md|toml))(:|$)", text)
    }
    assert len(paths) > 20
    named = {path for path in paths if "NAME" not in path}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    for path in paths - named:
        assert (ROOT / path.partition("NAME")[0]).exists(), path


@pytest.mark.parametrize("page", PAGES)
def test_every_class_and_function_is_defined_in_the_stated_file(page: str) -> None:
    stations = [match for text in quoted(page) if (match := STATION.match(text)) and "NAME" not in text]
    assert len(stations) >= 10
    for match in stations:
        defined_object(match[1], match[2])


@pytest.mark.parametrize("page", PAGES)
def test_every_name_of_milopt_can_be_imported(page: str) -> None:
    groups = {"milopt.solvers", "milopt.schemes", "milopt.models"}
    for name in {text for text in quoted(page) if re.fullmatch(r"milopt(\.\w+)+", text)} - groups:
        home, _, member = name.rpartition(".")
        assert hasattr(importlib.import_module(home), member), name


def test_members_are_members_of_the_class_before_them() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    lists = re.findall(r"Class: `([^`:]+):(\w+)`.*?\n- \[ \] Members: (.*?)(?=\n- \[ \]|\n\n)", text, re.DOTALL)
    assert len(lists) == 8
    for path, name, members in lists:
        cls = defined_object(path, name)
        assert isinstance(cls, type)
        known = {member for base in cls.__mro__ for member in (*vars(base), *vars(base).get("__annotations__", {}))}
        for member in QUOTED.findall(members):
            assert member in known, f"{name} has no member {member}"


def test_every_abstract_member_is_in_its_checklist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path, name, members in re.findall(
        r"Class: `([^`:]+):(\w+)`.*?\n- \[ \] Members: (.*?)(?=\n- \[ \]|\n\n)", text, re.DOTALL
    ):
        required = getattr(defined_object(path, name), "__abstractmethods__", frozenset())
        if name != "BagKernel":  # It defines those of Kernel itself.
            assert required <= set(QUOTED.findall(members.partition("(")[0])), name


def test_layers_are_those_of_the_contract() -> None:
    import tomllib

    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ][0]
    layers = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(len(layers), 0, -1))
    for (_, packages), layer in zip(rows, layers, strict=True):
        stated = {Path(path).stem for path in QUOTED.findall(packages)}
        assert stated <= set(layer)
        assert stated == set(layer) or "and others" in packages


def test_a_fit_passes_the_stations_in_their_order() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = page.partition("## The way of a program")[2].partition("A convex program")[0]
    stated = re.findall(r"^\| `(\S+\.py):([\w.]+)` \|", table, re.MULTILINE)
    assert len(stated) >= 25
    rng, y = np.random.default_rng(0), np.where(np.arange(16) % 2, 1, -1)
    bags = [np.vstack([rng.normal(0, 0.8, (3, 2)), rng.normal(2 * (sign > 0), 0.4, (1, 2))]) for sign in y]
    met: dict[tuple[str, str], int] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            met.setdefault((str(Path(code.co_filename).resolve()), code.co_qualname), len(met))

    model = MISVM(C=10.0, solver="clarabel")
    sys.setprofile(note)
    try:
        model.fit(bags, y)
        model.decision_function(bags)
    finally:
        sys.setprofile(None)
    places = [met.get((str((ROOT / path).resolve()), name)) for path, name in stated]
    missed = [station for station, place in zip(stated, places, strict=True) if place is None]
    assert missed == []
    assert places == sorted(places)  # type: ignore[type-var]
