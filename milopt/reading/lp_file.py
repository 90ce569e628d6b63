r"""Parser of LP files in the CPLEX format; every error states the line.

    minimize   obj: 2 x + 3 y + [ x ^ 2 + 4 x * y ] / 2 + 7
    subject to c1: -1 <= x + y <= 4     \ a range
    bounds     x free
    general    y
    end

Columns without bounds lie in [0, infinity), also integer columns. A row may have constants on both sides of the
comparison. Not supported: quadratic rows, indicator rows, special ordered sets, piecewise-linear objectives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from milopt.data.messages import quote
from milopt.reading.flat_model import INFINITY_THRESHOLD, FlatModel, MatrixEntries, replace_infinite_bounds
from milopt.reading.lp_tokens import LpSection, LpTokens, Token, TokenKind

COMPARISON_SIGNS = {"<=": "<", "=<": "<", "<": "<", ">=": ">", "=>": ">", ">": ">", "=": "="}
"""Comparison <, > or = that each spelling in a file stands for."""
INFINITY_WORDS = ("inf", "infinity")
"""Spellings of infinity, in lower case."""


def read_lp(path: Path) -> FlatModel:
    """Parse an LP file."""
    return _LpReader(path).parse()


@dataclass
class _LpExpression:
    """Linear or quadratic expression of the columns.

    `terms` has the coefficients by column index, and `products` the coefficients of products of two columns by the pair
    of their indices.
    """

    constant: float = 0.0
    terms: dict[int, float] = field(default_factory=dict)
    products: dict[tuple[int, int], float] = field(default_factory=dict)

    def add(self, column: int, value: float) -> None:
        """Add value * column to the expression."""
        self.terms[column] = self.terms.get(column, 0.0) + value


class _LpReader:
    """State of parsing one LP file."""

    def __init__(self, path: Path) -> None:
        self._tokens = LpTokens(path)
        self._name = path.name.split(".")[0]
        self._columns: dict[str, int] = {}
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._integer: set[int] = set()
        self._semicontinuous: set[int] = set()
        self._objective = _LpExpression()
        self._rows: dict[str, int] = {}
        self._A = MatrixEntries()
        self._sides: list[tuple[float, float]] = []
        self._is_sign_before = False

    def parse(self) -> FlatModel:
        """Parse the file, and return its content."""
        first = self._tokens.peek()
        if first is None or first.section not in (LpSection.MINIMIZE, LpSection.MAXIMIZE):
            raise self._tokens.error("an LP file begins with minimize or maximize")
        self._tokens.take()
        self._read_objective()
        while (title := self._tokens.peek()) is not None:
            self._tokens.take()
            match title.section:
                case LpSection.ROWS:
                    while self._is_in_section():
                        self._read_row()
                case LpSection.BOUNDS:
                    while self._is_in_section():
                        self._read_bound()
                case LpSection.GENERAL | LpSection.BINARY | LpSection.SEMICONTINUOUS:
                    while self._is_in_section():
                        self._read_listed_column(title.section)
                case LpSection.END:
                    break
                case LpSection.UNSUPPORTED:
                    raise self._tokens.error(f"milopt does not support the section {quote(title.text)}", title)
                case _:
                    raise self._tokens.error(f"a section such as subject to or bounds, not {quote(title.text)}", title)
        else:
            raise self._tokens.error("the file ends without the word end; it is not complete")
        return self._build_flat_model(first.section is LpSection.MAXIMIZE)

    def _is_in_section(self) -> bool:
        """Return True if the next token belongs to the current section, that is, exists and is not a section title."""
        word = self._tokens.peek()
        return word is not None and word.sort is not TokenKind.SECTION

    # -- sections ----------------------------------------------------------------------------------------------

    def _read_objective(self) -> None:
        """Parse the objective with its optional label."""
        self._take_label()
        self._objective = self._parse_expression(is_objective=True)

    def _read_row(self) -> None:
        """Parse a row with its optional label, and add it to the rows."""
        start = self._tokens.peek()
        label = self._take_label() or f"R{len(self._sides) + 1}"
        if label in self._rows:
            raise self._tokens.error(f"the row {quote(label)} occurs twice", start)
        sums, signs = [self._parse_expression()], []
        while (sign := self._tokens.take_if(*COMPARISON_SIGNS)) is not None:
            signs.append(COMPARISON_SIGNS[sign.text])
            sums.append(self._parse_expression(after=sign))
        if (arrow := self._tokens.take_if("->")) is not None:
            raise self._tokens.error("milopt does not support indicator rows", arrow)
        if len(signs) not in (1, 2):
            raise self._tokens.error(f"the row {quote(label)} is not a comparison such as x + y <= 4", start)
        low, high, middle = self._row_range(sums, signs, label, start)
        for column, value in middle.terms.items():
            self._A.add(len(self._sides), column, value)
        self._rows[label] = len(self._sides)
        self._sides.append((low, high))

    def _row_range(
        self, sums: list[_LpExpression], signs: list[str], label: str, start: Token | None
    ) -> tuple[float, float, _LpExpression]:
        """Return (lower side, upper side, expression) of a row whose two or three `sums` are compared by `signs`.

        With a single comparison, the terms on the right of the sign are moved to the left. Constants are moved to the
        lower and upper side. `label` and `start`, the name and the first token of the row, are used in errors.
        """
        if len(signs) == 2:
            low, middle, high = sums
            if low.terms or high.terms or signs not in (["<", "<"], [">", ">"]):
                raise self._tokens.error(f"the range {quote(label)} must be number <= expression <= number", start)
            if signs[0] == ">":
                low, high = high, low
            return low.constant - middle.constant, high.constant - middle.constant, middle
        left, right = sums
        for column, value in right.terms.items():
            left.add(column, -value)
        side = right.constant - left.constant
        return (-np.inf if signs[0] == "<" else side), (np.inf if signs[0] == ">" else side), left

    def _read_bound(self) -> None:
        """Parse one entry of the section bounds, such as `x <= 4`, `1 <= x <= 4` or `x free`, and set the bounds."""
        start = self._tokens.peek()
        first = self._parse_number_or_column()
        if isinstance(first, str) and (word := self._tokens.peek()) is not None and word.text.lower() == "free":
            self._tokens.take()
            self._lower[self._column_index(first)], self._upper[self._column_index(first)] = -np.inf, np.inf
            return
        parts, signs = [first], []
        while (sign := self._tokens.take_if(*COMPARISON_SIGNS)) is not None:
            signs.append(COMPARISON_SIGNS[sign.text])
            parts.append(self._parse_number_or_column())
        places = [k for k, part in enumerate(parts) if isinstance(part, str)]
        if len(places) != 1 or len(parts) not in (2, 3) or (len(parts) == 3 and places != [1]):
            raise self._tokens.error("a bound is a column and a number such as x <= 4, or x free", start)
        column = self._column_index(str(parts[places[0]]))
        for k, sign_text in enumerate(signs):
            is_left = k + 1 == places[0]
            number = parts[k] if is_left else parts[k + 1]
            assert isinstance(number, float)
            self._set_bound(column, {"<": ">", ">": "<", "=": "="}[sign_text] if is_left else sign_text, number)

    def _set_bound(self, column: int, sign: str, number: float) -> None:
        """Set the bound `column sign number`, such as x <= 4; the sign `=` sets the lower and the upper bound."""
        if sign in "<=":
            self._upper[column] = number
        if sign in ">=":
            self._lower[column] = number

    def _read_listed_column(self, section: LpSection) -> None:
        """Parse a column name in a section of integer, binary or semicontinuous columns, and mark the column."""
        word = self._tokens.take()
        if word.sort is not TokenKind.NAME:
            raise self._tokens.error(f"the section {section.value} lists names, not {quote(word.text)}", word)
        column = self._column_index(word.text)
        if section is LpSection.SEMICONTINUOUS:
            self._semicontinuous.add(column)
            return
        self._integer.add(column)
        if section is LpSection.BINARY:
            self._lower[column], self._upper[column] = 0.0, 1.0

    # -- expressions -------------------------------------------------------------------------------------------

    def _take_label(self) -> str:
        """Consume and return the name of a row or of the objective, or "" if there is none."""
        word, after = self._tokens.peek(), self._tokens.peek(1)
        if word is None or after is None or word.sort is not TokenKind.NAME or after.text != ":":
            return ""
        self._tokens.take()
        self._tokens.take()
        return word.text

    def _parse_expression(self, is_objective: bool = False, after: Token | None = None) -> _LpExpression:
        """Parse an expression; `after` is the comparison sign to its left, or None if there is none.

        An expression to the right of a sign ends at the end of its line if it has only constants so far, because the
        next line may be a row without a label.
        """
        total = _LpExpression()
        line = None if after is None else after.line
        is_first = True
        while True:
            word = self._tokens.peek()
            if word is None or (not is_first and word.text not in ("+", "-")):
                return total
            if not is_first and line not in (None, word.line) and not total.terms:
                return total
            line = None if line is None else word.line
            sign = self._take_signs()
            if (bracket := self._tokens.take_if("[")) is not None:
                if not is_objective:
                    raise self._tokens.error("milopt does not support quadratic rows", bracket)
                self._read_products(total, sign)
            elif not self._read_term(total, sign, is_right=after is not None):
                if self._is_sign_before:
                    raise self._tokens.error("a sign has no term after it")
                return total
            is_first = False

    def _take_signs(self) -> float:
        """Consume plus and minus signs, and return their product; `_is_sign_before` records whether there was one."""
        sign, self._is_sign_before = 1.0, False
        while (word := self._tokens.take_if("+", "-")) is not None:
            self._is_sign_before = True
            sign = -sign if word.text == "-" else sign
        return sign

    def _read_term(self, total: _LpExpression, sign: float, is_right: bool) -> bool:
        """Parse one term (a number, a column, or their product), add it to `total`, and return True if there is one.

        If `is_right`, the term is to the right of a comparison. A number at the end of a line is then the whole term: a
        name on the next line belongs to the next row.
        """
        word = self._tokens.peek()
        if word is None or word.sort in (TokenKind.SIGN, TokenKind.SECTION):
            return False
        value = 1.0
        if word.sort is TokenKind.NUMBER:
            value = self._number_or_infinity(self._tokens.take())
            self._tokens.take_if("*")
            name = self._tokens.peek()
            # A row may end with a number, and the next row may start with its label or its first column.
            if (
                name is None
                or name.sort is not TokenKind.NAME
                or self._is_label()
                or (is_right and name.line != word.line)
            ):
                total.constant += sign * value
                return True
        elif self._is_label():
            return False
        elif word.text.lower() in INFINITY_WORDS:
            self._tokens.take()
            total.constant += sign * np.inf
            return True
        total.add(self._column_index(self._tokens.take().text), sign * value)
        return True

    def _is_label(self) -> bool:
        """Return True if the next word is followed by a colon."""
        after = self._tokens.peek(1)
        return after is not None and after.text == ":"

    def _read_products(self, total: _LpExpression, sign: float) -> None:
        """Parse `x ^ 2 + 4 x * y ] / 2`, after the opening bracket, and add it to `total` with the given sign."""
        products: list[tuple[int, int, float]] = []
        while (closing := self._tokens.take_if("]")) is None:
            factor = self._take_signs()
            word = self._tokens.take()
            if word.sort is TokenKind.NUMBER:
                factor *= self._number_or_infinity(word)
                self._tokens.take_if("*")
                word = self._tokens.take()
            if word.sort is not TokenKind.NAME:
                raise self._tokens.error("a product in brackets is x ^ 2 or x * y", word)
            first = second = self._column_index(word.text)
            if self._tokens.take_if("^") is not None:
                power = self._tokens.take()
                if power.number != 2.0:
                    raise self._tokens.error("the only power is ^ 2", power)
            elif self._tokens.take_if("*") is not None:
                other = self._tokens.take()
                if other.sort is not TokenKind.NAME:
                    raise self._tokens.error("a product in brackets is x ^ 2 or x * y", other)
                second = self._column_index(other.text)
            else:
                raise self._tokens.error("a product in brackets is x ^ 2 or x * y", word)
            products.append((max(first, second), min(first, second), factor))
        if self._tokens.take_if("/") is not None:
            if self._tokens.take().number != 2.0:
                raise self._tokens.error("brackets are divided by 2, or by nothing", closing)
            sign /= 2.0
        for i, j, value in products:
            total.products[i, j] = total.products.get((i, j), 0.0) + sign * value

    def _parse_number_or_column(self) -> float | str:
        """Parse a number or the name of a column, and return it; only a number may have a sign."""
        sign = self._take_signs()
        word = self._tokens.take()
        if word.sort is TokenKind.NUMBER:
            return sign * word.number
        if word.sort is TokenKind.NAME and word.text.lower() in INFINITY_WORDS:
            return sign * np.inf
        if word.sort is not TokenKind.NAME or self._is_sign_before:
            raise self._tokens.error(f"a bound is a column and a number such as x <= 4, not {quote(word.text)}", word)
        return word.text

    def _number_or_infinity(self, word: Token) -> float:
        """Return the number of a token, or infinity if it is at least `INFINITY_THRESHOLD`."""
        # Sides of rows are parsed as constants and may be infinite; `_build_flat_model` rejects other infinite numbers.
        return word.number if abs(word.number) < INFINITY_THRESHOLD else np.inf

    def _column_index(self, name: str) -> int:
        """Return the index of the column with this name; a new name creates the column."""
        if name not in self._columns:
            self._columns[name] = len(self._columns)
            self._lower.append(0.0)
            self._upper.append(np.inf)
        return self._columns[name]

    # -- result ------------------------------------------------------------------------------------------------

    def _build_flat_model(self, maximizes: bool) -> FlatModel:
        """Return the content of the file, after all sections were parsed."""
        n, m = len(self._columns), len(self._sides)
        cost, products = np.zeros(n), MatrixEntries()
        for column, value in self._objective.terms.items():
            cost[column] = value
        for (i, j), value in self._objective.products.items():
            # The term value * x_i x_j with i != j gives two entries of P, because 1/2 x'Px has both triangles of P.
            products.add(i, j, value if i != j else 2.0 * value)
            if i != j:
                products.add(j, i, value)
        numbers = [cost, np.array([self._objective.constant]), np.array(self._A.values), np.array(products.values)]
        if not all(np.isfinite(some).all() for some in numbers):
            raise self._tokens.error("a coefficient is infinite; only bounds and sides of rows may be")
        return FlatModel(
            name=self._name,
            maximizes=maximizes,
            constant=self._objective.constant,
            cost=cost,
            P=products.matrix((n, n)),
            A=self._A.matrix((m, n)),
            row_lower=replace_infinite_bounds([low for low, _ in self._sides]),
            row_upper=replace_infinite_bounds([high for _, high in self._sides]),
            lower=replace_infinite_bounds(self._lower),
            upper=replace_infinite_bounds(self._upper),
            integer=np.isin(np.arange(n), list(self._integer)),
            semicontinuous=np.isin(np.arange(n), list(self._semicontinuous)),
            columns=tuple(self._columns),
            rows=tuple(self._rows),
        )
