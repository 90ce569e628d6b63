"""Expressions as sums of LaTeX terms, in the entry `i` of a block.

Coefficients that are one number stay numbers; signs +-1 become a vector y; numbers that differ become a vector named
after its block and leaf, a general matrix likewise. One symbol is one array in the whole program (`Symbols`), and its
sign is the one that the user wrote: the row `1.7 - y x >= 0` of `y * x <= 1.7` has -y in front of x, not a new vector.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Vector
from milopt.declaration.atoms.atom import Atom, Weight
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.declaration.programs.coefficient import Product
from milopt.declaration.programs.expression import Expression, Leaf
from milopt.declaration.programs.leaves import Evaluation, Parameter, Variable
from milopt.inspection.latex_coefficients import Chosen, EntryByEntry, Full, OverBags, Reading, Weighted, read
from milopt.inspection.latex_symbols import Symbols, index_after, number, symbol, upright

INSTANCE = "x"
"""The index of expressions over the instances of a bag."""


@dataclass(frozen=True)
class Term:
    """A signed product: number, coefficient symbol, body."""

    value: float
    """The number in front, its sign included."""
    factor: str
    """A symbol that differs from row to row; empty when the number says it all."""
    body: str


@dataclass
class Block:
    """The naming of one block: what its coefficients are called, and which sign vectors it has."""

    name: str
    """Empty for the objective."""
    letter: str = "y"
    """What a vector of signs is called."""
    symbols: Symbols = field(default_factory=Symbols)
    """Of the whole program."""
    signs: dict[str, int] = field(default_factory=dict)
    """The vectors of signs that occur in this block: symbol and size."""

    def sign_symbol(self, signs: Vector, index: str, is_negated: bool) -> tuple[str, float]:
        """Return the symbol of an entry of a vector of signs, and 1 or -1 so that their product is the entry."""
        name, sign = self.symbols.named(self.letter, "", signs, is_negated)
        self.signs[name] = signs.size
        return f"{name}_{{{index}}}", sign

    def unnamed(self) -> Block:
        """Return the same for symbols that are not named after the block."""
        return Block("", self.letter, self.symbols, self.signs)

    def superscript(self, leaf: str) -> str:
        """Return what coefficients of a leaf are named after: slack in the objective, (margin,slack) in a block."""
        return ",".join(part for part in (upright(self.name) if self.name else "", leaf) if part)

    def coefficient(self, letter: str, leaf: str, index: str, array: Any, is_negated: bool) -> tuple[str, float]:
        """Return the symbol of an entry of a coefficient array, and 1 or -1 so that their product is the entry."""
        name, sign = self.symbols.named(letter, self.superscript(leaf), array, is_negated)
        return f"{name}_{{{index}}}", sign


def terms_of(expression: Expression, index: str, block: Block) -> list[Term]:
    """The terms of one entry of an expression, its constant left out; index "" for a scalar."""
    found: list[Term] = []
    for leaf, coefficient in expression.terms:
        is_scalar, is_negated = not expression.shape, coefficient.is_negated
        if coefficient.matrix.count_nonzero():
            found.append(_term(leaf, coefficient.matrix, index, block, is_scalar, is_negated))
        found += [_product(leaf, product, index, block, is_scalar, is_negated) for product in coefficient.products]
    return found


def constant_of(expression: Expression, index: str, block: Block) -> Term | None:
    """The constant entry; None when it is zero."""
    if not expression.constant.any():
        return None
    is_negated = expression.constant_is_negated
    value, factor = _entry(expression.constant, "g" if block.name else "c", "", index, block, is_negated)
    return Term(value, factor, "")


def joined(terms: list[Term]) -> str:
    """The sum; terms that share a factor in one bracket."""
    text = ""
    for shared in dict.fromkeys(term.factor for term in terms):
        group = [term for term in terms if term.factor == shared]
        if shared and len(group) > 1:
            flipped = group[0].value < 0
            inner = [Term(-t.value if flipped else t.value, "", t.body) for t in group]
            pieces = [f"{'-' if flipped else '+'} {shared} \\left({joined(inner)}\\right)"]
        else:
            pieces = [_signed(term) for term in group]
        text = " ".join([text, *pieces]).strip()
    if text.startswith("- "):
        return f"-{text[2:]}"
    return text.removeprefix("+ ") or "0"


def whole(expression: Expression, index: str, block: Block) -> str:
    """One entry of an expression, constant included."""
    constant = constant_of(expression, index, block)
    return joined(terms_of(expression, index, block) + ([constant] if constant else []))


def _signed(term: Term) -> str:
    size = abs(term.value)
    bare = term.factor or term.body
    shown = "" if size == 1 and bare else number(size)
    return ("- " if term.value < 0 else "+ ") + " ".join(part for part in (shown, term.factor, term.body) if part)


def _entry(
    values: Vector, letter: str, leaf: str, index: str, block: Block, is_negated: bool = False
) -> tuple[float, str]:
    """(number, symbol) for a vector of coefficients, entry by entry."""
    if (values == values[0]).all():
        return float(values[0]), ""
    if _is_signed(values):
        name, sign = block.sign_symbol(np.sign(values), index, is_negated)
        return sign * float(np.abs(values[0])), name
    name, sign = block.coefficient(letter, leaf, index, values, is_negated)
    return sign, name


def _is_signed(values: Vector) -> bool:
    """Whether entries differ in their signs alone."""
    size = np.abs(values)
    if not np.isfinite(size).all():
        return False
    return bool(np.ptp(values) > 0 and np.ptp(size) <= 1e-12 * size.max())


def _term(leaf: Leaf, matrix: sp.csr_array, index: str, block: Block, is_scalar: bool, is_negated: bool) -> Term:
    reading = read(matrix, not leaf.shape, is_scalar, leaf.bags)
    letter = "a" if block.name else "c"
    name = leaf_name(leaf)
    if isinstance(reading, Full):
        inner = index_after(index)
        A, sign = block.coefficient("A", name, f"{index}{inner}", matrix, is_negated)
        return Term(sign, "", rf"\sum_{{{inner}}} {A} {entry_of(leaf, inner, block)}")
    if isinstance(reading, Weighted):
        inner = index_after(index)
        value, factor = _entry(reading.values, letter, name, inner, block, is_negated)
        body = entry_of(leaf, inner, block)
        return Term(value, "", rf"\sum_{{{inner}}} {factor} {body}".replace("  ", " "))
    value, factor = _entry(reading.values, letter, name, index, block, is_negated)
    return Term(value, factor, _body(leaf, reading, index, block))


def _body(leaf: Leaf, reading: Reading, index: str, block: Block) -> str:
    if isinstance(reading, OverBags):
        total = rf"\sum_{{x \in B_{index}}} {entry_of(leaf, INSTANCE, block)}"
        return rf"\frac{{1}}{{|B_{index}|}} {total}" if reading.mean else total
    if isinstance(reading, Chosen):
        return entry_of(leaf, rf"\pi({index})", block)
    assert isinstance(reading, EntryByEntry)
    return entry_of(leaf, index, block)


def _product(leaf: Leaf, product: Product, index: str, block: Block, is_scalar: bool, is_negated: bool) -> Term:
    """L diag(e(p)) R leaf: entry by entry, or summed over entries, or as a matrix that depends on parameters."""
    left = read(product.left, False, is_scalar, None)
    right = read(product.right, not leaf.shape, False, leaf.bags)
    inner = index_after(index) if is_scalar and product.scale.shape else index
    readable = isinstance(left, Weighted if is_scalar else EntryByEntry) and not isinstance(right, (Full, Weighted))
    if not readable or isinstance(left, Full) or isinstance(right, (Full, Weighted)):
        column = index_after(index)
        names = ",".join(sorted({leaf_name(p) for p, _ in product.scale.terms}))
        A = f"A^{{{block.superscript(leaf_name(leaf))}}}_{{{index}{column}}}"
        return Term(1.0, "", rf"\sum_{{{column}}} {A}({names}) {entry_of(leaf, column, block)}")
    scale = terms_of(product.scale, inner, block)
    constant = constant_of(product.scale, inner, block)
    parts = scale + ([constant] if constant else [])
    factor = joined(parts) if len(parts) == 1 else rf"\left({joined(parts)}\right)"
    body = _body(leaf, right, inner, block)
    pieces = []
    value = 1.0
    for values, minus in ((left.values, is_negated), (right.values, False)):
        one, name = _entry(values, "a" if block.name else "c", leaf_name(leaf), inner, block, minus)
        value *= one
        pieces.append(name)
    if factor.startswith("-"):
        value, factor = -value, factor[1:].lstrip()
    text = " ".join(part for part in (*pieces, factor, body) if part)
    return Term(value, "", rf"\sum_{{{inner}}} {text}" if is_scalar and inner != index else text)


def leaf_name(leaf: Leaf) -> str:
    """What coefficients of a leaf are named after."""
    if isinstance(leaf, (Variable, Parameter)):
        return variable_symbol(leaf.name)
    function = getattr(leaf, "function", None)
    if function is not None:
        return symbol(function.name)
    return upright(getattr(leaf, "word", "atom"))


def variable_symbol(name: str) -> str:
    """A variable's symbol; the coefficients of a function over its dictionary are a^f."""
    function, dot, rest = name.rpartition(".")
    return f"a^{{{symbol(function)}}}" if dot and rest == "coefficients" else symbol(name)


