"""Solvers and models of any package are found by name, and errors for wrong names suggest the right one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from milopt.errors import DeclarationError, MissingSolverError, UnknownNameError
from milopt.solving import registry

HEAVY = {"cvxpy", "pyomo", "sklearn", "numba", "highspy", "clarabel", "ecos", "matplotlib"}

PYPROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "toy-milopt"
version = "3.2.1"

[project.entry-points."milopt.solvers"]
toy = "toy_milopt:Toy"
toy-absent = "toy_milopt:Absent"
toy-family = "toy_milopt:Several"
toy-broken = "toy_milopt_broken:Anything"
toy-abstract = "toy_milopt:Abstract"
toy-function = "toy_milopt:function"
toy-far = "toy_milopt:Far"
toy-stranger = "toy_milopt:NearestBag"
highs = "toy_milopt:Toy"

[project.entry-points."milopt.models"]
nearest-bag = "toy_milopt:NearestBag"
broken-bag = "toy_milopt_broken:Anything"

[tool.setuptools]
py-modules = ["toy_milopt", "toy_milopt_broken"]
"""

TOY = """
from milopt.solving.solver import Feature, Solver


class Abstract(Solver):
    package = "toy-milopt"
    features = frozenset({Feature.LINEAR})


class Toy(Abstract):
    name = "toy"

    def engine(self, form, options):
        raise NotImplementedError


class Absent(Toy):
    package = "toy-milopt-absent"


class Several(Toy):
    family = True

    def __init__(self, variant):
        self.name = f"toy-family:{variant}"

    @classmethod
    def variants(cls):
        return ["ONE", "TWO"]


class Far(Several):
    package = "toy-milopt-absent"


class NearestBag:
    pass


def function():
    pass
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install a package with solvers and a model by pip, and return its directory."""
    source = tmp_path_factory.mktemp("toy")
    (source / "pyproject.toml").write_text(PYPROJECT)
    (source / "toy_milopt.py").write_text(TOY)
    (source / "toy_milopt_broken.py").write_text('raise RuntimeError("no licence file")\n')
    target = tmp_path_factory.mktemp("site")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", target, source]
    subprocess.run([sys.executable, "-m", "pip", *map(str, install)], check=True)
    return target


