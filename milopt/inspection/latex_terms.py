"""Conversion of expressions to sums of LaTeX terms, for entry `i` of a block.

A coefficient that is the same number in all rows is printed as a number, and a vector of signs +-1 as y_i. Other
vectors and general matrices get symbols with the names of the block and of the leaf (the variable, parameter, function
evaluation or atom that they multiply). A symbol stands for one array in the whole program (see `ArraySymbols`), with
the sign that the user wrote: the row `1.7 - y x >= 0` of `y * x <= 1.7` has -y in front of x, not a new vector.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector, Weight
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.declaration.programs.coefficient import Product
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import FunctionEvaluation, Parameter, Variable
from milopt.inspection.latex_coefficients import (
    BagSum,
    CoefficientKind,
    Elementwise,
    EntrySelection,
    GeneralMatrix,
    WeightedSum,
    classify,
)
from milopt.inspection.latex_symbols import ArraySymbols, format_number, index_after, latex_name, upright_text

MAX_LISTED_ENTRIES = 3
"""Largest number of different coefficients of a sum that is printed entry by entry."""
INSTANCE_INDEX = "x"
"""Index that stands for the instances x of a bag."""


@dataclass(frozen=True)
class LatexTerm:
    """Signed product of a number, a coefficient symbol and a body.

    Attributes
    ----------
    value : float
        Number in front of the term, with its sign.
    factor : str
        Symbol of a coefficient that differs between rows; empty if all rows have the same coefficient.
    body : str
        LaTeX of the leaf; empty for a constant.
    """

    value: float
    factor: str
    body: str


@dataclass
class BlockNotation:
    """Naming of the coefficients of one block of the program.

    Attributes
    ----------
    name : str
        Name of the constraint; empty for the objective.
    letter : str
        Letter of vectors of signs +-1.
    symbols : ArraySymbols
        Symbols of the whole program.
    signs : dict of str to int
        Size of each vector of signs in this block, by symbol.
    column : ndarray or None
        Values of a column h of a semi-infinite program, one per bag; coefficients that are proportional to it are
        printed as multiples of h(B_i).
    """

    name: str
    letter: str = "y"
    symbols: ArraySymbols = field(default_factory=ArraySymbols)
    signs: dict[str, int] = field(default_factory=dict)
    column: Vector | None = None

    def sign_symbol(self, signs: Vector, index: str, is_negated: bool) -> tuple[str, float]:
        """Return (symbol, sign) of an entry of a vector of signs: the entry is sign * symbol, with sign 1 or -1.

        The vector is also added to `self.signs`. For `is_negated`, see `ArraySymbols.symbol_of`.
        """
        name, sign = self.symbols.symbol_of(self.letter, "", signs, is_negated)
        self.signs[name] = signs.size
        return f"{name}_{{{index}}}", sign

    def without_name(self) -> BlockNotation:
        """Return a copy without the name of the block, so that symbols do not contain it."""
        return BlockNotation("", self.letter, self.symbols, self.signs)

    def without_column(self) -> BlockNotation:
        """Return a copy without the column, which shares the symbols and the vectors of signs."""
        return BlockNotation(self.name, self.letter, self.symbols, self.signs)

    def superscript(self, leaf: str) -> str:
        """Return the superscript of coefficients of a leaf: `slack` in the objective, `margin,slack` in `margin`."""
        return ",".join(part for part in (upright_text(self.name) if self.name else "", leaf) if part)

    def coefficient(self, letter: str, leaf: str, index: str, array: Any, is_negated: bool) -> tuple[str, float]:
        """Return (symbol, sign) of an entry of a coefficient array: the entry is sign * symbol, with sign 1 or -1."""
        name, sign = self.symbols.symbol_of(letter, self.superscript(leaf), array, is_negated)
        return f"{name}_{{{index}}}", sign


def terms_of(expression: Expression, index: str, block: BlockNotation) -> list[LatexTerm]:
    """Return the terms of the entry `index` of an expression without the constant; `index` is "" for a scalar."""
    terms: list[LatexTerm] = []
    for leaf, coefficient in expression.terms:
        is_scalar, is_negated = not expression.shape, coefficient.is_negated
        if is_scalar and _is_short_sum(leaf, coefficient.matrix):
            row = sp.coo_array(coefficient.matrix)
            terms += [
                LatexTerm(float(value), "", entry_of(leaf, str(column + 1), block))
                for column, value in zip(row.coords[1], row.data, strict=True)
                if value
            ]
        elif coefficient.matrix.count_nonzero():
            terms.append(_constant_term(leaf, coefficient.matrix, index, block, is_scalar, is_negated))
        terms += [
            _parameter_term(leaf, product, index, block, is_scalar, is_negated) for product in coefficient.products
        ]
    return terms


def _is_short_sum(leaf: Leaf, row: sp.csr_array) -> bool:
    """Return True if the sum of a scalar expression over entries of a leaf is printed entry by entry.

    Such a sum has few entries of a variable or parameter. The sum of all entries with equal coefficients is shorter.
    """
    if not isinstance(leaf, (Variable, Parameter)) or not leaf.shape:
        return False
    values = row.toarray().ravel()
    return bool(0 < np.count_nonzero(values) <= MAX_LISTED_ENTRIES and (values != values[0]).any())


def constant_of(expression: Expression, index: str, block: BlockNotation) -> LatexTerm | None:
    """Return the constant of one entry of an expression as a term, or None if the constant of all entries is zero."""
    if not expression.constant.any():
        return None
    is_negated = expression.constant_is_negated
    value, factor = _coefficient_entry(expression.constant, "g" if block.name else "c", "", index, block, is_negated)
    return LatexTerm(value, factor, "")


def join_terms(terms: list[LatexTerm]) -> str:
    """Return the LaTeX text of the sum of terms; terms with the same factor are put in one bracket."""
    text = ""
    for shared in dict.fromkeys(term.factor for term in terms):
        group = [term for term in terms if term.factor == shared]
        if shared and len(group) > 1:
            flipped = group[0].value < 0
            inner = [LatexTerm(-t.value if flipped else t.value, "", t.body) for t in group]
            pieces = [f"{'-' if flipped else '+'} {shared} \\left({join_terms(inner)}\\right)"]
        else:
            pieces = [_format_term(term) for term in group]
        text = " ".join([text, *pieces]).strip()
    if text.startswith("- "):
        return f"-{text[2:]}"
    return text.removeprefix("+ ") or "0"


def format_entry(expression: Expression, index: str, block: BlockNotation) -> str:
    """Return the LaTeX text of one entry of an expression, with its constant."""
    constant = constant_of(expression, index, block)
    return join_terms(terms_of(expression, index, block) + ([constant] if constant else []))


def _format_term(term: LatexTerm) -> str:
    """Return the LaTeX text of a term, with its sign in front."""
    size = abs(term.value)
    bare = term.factor or term.body
    shown = "" if size == 1 and bare else format_number(size)
    return ("- " if term.value < 0 else "+ ") + " ".join(part for part in (shown, term.factor, term.body) if part)


def _coefficient_entry(
    values: Vector, letter: str, leaf: str, index: str, block: BlockNotation, is_negated: bool = False
) -> tuple[float, str]:
    """Return (number, symbol) whose product is the entry `index` of a vector; symbol is "" if all entries are equal.

    If the entries differ in more than their signs, `letter` and `leaf` name the symbol.
    """
    if (values == values[0]).all():
        return float(values[0]), ""
    if block.column is not None and values.shape == block.column.shape:
        ratio = np.asarray(values / block.column)
        if _differ_only_in_sign(ratio) or np.ptp(ratio) <= 1e-12 * abs(ratio[0]):
            signs = np.sign(ratio) * abs(ratio[0])
            value, factor = _coefficient_entry(signs, letter, leaf, index, block.without_column(), is_negated)
            return value, " ".join(part for part in (factor, f"h(B_{{{index}}})") if part)
    if _differ_only_in_sign(values):
        name, sign = block.sign_symbol(np.sign(values), index, is_negated)
        return sign * float(np.abs(values[0])), name
    name, sign = block.coefficient(letter, leaf, index, values, is_negated)
    return sign, name


def _differ_only_in_sign(values: Vector) -> bool:
    """Return True if the entries are finite and differ, but only in their signs (up to rounding errors)."""
    size = np.abs(values)
    if not np.isfinite(size).all():
        return False
    return bool(np.ptp(values) > 0 and np.ptp(size) <= 1e-12 * size.max())


def _constant_term(
    leaf: Leaf, matrix: sp.csr_array, index: str, block: BlockNotation, is_scalar: bool, is_negated: bool
) -> LatexTerm:
    """Return the term of a leaf whose coefficient matrix does not depend on parameters."""
    kind = classify(matrix, not leaf.shape, is_scalar, leaf.bags)
    letter = "a" if block.name else "c"
    name = leaf_name(leaf)
    if isinstance(kind, GeneralMatrix):
        inner = index_after(index)
        if (named := block.symbols.named_rows(matrix)) and index:
            symbol, signs = named
            value, factor = _coefficient_entry(signs, letter, name, index, block, is_negated)
            return LatexTerm(
                value, factor, rf"\sum_{{{inner}}} {symbol}_{{{index}{inner}}} {entry_of(leaf, inner, block)}"
            )
        A, sign = block.coefficient("A", name, f"{index}{inner}", matrix, is_negated)
        return LatexTerm(sign, "", rf"\sum_{{{inner}}} {A} {entry_of(leaf, inner, block)}")
    if isinstance(kind, WeightedSum):
        inner = index_after(index)
        value, factor = _coefficient_entry(kind.values, letter, name, inner, block, is_negated)
        body = entry_of(leaf, inner, block)
        return LatexTerm(value, "", rf"\sum_{{{inner}}} {factor} {body}".replace("  ", " "))
    value, factor = _coefficient_entry(kind.values, letter, name, index, block, is_negated)
    return LatexTerm(value, factor, _leaf_entry(leaf, kind, index, block))


def _leaf_entry(leaf: Leaf, kind: CoefficientKind, index: str, block: BlockNotation) -> str:
    """Return the LaTeX of the factor after the coefficient of row i: the leaf summed over bag i, its entry pi(i) or i.

    `index` is the letter i, and `kind` selects one of these three cases.
    """
    if isinstance(kind, BagSum):
        total = rf"\sum_{{x \in B_{index}}} {entry_of(leaf, INSTANCE_INDEX, block)}"
        return rf"\frac{{1}}{{|B_{index}|}} {total}" if kind.mean else total
    if isinstance(kind, EntrySelection):
        return entry_of(leaf, rf"\pi({index})", block)
    assert isinstance(kind, Elementwise)
    return entry_of(leaf, index, block)


def _parameter_term(
    leaf: Leaf, product: Product, index: str, block: BlockNotation, is_scalar: bool, is_negated: bool
) -> LatexTerm:
    """Return the term of L diag(e(p)) R leaf with parameters p, e = `product.scale`, L = `product.left`, R = `.right`.

    The term is printed elementwise or as a sum if L and R permit, otherwise as a general matrix A(p) times the leaf.
    """
    left = classify(product.left, False, is_scalar, None)
    right = classify(product.right, not leaf.shape, False, leaf.bags)
    inner = index_after(index) if is_scalar and product.scale.shape else index
    readable = isinstance(left, WeightedSum if is_scalar else Elementwise) and not isinstance(
        right, (GeneralMatrix, WeightedSum)
    )
    if not readable or isinstance(left, GeneralMatrix) or isinstance(right, (GeneralMatrix, WeightedSum)):
        column = index_after(index)
        names = ",".join(sorted({leaf_name(p) for p, _ in product.scale.terms}))
        A = f"A^{{{block.superscript(leaf_name(leaf))}}}_{{{index}{column}}}"
        return LatexTerm(1.0, "", rf"\sum_{{{column}}} {A}({names}) {entry_of(leaf, column, block)}")
    scale = terms_of(product.scale, inner, block)
    constant = constant_of(product.scale, inner, block)
    parts = scale + ([constant] if constant else [])
    factor = join_terms(parts) if len(parts) == 1 else rf"\left({join_terms(parts)}\right)"
    body = _leaf_entry(leaf, right, inner, block)
    pieces = []
    value = 1.0
    for values, minus in ((left.values, is_negated), (right.values, False)):
        number_part, name = _coefficient_entry(values, "a" if block.name else "c", leaf_name(leaf), inner, block, minus)
        value *= number_part
        pieces.append(name)
    if factor.startswith("-"):
        value, factor = -value, factor[1:].lstrip()
    text = " ".join(part for part in (*pieces, factor, body) if part)
    return LatexTerm(value, "", rf"\sum_{{{inner}}} {text}" if is_scalar and inner != index else text)


def leaf_name(leaf: Leaf) -> str:
    """Return the LaTeX name of a leaf for the superscript of its coefficients."""
    if isinstance(leaf, (Variable, Parameter)):
        return variable_symbol(leaf.name)
    function = getattr(leaf, "function", None)
    if function is not None:
        return latex_name(function.name)
    return upright_text(getattr(leaf, "word", "atom"))


def variable_symbol(name: str) -> str:
    """Return the LaTeX symbol of a variable; `f.coefficients`, those of a function f over its dictionary, are a^f."""
    function, dot, rest = name.rpartition(".")
    return f"a^{{{latex_name(function)}}}" if dot and rest == "coefficients" else latex_name(name)


def entry_of(leaf: Leaf, index: str, block: BlockNotation) -> str:
    """Return the LaTeX text of one entry of a leaf."""
    if isinstance(leaf, FunctionEvaluation):
        point = INSTANCE_INDEX if index == INSTANCE_INDEX else f"x_{{{index}}}"
        if isinstance(leaf.function.kernel, BagKernel):
            point = f"B_{{{index}}}"
        return f"{latex_name(leaf.function.name)}({point})"
    if isinstance(leaf, Atom):
        return leaf.latex(index, RowNotation(leaf, block))
    name = variable_symbol(leaf.name) if isinstance(leaf, (Variable, Parameter)) else upright_text(leaf.describe())
    if not leaf.shape or not index:
        return name
    return f"{{{name}}}_{{{index}}}" if "^" in name else f"{name}_{{{index}}}"


@dataclass(frozen=True)
class RowNotation:
    """LaTeX notation of the argument and the constants of an atom, for `Atom.latex`; all methods return LaTeX text."""

    atom: Atom
    block: BlockNotation
    instance: str = INSTANCE_INDEX

    def argument(self, index: str) -> str:
        """Return one entry of the argument, or the symbol of the function if the argument is a function."""
        function = self.atom.function
        return (
            latex_name(function.name) if function is not None else format_entry(self.atom.argument, index, self.block)
        )

    def bracketed(self, index: str) -> str:
        """Return one entry of the argument, in brackets unless it is a single term."""
        argument, text = self.atom.argument, self.argument(index)
        single = len(argument.terms) == 1 and not argument.constant.any()
        return text if single else rf"\left({text}\right)"

    def part(self, expression: Expression, index: str) -> str:
        """Return one entry of another expression that the atom contains."""
        return format_entry(expression, index, self.block)

    def next_index(self, index: str) -> str:
        """Return the index letter after `index`, or "" if the argument of the atom is a scalar."""
        return index_after(index) if self.atom.argument.shape else ""

    def number(self, value: float) -> str:
        """Return a number as text."""
        return format_number(value)

    def numbers(self, values: Vector, letter: str, index: str) -> str:
        """Return one of several numbers: "" if all are 1, the number if all are equal, otherwise a symbol."""
        value, factor = _coefficient_entry(values, letter, "", index, self.block.without_name())
        return " ".join(part for part in ("" if value == 1 else format_number(value), factor) if part)

    def matrix(self, values: Weight, letter: str, row: str, column: str) -> str:
        """Return one entry of a matrix as a symbol with the indices `row` and `column`."""
        name, sign = self.block.symbols.symbol_of(letter, "", values)
        return f"{'-' if sign < 0 else ''}{name}_{{{row}{column}}}"
