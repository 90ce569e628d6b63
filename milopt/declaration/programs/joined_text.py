"""Joined expressions as text, such as 2*vstack([A, B])."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from milopt.declaration.programs.number_text import format_product

if TYPE_CHECKING:
    from milopt.declaration.programs.expression import Expression


@dataclass(frozen=True)
class JoinedText:
    """Text of `factor` times the expressions that a function such as `vstack` has joined."""

    function: str
    parts: Sequence[Expression]
    axis: int = 0
    factor: float = 1.0

    def scale(self, factor: float) -> JoinedText:
        """Return the text of a multiple."""
        return replace(self, factor=factor * self.factor)

    def format(self, length: int) -> str:
        """Return the text; if it is longer than `length`, inner parts are replaced by "..."."""
        texts = [part.describe() for part in self.parts]
        shown = len(texts) - 1
        text = self._call(texts)
        while len(text) > length and shown > 1:
            shown -= 1
            text = self._call([*texts[:shown], "...", texts[-1]])
        return text

    def _call(self, texts: Sequence[str]) -> str:
        """Return the call of the function as text."""
        suffix = f", axis={self.axis}" if self.axis else ""
        return format_product(self.factor, f"{self.function}([{', '.join(texts)}]{suffix})")
