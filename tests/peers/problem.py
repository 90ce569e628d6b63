"""Problems from the documentation of other modelling languages, written twice: in milopt and in cvxpy.

A problem is a pair of functions, `diet_milopt` and `diet_cvxpy`. Each declares the problem, solves it, and returns the
result (or the problem of cvxpy), followed by answers that are unique: values, multipliers, optima of earlier solves.

The optimal value of a problem whose page states none is derived by numpy and scipy from the same data: the function
`fir_filter` of `derived_second_order.py` belongs to the problem `fir_filter` of `second_order.py`.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

FAMILIES = (
    "linear",
    "networks",
    "quadratic",
    "regression",
    "control",
    "second_order",
    "exponential",
    "integer",
    "logic",
    "matrices",
    "duals",
    "changes",
    "statuses",
)


@dataclass(frozen=True)
class PeerProblem:
    """Problem with the page it comes from and the optimal value that the page states."""

    name: str
    family: str
    milopt: Callable[[], tuple[Any, ...]]
    cvxpy: Callable[[], tuple[Any, ...]]
    source: str
    """Project and name of the page; "textbook" if no page has the problem in this form."""
    known: str = ""
    """Optimal value with as many digits as the page states; empty if it states none."""
    rewritten: str = ""
    """Reason why the declaration in milopt is not a direct transcription; empty if it is one."""
    derived: Callable[[], float] | None = None
    """Return the optimal value by a closed form, enumeration, linear algebra or scipy; None if not needed."""

    @property
    def is_documented(self) -> bool:
        """Whether the documentation of another modelling language has the problem."""
        return not self.source.startswith("textbook")

    @property
    def has_answer(self) -> bool:
        """Whether the answer is known without milopt and cvxpy: stated by the page, or derived."""
        return bool(self.known) or self.derived is not None

    @property
    def lines(self) -> tuple[int, int]:
        """Numbers of lines in milopt and in cvxpy."""
        return code_lines(self.milopt), code_lines(self.cvxpy)


def peer(source: str, known: str = "", rewritten: str = "") -> Callable[[Any], Any]:
    """Return a decorator that marks a function `..._milopt` as a problem, with the counterpart `..._cvxpy`."""

    def mark(function: Any) -> Any:
        function.about = (source, known, rewritten)
        return function

    return mark


def problems() -> list[PeerProblem]:
    """Return all problems, family by family, in the order in which they are written."""
    result = []
    for family in FAMILIES:
        functions = vars(import_module(f"tests.peers.{family}"))
        derivations = derived_values(family)
        for name, function in functions.items():
            if hasattr(function, "about"):
                own = name.removesuffix("_milopt")
                both, derived = (function, functions[f"{own}_cvxpy"]), derivations.get(own)
                result.append(PeerProblem(own, family, *both, *function.about, derived))
    return result


def derived_values(family: str) -> dict[str, Callable[[], float]]:
    """Return the functions without parameters that the module of derivations of a family defines, by name."""
    name = f"tests.peers.derived_{family}"
    if find_spec(name) is None:
        return {}
    functions = inspect.getmembers(import_module(name), inspect.isfunction)
    return {own: f for own, f in functions if f.__module__ == name and not inspect.signature(f).parameters}


def code_lines(function: Callable[..., object]) -> int:
    """Return the number of lines of a function without decorators, docstring, comments and blank lines."""
    source = textwrap.dedent(inspect.getsource(function))
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef)
    lines = source.splitlines()[definition.lineno - 1 :]
    doc = definition.body[0] if ast.get_docstring(definition) is not None else None
    skipped = set() if doc is None else set(range(doc.lineno, (doc.end_lineno or doc.lineno) + 1))
    return sum(
        1
        for number, line in enumerate(lines, start=definition.lineno)
        if number not in skipped and line.strip() and not line.strip().startswith("#")
    )
