"""`milopt warmup` compiles all native code; commands that list what is available compile nothing."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest
from numba.core import event

import milopt.bag_kernels
import milopt.models
import milopt.solvers.native
from milopt.cli.native_code import NATIVE_PARTS, compile_part
from milopt.jit import COMPILED_FUNCTIONS


def native_functions() -> dict[str, int]:
    """Import all modules with native code, and return the number of compiled signatures by function."""
    for package in (milopt.solvers.native, milopt.bag_kernels):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return {
        f"{function.py_func.__module__}.{function.py_func.__name__}": len(function.signatures)
        for function in COMPILED_FUNCTIONS
        if function.py_func.__module__.startswith("milopt.")
    }


@pytest.fixture(scope="module")
def warm() -> None:
    """Run all parts of the warm-up in this process."""
    for name in NATIVE_PARTS:
        compile_part(name)


@pytest.mark.usefixtures("warm")
def test_every_native_function_is_compiled() -> None:
    functions = native_functions()
    assert len(functions) >= 17
    assert {name for name, signatures in functions.items() if not signatures} == set()


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize(
    "fit",
    [
        lambda bags, y: milopt.models.BoxCountingSVM().fit(bags, y),
        lambda bags, y: milopt.models.BoxCountingSVM(kernel=milopt.BoxCounting(rule="fast", bins=20)).fit(bags, y),
        lambda bags, y: milopt.models.ShapeletBoost(ball="l1", atoms=10).fit(bags, y),
        lambda bags, y: milopt.models.ShapeletBoost(ball="hilbert", atoms=10).fit(bags, y),
        lambda bags, y: milopt.models.ShapeletBoost(ball="one-hot", atoms=10, window=None).fit(bags, y),
        lambda bags, y: milopt.models.MILES(solver="native").fit(bags, y),
    ],
)
def test_a_fit_after_the_warm_up_compiles_nothing(fit) -> None:
    bags, y = np.random.default_rng(1).normal(size=(20, 5, 2)), np.repeat([0, 1], 10)
    bags[y == 1, 0] += 2
    before = native_functions()
    fit(milopt.as_bags(bags), y)
    assert native_functions() == before


@pytest.mark.usefixtures("warm")
def test_the_parts_are_listed_with_their_seconds(run) -> None:
    parts = run("warmup", "--json").json("warmup")["parts"]
    assert [part["part"] for part in parts] == list(NATIVE_PARTS)
    assert all(part["compilation"] == 0 for part in parts)
    assert "All native code was compiled before." in run("warmup").out


class CompilationCounter(event.Listener):
    """Listener that collects the names of the compiled functions."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, event: event.Event) -> None:
        """Add the name of a function whose compilation starts."""
        self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: event.Event) -> None:
        """Do nothing."""


@pytest.mark.parametrize("command", ["models", "solvers", "schemes", "data"])
def test_lists_call_no_native_function(run, monkeypatch, command: str) -> None:
    native_functions()

    def fail(*arguments: object, **keywords: object) -> None:
        raise AssertionError("a native function was called")

    # The functions of box counting are imported when they are called.
    for module in ("compiled_exact.count_pairs_exactly", "compiled_coverage.estimate_pairs_by_coverage"):
        monkeypatch.setattr(f"milopt.bag_kernels.{module}", fail)
    counter = CompilationCounter()
    with event.install_listener("numba:compile", counter):
        assert run(command).code == 0
    assert counter.names == []
