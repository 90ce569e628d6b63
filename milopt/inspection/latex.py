r"""LaTeX of a program in block form: objective, one line per constraint block, bounds, and definitions of symbols.

    \min_{f, b, slack}  1/2 ||f||^2 + sum_i slack_i
    s.t.  y_i (max_{x in B_i} f(x) + b) + slack_i >= 1,   i = 1, ..., 92    (margin)

Expressions store coefficient matrices, not the text of the declaration; therefore labels are printed as signs y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.programs.expression import IMPLIES, Constraint
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.program import Program
from milopt.inspection.latex_symbols import Symbols, number, symbol, upright
from milopt.inspection.latex_terms import (
    BlockNotation,
    LatexTerm,
    constant_of,
    format_entry,
    join_terms,
    terms_of,
    variable_symbol,
)

_RELATIONS = {"<=": r"\leq", ">=": r"\geq", "==": "=", IMPLIES: r"= 1 \implies"}
"""LaTeX of the relations between expressions, by their spelling in the declaration."""

ROW_MAJOR_REMARK = r"\text{entries numbered row after row}"
"""Remark that the entries of a matrix are numbered row by row, because terms have one index."""


@dataclass(frozen=True)
class Line:
    r"""One line of the program: `\min ...`, a constraint block with its index range and name, or a remark."""

    head: str
    body: str
    where: str = ""
    name: str = ""

    def __str__(self) -> str:
        parts = (self.head, self.body + ("," if self.where else ""), self.where, self.name and f"({self.name})")
        return r" \quad ".join(part for part in parts if part)


def to_latex(program: Program) -> str:
    """Return the LaTeX text of the program as an `aligned` environment."""
    rows = []
    for line in latex_lines(program):
        name = f"({line.name})" if line.name else ""
        cells = [line.head + r" \quad" if line.head else "", line.body, "", line.where, "", name]
        while cells and not cells[-1]:
            cells.pop()
        rows.append(" & ".join(cells).replace(" &  & ", " && "))
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def latex_lines(program: Program, symbols: Symbols | None = None) -> tuple[Line, ...]:
    """Return the lines of the program; the array of each printed symbol is added to `symbols`, if given."""
    symbols = Symbols() if symbols is None else symbols
    verb = r"\max" if program.maximizes else r"\min"
    unknowns = [symbol(name) for name in program.functions]
    unknowns += [variable_symbol(name) for name in program.variables if not name.endswith(".coefficients")]
    letter = _sign_letter(program)
    own = BlockNotation("", letter, symbols)
    objective = format_entry(program.objective, "", own)
    lines = [Line(f"{verb}_{{{', '.join(unknowns)}}}" if unknowns else verb, objective, _signs(own))]
    rows = [
        _constraint(BlockNotation(name, letter, symbols), constraint)
        for name, constraint in program.constraints.items()
    ]
    rows += [line for variable in program.variables.values() for line in _bounds(variable)]
    lines += [Line(r"\mathrm{s.t.}" if k == 0 else "", r.body, r.where, r.name) for k, r in enumerate(rows)]
    lines += [_function(program, name) for name in program.functions]
    return tuple(lines)


def _as_written(block: BlockNotation, constraint: Constraint) -> Line:
    """Return the line of a constraint as declared, for one with two sides, a condition, or rows without a bound."""
    index = "i" if constraint.shape else ""
    body = " ".join(
        _RELATIONS[part] if isinstance(part, str) else format_entry(part, index if part.shape else "", block)
        for part in constraint.as_written
    )
    size = "" if not index else rf"{index} = 1, \ldots, {int(np.prod(constraint.shape))}"
    where = r",\ ".join(part for part in (size, _signs(block)) if part)
    return Line("", body, where, upright(block.name))


def _constraint(block: BlockNotation, constraint: Constraint) -> Line:
    """Return the line of a constraint, with negative terms moved to the right-hand side, where the constant is too.

    If all terms are negative, they are negated on the left-hand side. A constraint with two sides or a condition is
    printed as declared (see `_as_written`).
    """
    if constraint.compared is not None and (constraint.layout is not None or constraint.is_conditional):
        return _as_written(block, constraint)
    expression = constraint.expression
    index = "i" if expression.shape else ""
    terms = terms_of(expression, index, block)
    constant = constant_of(expression, index, block)
    right = [_negate(constant)] if constant else []
    # Terms that share a factor stay together, on the side of the first one.
    first = {term.factor: term.value for term in reversed(terms)}
    value = [first[term.factor] if term.factor else term.value for term in terms]
    left = [term for term, sign in zip(terms, value, strict=True) if sign > 0]
    moved = [_negate(term) for term, sign in zip(terms, value, strict=True) if sign <= 0]
    relation = "=" if constraint.equality else r"\geq"
    if not left and moved:
        left, moved, right = moved, [], [constant] if constant else []
        relation = "=" if constraint.equality else r"\leq"
    size = "" if not index else rf"{index} = 1, \ldots, {expression.size}"
    where = r",\ ".join(part for part in (size, _signs(block)) if part)
    return Line("", f"{join_terms(left)} {relation} {join_terms(moved + right)}", where, upright(block.name))


def _negate(term: LatexTerm) -> LatexTerm:
    """Return the term with the opposite sign."""
    return LatexTerm(-term.value, term.factor, term.body)


def _signs(block: BlockNotation) -> str:
    """Return the LaTeX text of y in {-1, 1}^n for each sign vector y of the block, separated by commas."""
    return r",\ ".join(rf"{name} \in \{{-1, 1\}}^{{{size}}}" for name, size in block.signs.items())


def _sign_letter(program: Program) -> str:
    """Return the letter of sign vectors: the first of y, s, t and epsilon that the program does not use as a name."""
    taken = {*program.variables, *program.functions, *program.parameters}
    return next((letter for letter in ("y", "s", "t") if letter not in taken), r"\varepsilon")


def _bounds(variable: Variable) -> list[Line]:
    """Return the lines of a variable: shape of a matrix, finite bounds, and integrality."""
    index = "i" if variable.shape else ""
    name = _entry_symbol(variable, index)
    where = rf"i = 1, \ldots, {variable.size}" if index else ""
    low, high = variable.lower, variable.upper
    integer = variable.integer_entries
    binary = bool(integer.any() and (integer & (low == 0) & (high == 1)).all())
    lines = []
    if variable.ndim > 1:
        size = r" \times ".join(map(str, variable.shape))
        lines.append(Line("", rf"{variable_symbol(variable.name)} \in \mathbb{{R}}^{{{size}}}", ROW_MAJOR_REMARK))
    if binary:
        return [*lines, Line("", rf"{name} \in \{{0, 1\}}", where)]
    if np.isfinite(low).any() or np.isfinite(high).any():
        below = f"{_bound(low, 'l', variable, index)} \\leq " if np.isfinite(low).any() else ""
        above = f" \\leq {_bound(high, 'u', variable, index)}" if np.isfinite(high).any() else ""
        only_low = f"{name} \\geq {_bound(low, 'l', variable, index)}"
        lines.append(Line("", only_low if below and not above else f"{below}{name}{above}", where))
    if integer.any():
        some = where if integer.all() else rf"\text{{{int(integer.sum())} of }} {where}"
        lines.append(Line("", rf"{name} \in \mathbb{{Z}}", some))
    return lines


def _bound(bound: Vector, letter: str, variable: Variable, index: str) -> str:
    """Return the LaTeX text of a bound: a number if all entries are equal, otherwise a symbol with `letter`."""
    if (bound == bound[0]).all():
        return number(float(bound[0]))
    return f"{letter}^{{{variable_symbol(variable.name)}}}_{{{index}}}"


def _entry_symbol(leaf: Variable, index: str) -> str:
    """Return the LaTeX symbol of an entry of a variable; an empty index means the whole variable."""
    name = variable_symbol(leaf.name)
    return f"{{{name}}}_{{{index}}}" if index and "^" in name else f"{name}_{{{index}}}" if index else name


def _function(program: Program, name: str) -> Line:
    """Return the line that defines a function by its kernel K, and by its dictionary of points z_j if it has one."""
    function = program.functions[name]
    f, kernel = symbol(name), function.kernel.latex()
    if function.dictionary is None:
        return Line("", rf"{f} \in \mathcal{{H}}_K", f"K(x, z) = {kernel}")
    size = function.dictionary.shape[0]
    body = rf"{f} = \sum_{{j=1}}^{{{size}}} a^{{{f}}}_j K(z_j, \cdot)"
    return Line("", body, f"K(x, z) = {kernel}")