def entry_of(leaf: Leaf, index: str, block: Block) -> str:
    """One entry of a leaf."""
    if isinstance(leaf, Evaluation):
        point = INSTANCE if index == INSTANCE else f"x_{{{index}}}"
        if isinstance(leaf.function.kernel, BagKernel):
            point = f"B_{{{index}}}"
        return f"{symbol(leaf.function.name)}({point})"
    if isinstance(leaf, Atom):
        return leaf.latex(index, _Notation(leaf, block))
    name = variable_symbol(leaf.name) if isinstance(leaf, (Variable, Parameter)) else upright(leaf.describe())
    if not leaf.shape or not index:
        return name
    return f"{{{name}}}_{{{index}}}" if "^" in name else f"{name}_{{{index}}}"


@dataclass(frozen=True)
class _Notation:
    """Writes the parts of an atom."""

    atom: Atom
    block: Block
    instance: str = INSTANCE

    def argument(self, index: str) -> str:
        """Return one entry of the argument, or the symbol of a function."""
        function = self.atom.function
        return symbol(function.name) if function is not None else whole(self.atom.argument, index, self.block)

    def bracketed(self, index: str) -> str:
        """Return one entry of the argument, in brackets unless it is a single term."""
        argument, text = self.atom.argument, self.argument(index)
        single = len(argument.terms) == 1 and not argument.constant.any()
        return text if single else rf"\left({text}\right)"

    def part(self, expression: Expression, index: str) -> str:
        """Return one entry of another expression that the atom holds."""
        return whole(expression, index, self.block)

    def after(self, index: str) -> str:
        """Return a fresh index; empty if the argument is a scalar."""
        return index_after(index) if self.atom.argument.shape else ""

    def number(self, value: float) -> str:
        """Return a number as text."""
        return number(value)

    def numbers(self, values: Vector, letter: str, index: str) -> str:
        """Return one of several numbers: nothing if all are 1, the number if all are equal, otherwise a symbol."""
        value, factor = _entry(values, letter, "", index, self.block.unnamed())
        return " ".join(part for part in ("" if value == 1 else number(value), factor) if part)

    def matrix(self, values: Weight, letter: str, row: str, column: str) -> str:
        """Return one entry of a matrix."""
        name, sign = self.block.symbols.named(letter, "", values)
        return f"{'-' if sign < 0 else ''}{name}_{{{row}{column}}}"
