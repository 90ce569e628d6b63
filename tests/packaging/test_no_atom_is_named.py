"""No module of milopt names an atom class, or the second-order or exponential cone, except where it is defined.

A new atom is one file, and a new cone is one file and one line per solver that takes it. Pattern matchers and tables of
solvers may name both. The abstract kinds of atoms (`Atom`, `RadialAtom`, `SelectionAtom`) may be named everywhere.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from functools import cache
from inspect import isabstract
from pathlib import Path

import pytest

import milopt.declaration.atoms
from milopt.cones import CONES, NONNEGATIVE, ZERO
from milopt.declaration.atoms import Atom

ROOT = Path(milopt.__file__).parent
ALLOWED_PATHS = (
    "__init__.py",
    "cones",
    "compilation/bridges",
    "declaration/atoms",
    "solvers",
    "testing/known_programs",
)
"""Files and folders of milopt that may name atoms and cones."""


@cache
def atom_classes() -> set[str]:
    """Return the names of the atom classes of milopt."""
    for module in pkgutil.iter_modules(milopt.declaration.atoms.__path__):
        importlib.import_module(f"milopt.declaration.atoms.{module.name}")

    def below(kind: type) -> set[type]:
        return {kind}.union(*(below(subclass) for subclass in kind.__subclasses__()))

    own = {kind for kind in below(Atom) if kind.__module__.startswith("milopt.declaration.atoms.")}
    return {kind.__name__ for kind in own if not isabstract(kind)}


def cone_names() -> set[str]:
    """Return the names of the other cones than those of equalities and inequalities: constants, classes, properties."""
    conic = [cone for cone in CONES.values() if cone not in (ZERO, NONNEGATIVE)]
    words = [cone.name.replace("-", "_") for cone in conic]
    return {*words, *(word.upper() for word in words), *(type(cone).__name__ for cone in conic)}


def names_in(source: str) -> set[str]:
    """Return every identifier of a module that is read, assigned, defined or imported; not those of arguments."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {part for alias in aliases for part in alias.name.split(".")}
                if isinstance(node, ast.ImportFrom) and node.module:
                    names |= {node.module.rpartition(".")[2]}
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
    return names


def namesakes_in(source: str) -> set[str]:
    """Return the names of atom classes that mean another class in a module, which is defined or imported there."""
    namesakes: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            namesakes.add(node.name)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in {alias.name for alias in node.names} & atom_classes():
                thing = getattr(importlib.import_module(node.module), name)
                if not (isinstance(thing, type) and issubclass(thing, Atom)):
                    namesakes.add(name)
    return namesakes & atom_classes()


def atoms_and_cones_in(source: str) -> set[str]:
    """Return the atom classes and cones that a module names."""
    return names_in(source) & (atom_classes() | cone_names()) - namesakes_in(source)


def modules() -> list[Path]:
    """Return the modules that must not name an atom or a cone."""
    outside = [path.relative_to(ROOT) for folder in (ROOT, ROOT / "models") for path in folder.rglob("*.py")]
    return sorted({path for path in outside if not path.as_posix().startswith(ALLOWED_PATHS)})


def test_atoms_and_cones_are_detected() -> None:
    assert {"Logistic", "Norm", "LogSumExp", "SumSquares", "QuadForm"} <= atom_classes()
    assert not {"Atom", "RadialAtom", "SelectionAtom"} & atom_classes()
    assert {"SECOND_ORDER", "EXPONENTIAL", "SecondOrder", "Exponential", "second_order"} <= cone_names()
    paths = {path.as_posix() for path in modules()}
    assert {"compilation/lowering.py", "outcome/declared_proof.py", "models/miles.py"} <= paths
    assert not {"solvers/clarabel.py", "cones/exponential.py", "declaration/atoms/norm.py"} & paths


def test_no_module_names_an_atom_or_a_cone() -> None:
    names_by_module = {
        path.as_posix(): atoms_and_cones_in((ROOT / path).read_text(encoding="utf-8")) for path in modules()
    }
    assert not {path: names for path, names in names_by_module.items() if names}


@pytest.mark.parametrize(
    "line",
    [
        "from milopt.declaration.atoms.logistic import Logistic",
        "from milopt.declaration.atoms.norm import Norm as Known",
        "import milopt.cones.second_order",
        "from milopt.cones.exponential import Cone",
        "from milopt import cones\nis_conic = block.cone is cones.SECOND_ORDER",
        "def kind(form):\n    return form.second_order.any()",
        "isinstance(leaf, atoms.QuadForm)",
    ],
)
def test_an_additional_import_is_detected(line: str) -> None:
    assert atoms_and_cones_in(line)


def test_other_modules_may_be_imported() -> None:
    source = "from milopt.cones import NONNEGATIVE, ZERO\nfrom milopt.declaration.atoms import SelectionAtom, exp, norm"
    assert not atoms_and_cones_in(source)
    assert not atoms_and_cones_in("from cvxpy.atoms.quad_form import QuadForm\nforms: list[QuadForm] = []")
    assert atoms_and_cones_in("from milopt.declaration.atoms.sum_squares import Square\nsquares: list[Square] = []")
