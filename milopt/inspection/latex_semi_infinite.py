r"""LaTeX of a semi-infinite program as one program: the master, its family of rows, and the set of columns.

    \min_{d, \gamma}  \gamma
    s.t.  \sum_i d_i = 1
          \sum_i y_i h(B_i) d_i <= \gamma,   for all h in H
          h(B_i) = \pm \max_{x in B_i} u(x),   \sum_i |a^u_i| <= 1

The family is a function from a column to a row. Its row for a column of random numbers shows where the column occurs.
"""

from __future__ import annotations

import numpy as np

from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.inspection.latex import (
    coefficient_lines,
    constraint_line,
    format_declared,
    function_line,
    objective_line,
    sign_letter,
    variable_lines,
)
from milopt.inspection.latex_line import LatexLine
from milopt.inspection.latex_symbols import ArraySymbols, upright_text
from milopt.inspection.latex_terms import BlockNotation, format_entry


def semi_infinite_lines(problem: SemiInfinite) -> tuple[LatexLine, ...]:
    """Return the lines of a semi-infinite program: those of its master, the family of rows, and the set of columns."""
    master = problem.master
    symbols = ArraySymbols(master.named_constants)
    letter, family = sign_letter(master), problem.family
    own = BlockNotation("", letter, symbols)
    first = objective_line(master, own)
    column = np.random.default_rng(0).uniform(1.0, 2.0, len(problem.bags))
    block = BlockNotation(family.name, letter, symbols, column=column)
    row = LatexLine(
        "", format_declared(family(column), block), r"\text{for all } h \in \mathcal{H}", upright_text(family.name)
    )
    rows = [
        constraint_line(BlockNotation(name, letter, symbols), constraint)
        for name, constraint in master.constraints.items()
        if not name.startswith(f"{family.name}[")
    ]
    bounds = [line for variable in master.variables.values() for line in variable_lines(variable)]
    lines = [*rows, row, *bounds]
    lines = [LatexLine(r"\mathrm{s.t.}" if k == 0 else "", r.body, r.where, r.name) for k, r in enumerate(lines)]
    constants = coefficient_lines(symbols, letter, master.named_constants)
    return (first, *lines, *_column_lines(problem), *constants)


def _column_lines(problem: SemiInfinite) -> list[LatexLine]:
    r"""Return the lines that define the columns h: one line per oracle, \pm for two oracles that differ in the sign."""
    described = [_describe_oracle(problem, oracle) for oracle in problem.oracles]
    bodies = dict.fromkeys(body for body, _ in described)
    shown = []
    for body in bodies:
        negative = body.startswith("-")
        opposite = body[1:].lstrip() if negative else f"-{body}"
        if opposite not in bodies:
            shown.append(body)
        elif not negative:
            shown.append(rf"\pm {body}")
    lines = [LatexLine("", rf"h(B_{{i}}) = {body}", r"\text{defines } h \in \mathcal{H}") for body in shown]
    return [*lines, *dict.fromkeys(line for _, rest in described for line in rest)]


def _describe_oracle(problem: SemiInfinite, oracle: Oracle) -> tuple[str, list[LatexLine]]:
    """Return the column of an oracle as LaTeX, and the lines of the rows and functions of its program."""
    program, symbols = oracle.program, ArraySymbols()
    letter = sign_letter(program)
    column = format_entry(oracle.column(problem.bags), "i", BlockNotation("", letter, symbols))
    rows = [
        constraint_line(BlockNotation(name, letter, symbols), constraint)
        for name, constraint in program.constraints.items()
    ]
    rows += [line for variable in program.variables.values() for line in variable_lines(variable)]
    return column, [*rows, *(function_line(program, name) for name in program.functions)]
