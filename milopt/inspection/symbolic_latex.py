r"""LaTeX lines of a problem with its hyper-parameters as symbols, and their values in a last line.

A program stores numbers, not the expressions of the hyper-parameters that gave them. So the problem is declared twice
more, with other values of the hyper-parameters, and numbers are recognised in both (see `number_names`). If both print
alike, every number that is printed as a digit is independent of the hyper-parameters, and the formulas are right. If
not, the hyper-parameters that cause the difference are printed by their values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import combinations
from typing import TypeVar

from milopt.declaration.kernels.gram_cache import result_cache
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.programs.problem import Problem
from milopt.errors import MiloptError
from milopt.inspection.latex_line import LatexLine
from milopt.inspection.latex_symbols import format_number, latex_name, names_in_use
from milopt.inspection.number_names import names_of_numbers

ProblemT = TypeVar("ProblemT", bound=Problem)
PROBE_FACTORS = ((0.927316504, 0.873915127, 0.941357219), (0.851739463, 0.913752861, 0.889175347))
"""Factors of the hyper-parameters in the two other declarations, below 1 because many values have a maximum."""
MAX_REDECLARED_INSTANCES = 20_000
"""Number of instances above which a problem is not declared again, because that may take long."""
LATEX_OF_PARAMETER = {"lam": r"\lambda", "coef0": "c_0"}
"""LaTeX of hyper-parameters whose names in Python are not those of formulas."""


def lines_with_symbols(
    problem: ProblemT, make_lines: Callable[[ProblemT], tuple[LatexLine, ...]]
) -> tuple[LatexLine, ...]:
    """Return the lines of a problem with hyper-parameters as symbols if it is known how they enter the problem.

    `make_lines` returns the lines of a problem with numbers.
    """
    with names_in_use(_names_of(problem)):
        return _lines_with_symbols(problem, make_lines)


def _lines_with_symbols(
    problem: ProblemT, make_lines: Callable[[ProblemT], tuple[LatexLine, ...]]
) -> tuple[LatexLine, ...]:
    """Return the lines as `lines_with_symbols` does, while the names of the problem are known."""
    plain = make_lines(problem)
    values = _named_values(problem)
    lines, used = plain, set[str]()
    # The other declarations share kernel values and other results for the same bags.
    with result_cache():
        for names in _symbol_choices(list(values)):
            symbolic = _symbolic_lines(problem, make_lines, {name: values[name] for name in names})
            if symbolic is not None:
                lines, used = symbolic
                break
    shown = {_latex_of_parameter(name): value for name, value in values.items() if _latex_of_parameter(name) in used}
    shown |= _kernel_values(problem, "\n".join(map(str, lines)))
    if not shown:
        return lines
    body = r",\ ".join(f"{name} = {format_number(value)}" for name, value in shown.items())
    return (*lines, LatexLine("", body, r"\text{values of the hyper-parameters}"))


def _names_of(problem: Problem) -> set[str]:
    """Return the names of the variables, functions and parameters of a problem."""
    return {name for part in problem.parts.values() for name in (*part.variables, *part.functions, *part.parameters)}


def _symbol_choices(names: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the names that are tried as symbols: all, all but one, and so on.

    A hyper-parameter that enters in a way that is not recognised must not hide the others.
    """
    for size in range(len(names), 0, -1):
        yield from combinations(names, size)


def _named_values(problem: Problem) -> dict[str, float]:
    """Return the values of the hyper-parameters that may be printed as symbols, by name.

    A name that is also a variable, function or parameter of the problem would be ambiguous.
    """
    if problem.redeclaration is None or problem.redeclaration.instance_count > MAX_REDECLARED_INSTANCES:
        return {}
    taken = _names_of(problem)
    values = problem.redeclaration.values.items()
    return {name: value for name, value in values if 0 < value < float("inf") and name not in taken}


def _symbolic_lines(
    problem: ProblemT, make_lines: Callable[[ProblemT], tuple[LatexLine, ...]], values: Mapping[str, float]
) -> tuple[tuple[LatexLine, ...], set[str]] | None:
    """Return the lines with these hyper-parameters as symbols, and the LaTeX of the symbols that occur.

    Return None if they enter the problem in a way that is not recognised.
    """
    assert problem.redeclaration is not None
    results = []
    for factors in PROBE_FACTORS:
        probes = {
            name: value * factors[k % len(factors)] * (1 - 0.01 * (k // len(factors)))
            for k, (name, value) in enumerate(values.items())
        }
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                other = problem.redeclaration.declare(probes)
        except MiloptError:
            return None
        if type(other) is not type(problem):
            return None
        with names_of_numbers({_latex_of_parameter(name): value for name, value in probes.items()}) as names:
            results.append((make_lines(other), names.used))
    (first, used), (second, _) = results
    return (first, used) if first == second else None


def _latex_of_parameter(name: str) -> str:
    """Return the LaTeX of a hyper-parameter."""
    return LATEX_OF_PARAMETER.get(name, latex_name(name))


def _kernel_values(problem: Problem, text: str) -> dict[str, float]:
    """Return the values of the kernels' parameters whose symbols occur in the text, by LaTeX."""
    kernels = [function.kernel for part in problem.parts.values() for function in part.functions.values()]
    constants = [constant for part in problem.parts.values() for constant in part.named_constants.values()]
    kernels += [constant.kernel for constant in constants if constant.kernel is not None]
    return {
        _latex_of_parameter(name): value
        for kernel in kernels
        if kernel.latex() in text
        for name, value in _numeric_kernel_parameters(kernel).items()
        if _latex_of_parameter(name) in kernel.latex()
    }


def _numeric_kernel_parameters(kernel: Kernel) -> dict[str, float]:
    """Return the parameters of a kernel, and of kernels inside it, that are numbers, by name."""
    values: dict[str, float] = {}
    names: list[str] = [field.name for field in fields(kernel)] if is_dataclass(kernel) else []
    for name in names:
        value = getattr(kernel, name)
        if isinstance(value, Kernel):
            values |= _numeric_kernel_parameters(value)
        elif isinstance(value, float):
            values[name] = value
    return values