@pytest.fixture
def toy(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the installed package on the path of this process."""
    monkeypatch.syspath_prepend(str(site))
    registry._entries.cache_clear()
    yield
    registry._entries.cache_clear()
    for module in ("toy_milopt", "toy_milopt_broken"):
        sys.modules.pop(module, None)


def run(code: str, *path: Path) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_another_package_registers_a_solver_and_a_model(site: Path) -> None:
    expected = run(
        "from milopt.solving import registry as r; solver = r.require_solver('toy'); "
        "print(solver.name, solver.availability().version, r.model_class('nearest-bag').__name__, "
        "'toy' in r.solver_names(), 'nearest-bag' in r.model_names())",
        site,
    )
    assert expected.split() == ["toy", "3.2.1", "NearestBag", "True", "True"]


def test_every_name_of_the_package_metadata_is_registered() -> None:
    assert {"highs", "clarabel", "ecos", "native", "libsvm"} <= {
        name.partition(":")[0] for name in registry.solver_names()
    }
    assert "mi-svm" in registry.model_names()


def test_listing_available_solvers_imports_no_solver() -> None:
    code = (
        "import json, sys; from milopt.solving import registry; "
        "registry.available_solvers(); print(json.dumps([*sys.modules]))"
    )
    assert HEAVY.isdisjoint(json.loads(run(code)))


@pytest.mark.parametrize(("wrong", "right"), [("ecso", "ecos"), ("HiGHS", "highs"), ("clarabell", "clarabel")])
def test_the_error_for_an_unknown_solver_suggests_similar_names(wrong: str, right: str) -> None:
    with pytest.raises(UnknownNameError, match=rf'^No solver is called "{wrong}"; did you mean "{right}"'):
        registry.get_solver(wrong)


def test_the_error_without_a_similar_name_lists_all_solvers() -> None:
    with pytest.raises(UnknownNameError, match=r'called "zzzz"; there are .*"clarabel".*"highs"'):
        registry.get_solver("zzzz")
    with pytest.raises(UnknownNameError, match=r'^No model is called "misvm"; did you mean "mi-svm"'):
        registry.model_class("misvm")


@pytest.mark.usefixtures("toy")
class TestAnotherPackage:
    def test_solver_and_model_of_another_package_are_found(self) -> None:
        assert registry.require_solver("toy").name == "toy"
        assert registry.model_class("nearest-bag").__name__ == "NearestBag"

    def test_a_family_returns_the_solver_of_a_variant(self) -> None:
        assert registry.get_solver("toy-family:ONE").name == "toy-family:ONE"
        assert registry.variants("toy-family") == ["toy-family:ONE", "toy-family:TWO"]
        assert "toy-family:NAME" in registry.solver_names()

    def test_the_error_for_a_misspelt_family_suggests_it_with_its_colon(self) -> None:
        with pytest.raises(UnknownNameError, match="toy-family:NAME"):
            registry.get_solver("toy-familly:ONE")

    @pytest.mark.parametrize("name", ["toy-family", "toy-family:"])
    def test_the_error_for_a_family_without_variant_shows_the_syntax(self, name: str) -> None:
        with pytest.raises(UnknownNameError, match='is a family of solvers: write "toy-family:NAME"'):
            registry.get_solver(name)

    def test_a_single_solver_has_no_variants(self) -> None:
        with pytest.raises(UnknownNameError, match='write "toy", not "toy:ONE"'):
            registry.get_solver("toy:ONE")
        with pytest.raises(UnknownNameError, match="has no variants"):
            registry.variants("toy")

    def test_a_missing_package_comes_with_its_install_command(self) -> None:
        assert registry.get_solver("toy-absent").availability().installed is False
        with pytest.raises(MissingSolverError, match="run `pip install toy-milopt-absent`") as caught:
            registry.require_solver("toy-absent")
        assert caught.value.exit_code == 4

    def test_broken_packages_hide_no_other_and_are_listed_with_the_reason(self) -> None:
        available = registry.available_solvers()
        assert available["toy"].installed
        assert available["toy-family:NAME"].version == "3.2.1"
        assert available["toy-far:NAME"].install == "pip install toy-milopt-absent"
        assert available["toy-absent"].install == "pip install toy-milopt-absent"
        assert not available["toy-broken"].installed
        assert available["toy-broken"].reason == "RuntimeError: no licence file"
        assert "abstract" in (available["toy-abstract"].reason or "")
        assert "not a class" in (available["toy-function"].reason or "")
        assert "not a subclass" in (available["toy-stranger"].reason or "")
        assert list(available) == registry.solver_names() == sorted(available)

    def test_requesting_a_broken_package_raises_an_error_with_the_reason(self) -> None:
        with pytest.raises(MissingSolverError, match='"toy-broken" cannot be loaded: RuntimeError: no licence file'):
            registry.get_solver("toy-broken")
        with pytest.raises(DeclarationError, match='"broken-bag" cannot be loaded: RuntimeError: no licence file'):
            registry.model_class("broken-bag")

    def test_another_package_cannot_replace_a_solver_of_milopt(self) -> None:
        assert registry._entries(registry.SOLVERS)["highs"].value.startswith("milopt.solvers.")


class TestModelFile:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        path = tmp_path / "numpy.py"
        path.write_text(
            "from __future__ import annotations\nfrom dataclasses import dataclass\nimport numpy\n\n\n"
            "@dataclass\nclass Mine:\n    C: float = 1.0\n\n\nradius = float(numpy.ones(1)[0])\n"
        )
        return path

    def test_the_class_in_a_file_is_loaded(self, file: Path) -> None:
        assert registry.model_class(f"{file}:Mine")().C == 1.0

    def test_an_edit_of_the_file_takes_effect(self, file: Path) -> None:
        registry.model_class(f"{file}:Mine")
        file.write_text("class Mine:\n    edited = True\n")
        assert vars(registry.model_class(f"{file}:Mine"))["edited"]

    def test_the_error_for_a_wrong_class_suggests_similar_names(self, file: Path) -> None:
        with pytest.raises(UnknownNameError, match=r'No class is called "Mien" in .*; did you mean "Mine"\?'):
            registry.model_class(f"{file}:Mien")

    def test_the_error_for_a_file_without_a_class_shows_the_syntax(self, file: Path) -> None:
        with pytest.raises(UnknownNameError, match=r"numpy\.py:Class"):
            registry.model_class(str(file))
        with pytest.raises(UnknownNameError, match=r'numpy\.py:Class, with "Mine"'):
            registry.model_class(f"{file}:")

    def test_a_name_that_is_not_a_class_raises_an_error(self, file: Path) -> None:
        with pytest.raises(DeclarationError, match=r'"radius" in .* is not a class but of type float'):
            registry.model_class(f"{file}:radius")

    def test_the_error_for_a_missing_file_names_it(self, tmp_path: Path) -> None:
        with pytest.raises(UnknownNameError, match=r"There is no file .*nowhere\.py"):
            registry.model_class(f"{tmp_path}/nowhere.py:Mine")

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("x = 1\ny = absent\n", r"\(line 2\): NameError: name 'absent' is not defined"),
            ("class Mine\n", r"\(line 1\): SyntaxError: "),
            ("import sys\nsys.exit(3)\n", r"\(line 2\): SystemExit: 3"),
        ],
    )
    def test_the_error_of_a_file_that_raises_gives_the_line(self, tmp_path: Path, text: str, expected: str) -> None:
        path = tmp_path / "mine.py"
        path.write_text(text)
        with pytest.raises(DeclarationError, match=rf"mine\.py cannot be imported {expected}"):
            registry.model_class(f"{path}:Mine")
