r"""A program in block form as LaTeX: the objective, one line a constraint block, bounds, and what the symbols are.

    \min_{f, b, slack}  1/2 ||f||^2 + sum_i slack_i
    s.t.  y_i (max_{x in B_i} f(x) + b) + slack_i >= 1,   i = 1, ..., 92    (margin)

Expressions keep coefficient matrices and not the words in which they were written, so that labels come out as signs y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.programs.expression import IMPLIES, Constraint
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.program import Program
from milopt.inspection.latex_symbols import Symbols, number, symbol, upright
from milopt.inspection.latex_terms import Block, Term, constant_of, joined, terms_of, variable_symbol, whole

_WORDS = {"<=": r"\leq", ">=": r"\geq", "==": "=", IMPLIES: r"= 1 \implies"}
"""What stands between expressions, as it is written and in LaTeX."""

ROW_AFTER_ROW = r"\text{entries numbered row after row}"
"""How the entries of a matrix are numbered, since terms have one index."""


@dataclass(frozen=True)
class Line:
    """One line of the program: `\\min ...`, a block with its rows and its name, or a remark."""

    head: str
    body: str
    where: str = ""
    name: str = ""

    def __str__(self) -> str:
        parts = (self.head, self.body + ("," if self.where else ""), self.where, self.name and f"({self.name})")
        return r" \quad ".join(part for part in parts if part)


def to_latex(program: Program) -> str:
    """An `aligned` environment."""
    rows = []
    for line in latex_lines(program):
        name = f"({line.name})" if line.name else ""
        cells = [line.head + r" \quad" if line.head else "", line.body, "", line.where, "", name]
        while cells and not cells[-1]:
            cells.pop()
        rows.append(" & ".join(cells).replace(" &  & ", " && "))
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def latex_lines(program: Program, symbols: Symbols | None = None) -> tuple[Line, ...]:
    """Return the lines one by one; `symbols`, if given, then holds the array behind each symbol."""
    symbols = Symbols() if symbols is None else symbols
    verb = r"\max" if program.maximizes else r"\min"
    unknowns = [symbol(name) for name in program.functions]
    unknowns += [variable_symbol(name) for name in program.variables if not name.endswith(".coefficients")]
    letter = _sign_letter(program)
    own = Block("", letter, symbols)
    objective = whole(program.objective, "", own)
    lines = [Line(f"{verb}_{{{', '.join(unknowns)}}}" if unknowns else verb, objective, _signs(own))]
    rows = [_constraint(Block(name, letter, symbols), constraint) for name, constraint in program.constraints.items()]
    rows += [line for variable in program.variables.values() for line in _bounds(variable)]
    lines += [Line(r"\mathrm{s.t.}" if k == 0 else "", r.body, r.where, r.name) for k, r in enumerate(rows)]
    lines += [_function(program, name) for name in program.functions]
    return tuple(lines)


def _as_written(block: Block, constraint: Constraint) -> Line:
    """A constraint with two sides, absent rows or a condition, in the order in which it was written."""
    index = "i" if constraint.shape else ""
    body = " ".join(
        _WORDS[part] if isinstance(part, str) else whole(part, index if part.shape else "", block)
        for part in constraint.as_written
    )
    size = "" if not index else rf"{index} = 1, \ldots, {int(np.prod(constraint.shape))}"
    where = r",\ ".join(part for part in (size, _signs(block)) if part)
    return Line("", body, where, upright(block.name))


def _constraint(block: Block, constraint: Constraint) -> Line:
    """Terms with a minus on the other side, constants on the right."""
    if constraint.compared is not None and (constraint.layout is not None or constraint.is_conditional):
        return _as_written(block, constraint)
    expression = constraint.expression
    index = "i" if expression.shape else ""
    terms = terms_of(expression, index, block)
    constant = constant_of(expression, index, block)
    right = [_negated(constant)] if constant else []
    # Terms that share a factor stay together, on the side of the first one.
    first = {term.factor: term.value for term in reversed(terms)}
    value = [first[term.factor] if term.factor else term.value for term in terms]
    left = [term for term, sign in zip(terms, value, strict=True) if sign > 0]
    moved = [_negated(term) for term, sign in zip(terms, value, strict=True) if sign <= 0]
    relation = "=" if constraint.equality else r"\geq"
    if not left and moved:
        left, moved, right = moved, [], [constant] if constant else []
        relation = "=" if constraint.equality else r"\leq"
    size = "" if not index else rf"{index} = 1, \ldots, {expression.size}"
    where = r",\ ".join(part for part in (size, _signs(block)) if part)
    return Line("", f"{joined(left)} {relation} {joined(moved + right)}", where, upright(block.name))


def _negated(term: Term) -> Term:
    return Term(-term.value, term.factor, term.body)


def _signs(block: Block) -> str:
    """y in {-1, 1}^n, for each vector of signs."""
    return r",\ ".join(rf"{name} \in \{{-1, 1\}}^{{{size}}}" for name, size in block.signs.items())


def _sign_letter(program: Program) -> str:
    """What vectors of signs are called: y, unless the program calls something else so."""
    taken = {*program.variables, *program.functions, *program.parameters}
    return next((letter for letter in ("y", "s", "t") if letter not in taken), r"\varepsilon")


def _bounds(variable: Variable) -> list[Line]:
    index = "i" if variable.shape else ""
    name = _entry_symbol(variable, index)
    where = rf"i = 1, \ldots, {variable.size}" if index else ""
    low, high = variable.lower, variable.upper
    integer = variable.integer_entries
    binary = bool(integer.any() and (integer & (low == 0) & (high == 1)).all())
    lines = []
    if variable.ndim > 1:
        size = r" \times ".join(map(str, variable.shape))
        lines.append(Line("", rf"{variable_symbol(variable.name)} \in \mathbb{{R}}^{{{size}}}", ROW_AFTER_ROW))
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
    if (bound == bound[0]).all():
        return number(float(bound[0]))
    return f"{letter}^{{{variable_symbol(variable.name)}}}_{{{index}}}"


def _entry_symbol(leaf: Variable, index: str) -> str:
    name = variable_symbol(leaf.name)
    return f"{{{name}}}_{{{index}}}" if index and "^" in name else f"{name}_{{{index}}}" if index else name


def _function(program: Program, name: str) -> Line:
    function = program.functions[name]
    f, kernel = symbol(name), function.kernel.latex()
    if function.dictionary is None:
        return Line("", rf"{f} \in \mathcal{{H}}_K", f"K(x, z) = {kernel}")
    size = function.dictionary.shape[0]
    body = rf"{f} = \sum_{{j=1}}^{{{size}}} a^{{{f}}}_j K(z_j, \cdot)"
    return Line("", body, f"K(x, z) = {kernel}")
