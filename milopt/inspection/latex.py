r"""LaTeX of a program in block form: objective, one line per constraint block, bounds, and definitions of symbols.

    \min_{f, b, slack}  1/2 ||f||^2 + sum_i slack_i
    s.t.  y_i (max_{x in B_i} f(x) + b) + slack_i >= 1,   i = 1, ..., 92    (margin)

Expressions store coefficient matrices, not the text of the declaration. A vector with entries +-1, such as the labels,
is therefore recognised by its values and printed as y.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from milopt.arrays import Vector
from milopt.declaration.programs.expression import IMPLIES, Constraint, Expression, Leaf, as_expression
from milopt.declaration.programs.leaves import Variable
from milopt.declaration.programs.named_constant import NamedConstant
from milopt.declaration.programs.program import Program
from milopt.inspection.latex_line import LatexLine, align_lines
from milopt.inspection.latex_symbols import ArraySymbols, format_number, latex_name, upright_text
from milopt.inspection.latex_terms import (
    BlockNotation,
    LatexTerm,
    constant_of,
    format_entry,
    join_terms,
    terms_of,
    variable_symbol,
)
from milopt.inspection.symbolic_latex import lines_with_symbols

_RELATIONS_IN_LATEX = {"<=": r"\leq", ">=": r"\geq", "==": "=", IMPLIES: r"= 1 \implies"}
"""LaTeX of the relations between expressions, by their spelling in the declaration."""
_REVERSED_RELATIONS = {"<=": ">=", ">=": "<=", "==": "=="}
"""Relations with their sides exchanged."""

MAX_LISTED_CONSTANTS = 6
"""Largest number of entries of a vector of constants that is printed entry by entry."""
ROW_MAJOR_REMARK = r"\text{entries numbered row after row}"
"""Remark that the entries of a matrix are numbered row by row, because terms have one index."""


def to_latex(program: Program) -> str:
    """Return the LaTeX text of the program as an `aligned` environment, with hyper-parameters as symbols."""
    return align_lines(lines_with_symbols(program, latex_lines))


def latex_lines(program: Program, symbols: ArraySymbols | None = None) -> tuple[LatexLine, ...]:
    """Return the lines of the program; the array of each printed symbol is added to `symbols`, if that is given."""
    symbols = ArraySymbols(program.named_constants) if symbols is None else symbols
    letter = sign_letter(program)
    lines = [objective_line(program, BlockNotation("", letter, symbols))]
    rows = [
        constraint_line(BlockNotation(name, letter, symbols), constraint)
        for name, constraint in program.constraints.items()
    ]
    rows += [line for variable in program.variables.values() for line in variable_lines(variable)]
    lines += [LatexLine(r"\mathrm{s.t.}" if k == 0 else "", r.body, r.where, r.name) for k, r in enumerate(rows)]
    lines += [function_line(program, name) for name in program.functions]
    return (*lines, *coefficient_lines(symbols, letter, program.named_constants))


def coefficient_lines(symbols: ArraySymbols, letter: str, named: Mapping[str, NamedConstant]) -> list[LatexLine]:
    """Return a line that defines each symbol of constants, besides vectors of signs y.

    A named constant has its meaning. A vector has one value per sign of y, or a few values, or else is stated to be
    constant, like a matrix.
    """
    lines = [_meaning_line(symbol, named[symbol]) for symbol in symbols.used_names]
    arrays = symbols.arrays_by_symbol()
    signs = {name: array for name, array in arrays.items() if name.rstrip("'") == letter}
    for name, array in arrays.items():
        if name not in signs and isinstance(array, np.ndarray) and array.ndim == 1:
            lines.append(_vector_line(name, array, signs))
        elif name not in signs:
            lines.append(_shape_line(name, array.shape))
    return lines


def _meaning_line(symbol: str, constant: NamedConstant) -> LatexLine:
    """Return the line that defines a named constant, and its kernel if it has one."""
    index = "ij"[: constant.values.ndim]
    where = "" if constant.kernel is None else f"K(x, z) = {constant.kernel.latex()}"
    return LatexLine("", f"{symbol}_{{{index}}} = {constant.meaning}", where)


def _vector_line(name: str, array: Vector, signs: Mapping[str, Vector]) -> LatexLine:
    """Return the line that defines a vector: by the sign of y, by its few entries, or as a vector of constants."""
    for sign_name, sign in signs.items():
        if array.shape == sign.shape:
            both = [np.unique(array[sign == value]) for value in (1, -1)]
            if [values.size for values in both] == [1, 1]:
                text = r",\ ".join(
                    rf"{format_number(float(values[0]))} \text{{ if }} {sign_name}_{{i}} = {value}"
                    for values, value in zip(both, (1, -1), strict=True)
                )
                return LatexLine("", f"{name}_{{i}} = {text}")
    if array.size <= MAX_LISTED_CONSTANTS:
        entries = r",\ ".join(map(format_number, array.tolist()))
        return LatexLine("", rf"{name} = \left({entries}\right)")
    return _shape_line(name, array.shape)


def _shape_line(name: str, shape: tuple[int, ...]) -> LatexLine:
    """Return the line that states the shape of constants."""
    size = r" \times ".join(map(str, shape))
    return LatexLine("", rf"{name} \in \mathbb{{R}}^{{{size}}}", r"\text{constants}")


def objective_line(program: Program, block: BlockNotation) -> LatexLine:
    """Return the line of the objective, with the unknowns below the verb."""
    verb = r"\max" if program.maximizes else r"\min"
    unknowns = [latex_name(name) for name in program.functions]
    unknowns += [variable_symbol(name) for name in program.variables if not name.endswith(".coefficients")]
    objective = format_entry(program.objective, "", block)
    return LatexLine(f"{verb}_{{{', '.join(unknowns)}}}" if unknowns else verb, objective, _sign_definitions(block))


def constraint_line(block: BlockNotation, constraint: Constraint) -> LatexLine:
    """Return the line of a constraint as it was declared.

    If the declaration is not known, or if its sides have different shapes, the terms of the rows `expression >= 0` are
    printed on the sides where they are positive (see `_rearranged_sides`).
    """
    size = int(np.prod(constraint.shape))
    is_declared = constraint.compared is not None and _sides_match_rows(constraint)
    body = format_declared(constraint, block) if is_declared else _rearranged_sides(block, constraint)
    if not is_declared:
        size = constraint.expression.size
    index = "i" if (constraint.shape if is_declared else constraint.expression.shape) else ""
    range_text = "" if not index else rf"{index} = 1, \ldots, {size}"
    where = r",\ ".join(part for part in (range_text, _sign_definitions(block)) if part)
    return LatexLine("", body, where, upright_text(block.name))


def format_declared(constraint: Constraint, block: BlockNotation) -> str:
    r"""Return a comparison as it was declared, such as `y_i x_i \\leq 1 - z_i`."""
    index = "i" if constraint.shape else ""
    parts = constraint.as_written
    if (
        len(parts) == 3
        and _is_single_leaf(parts[0])
        and not _is_single_leaf(parts[2])
        and as_expression(parts[2]).terms
    ):
        # Python evaluates `expression <= variable` as `variable >= expression`.
        parts = (parts[2], _REVERSED_RELATIONS[str(parts[1])], parts[0])
    return " ".join(
        _RELATIONS_IN_LATEX[part] if isinstance(part, str) else _format_side(part, index if part.shape else "", block)
        for part in parts
    )


def _is_single_leaf(part: Expression | str) -> bool:
    """Return True if a side of a comparison is a single variable, parameter, function value or atom."""
    return isinstance(part, Leaf)


def _format_side(side: Expression, index: str, block: BlockNotation) -> str:
    """Return one side of a comparison; a positive constant comes first if the side would begin with a minus."""
    terms, constant = terms_of(side, index, block), constant_of(side, index, block)
    if constant is None:
        return join_terms(terms)
    is_first = constant.value > 0 and bool(terms) and terms[0].value < 0
    return join_terms([constant, *terms] if is_first else [*terms, constant])


def _sides_match_rows(constraint: Constraint) -> bool:
    """Return True if entry i of every side belongs to row i: a side is a scalar or has the shape of the constraint."""
    if constraint.layout is not None or constraint.is_conditional:
        return True
    sides = [part for part in constraint.compared or () if not isinstance(part, str)]
    return all(not side.shape or side.shape == constraint.shape for side in sides)


def _rearranged_sides(block: BlockNotation, constraint: Constraint) -> str:
    """Return the rows of a constraint, with the constant and negative terms moved to the right-hand side.

    If all terms are negative, the whole constraint is negated instead.
    """
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
    return f"{join_terms(left)} {relation} {join_terms(moved + right)}"


def _negate(term: LatexTerm) -> LatexTerm:
    """Return the term with the opposite sign."""
    return LatexTerm(-term.value, term.factor, term.body)


def _sign_definitions(block: BlockNotation) -> str:
    """Return the LaTeX of "y in {-1, 1}^n" for each vector y of signs in the block, separated by commas."""
    return r",\ ".join(rf"{name} \in \{{-1, 1\}}^{{{size}}}" for name, size in block.signs.items())


def sign_letter(program: Program) -> str:
    """Return the letter for vectors of signs: the first of y, s and t that is not a name in the program, or epsilon."""
    taken = {*program.variables, *program.functions, *program.parameters}
    return next((letter for letter in ("y", "s", "t") if letter not in taken), r"\varepsilon")


def variable_lines(variable: Variable) -> list[LatexLine]:
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


def function_line(program: Program, name: str) -> LatexLine:
    """Return the line that defines a function by its kernel K, and by its dictionary of points z_j if it has one."""
    function = program.functions[name]
    f, kernel = latex_name(name), function.kernel.latex()
    if function.dictionary is None:
        return LatexLine("", rf"{f} \in \mathcal{{H}}_K", f"K(x, z) = {kernel}")
    size = function.dictionary.shape[0]
    body = rf"{f} = \sum_{{j=1}}^{{{size}}} a^{{{f}}}_j K(z_j, \cdot)"
    return LatexLine("", body, f"K(x, z) = {kernel}")
