r"""LaTeX of a program in block form: objective, one line per constraint block, bounds, and definitions of symbols.

    \min_{f, b, slack}  1/2 ||f||^2 + sum_i slack_i
    s.t.  y_i (max_{x in B_i} f(x) + b) + slack_i >= 1,   i = 1, ..., 92    (margin)

Expressions store coefficient matrices, not the text of the declaration. A vector with entries +-1, such as the labels,
is therefore recognised by its values and printed as y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.programs.expression import IMPLIES, Constraint
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.program import Program
from milopt.inspection.latex_symbols import Symbols, format_number, latex_name, upright_text
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
class LatexLine:
    r"""One line of the program: `\min ...`, a constraint block, a bound, or the definition of a symbol.

    `head` is `\min`, `\max`, `\mathrm{s.t.}` or empty, `where` the range of the index or another remark, and `name` the
    name of the constraint.
    """

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


def latex_lines(program: Program, symbols: Symbols | None = None) -> tuple[LatexLine, ...]:
    """Return the lines of the program; the array of each printed symbol is added to `symbols`, if that is given."""
    symbols = Symbols() if symbols is None else symbols
    verb = r"\max" if program.maximizes else r"\min"
    unknowns = [latex_name(name) for name in program.functions]
    unknowns += [variable_symbol(name) for name in program.variables if not name.endswith(".coefficients")]
    letter = _sign_letter(program)
    own = BlockNotation("", letter, symbols)
    objective = format_entry(program.objective, "", own)
    lines = [LatexLine(f"{verb}_{{{', '.join(unknowns)}}}" if unknowns else verb, objective, _sign_definitions(own))]
    rows = [
        _constraint_line(BlockNotation(name, letter, symbols), constraint)
        for name, constraint in program.constraints.items()
    ]
    rows += [line for variable in program.variables.values() for line in _variable_lines(variable)]
    lines += [LatexLine(r"\mathrm{s.t.}" if k == 0 else "", r.body, r.where, r.name) for k, r in enumerate(rows)]
    lines += [_function_line(program, name) for name in program.functions]
    return tuple(lines)


def _declared_line(block: BlockNotation, constraint: Constraint) -> LatexLine:
    """Return the line of a constraint with two sides, a condition or rows without a bound, as it was declared."""
    index = "i" if constraint.shape else ""
    body = " ".join(
        _RELATIONS[part] if isinstance(part, str) else format_entry(part, index if part.shape else "", block)
        for part in constraint.as_written
    )
    size = "" if not index else rf"{index} = 1, \ldots, {int(np.prod(constraint.shape))}"
    where = r",\ ".join(part for part in (size, _sign_definitions(block)) if part)
    return LatexLine("", body, where, upright_text(block.name))


def _constraint_line(block: BlockNotation, constraint: Constraint) -> LatexLine:
    """Return the line of a constraint, with the constant and negative terms moved to the right-hand side.

    If all terms are negative, the whole constraint is negated instead. A constraint with two sides or a condition is
    printed as declared (see `_declared_line`).
    """
    if constraint.compared is not None and (constraint.layout is not None or constraint.is_conditional):
        return _declared_line(block, constraint)
    expression = constraint.expression
    index = "i" if expression.shape else ""
    terms = terms_of(expression, index, block)
    constant = constant_of(expression, index, block)
    right = [_negate(constant)] if constant else []
    # Terms with the same factor stay together, on the side of the first of them.
    first = {term.factor: term.value for term in reversed(terms)}
    value = [first[term.factor] if term.factor else term.value for term in terms]
    left = [term for term, sign in zip(terms, value, strict=True) if sign > 0]
    moved = [_negate(term) for term, sign in zip(terms, value, strict=True) if sign <= 0]
    relation = "=" if constraint.equality else r"\geq"
    if not left and moved:
        left, moved, right = moved, [], [constant] if constant else []
        relation = "=" if constraint.equality else r"\leq"
    size = "" if not index else rf"{index} = 1, \ldots, {expression.size}"
    where = r",\ ".join(part for part in (size, _sign_definitions(block)) if part)
    return LatexLine("", f"{join_terms(left)} {relation} {join_terms(moved + right)}", where, upright_text(block.name))


def _negate(term: LatexTerm) -> LatexTerm:
    """Return the term with the opposite sign."""
    return LatexTerm(-term.value, term.factor, term.body)


def _sign_definitions(block: BlockNotation) -> str:
    """Return the LaTeX of "y in {-1, 1}^n" for each vector y of signs in the block, separated by commas."""
    return r",\ ".join(rf"{name} \in \{{-1, 1\}}^{{{size}}}" for name, size in block.signs.items())


def _sign_letter(program: Program) -> str:
    """Return the letter for vectors of signs: the first of y, s and t that is not a name in the program, or epsilon."""
    taken = {*program.variables, *program.functions, *program.parameters}
    return next((letter for letter in ("y", "s", "t") if letter not in taken), r"\varepsilon")


def _variable_lines(variable: Variable) -> list[LatexLine]:
    """Return the lines about a variable: the shape of a matrix, finite bounds, and integrality."""
    index = "i" if variable.shape else ""
    name = _entry_symbol(variable, index)
    where = rf"i = 1, \ldots, {variable.size}" if index else ""
    low, high = variable.lower, variable.upper
    integer = variable.integer_entries
    binary = bool(integer.any() and (integer & (low == 0) & (high == 1)).all())
    lines = []
    if variable.ndim > 1:
        size = r" \times ".join(map(str, variable.shape))
        lines.append(LatexLine("", rf"{variable_symbol(variable.name)} \in \mathbb{{R}}^{{{size}}}", ROW_MAJOR_REMARK))
    if binary:
        return [*lines, LatexLine("", rf"{name} \in \{{0, 1\}}", where)]
    if np.isfinite(low).any() or np.isfinite(high).any():
        below = f"{_format_bound(low, 'l', variable, index)} \\leq " if np.isfinite(low).any() else ""
        above = f" \\leq {_format_bound(high, 'u', variable, index)}" if np.isfinite(high).any() else ""
        only_low = f"{name} \\geq {_format_bound(low, 'l', variable, index)}"
        lines.append(LatexLine("", only_low if below and not above else f"{below}{name}{above}", where))
    if integer.any():
        some = where if integer.all() else rf"\text{{{int(integer.sum())} of }} {where}"
        lines.append(LatexLine("", rf"{name} \in \mathbb{{Z}}", some))
    return lines


def _format_bound(bound: Vector, letter: str, variable: Variable, index: str) -> str:
    """Return the LaTeX of a bound of a variable: a number if all entries are equal, otherwise `letter` as a symbol."""
    if (bound == bound[0]).all():
        return format_number(float(bound[0]))
    return f"{letter}^{{{variable_symbol(variable.name)}}}_{{{index}}}"


def _entry_symbol(leaf: Variable, index: str) -> str:
    """Return the LaTeX symbol of an entry of a variable; an empty index means the whole variable."""
    name = variable_symbol(leaf.name)
    return f"{{{name}}}_{{{index}}}" if index and "^" in name else f"{name}_{{{index}}}" if index else name


def _function_line(program: Program, name: str) -> LatexLine:
    """Return the line that defines a function by its kernel K, and by its dictionary of points z_j if it has one."""
    function = program.functions[name]
    f, kernel = latex_name(name), function.kernel.latex()
    if function.dictionary is None:
        return LatexLine("", rf"{f} \in \mathcal{{H}}_K", f"K(x, z) = {kernel}")
    size = function.dictionary.shape[0]
    body = rf"{f} = \sum_{{j=1}}^{{{size}}} a^{{{f}}}_j K(z_j, \cdot)"
    return LatexLine("", body, f"K(x, z) = {kernel}")
