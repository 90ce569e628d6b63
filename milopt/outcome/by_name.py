"""Parts of a result by name: a name that is not there is an error that lists the names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, TypeVar

from milopt.errors import UnknownNameError

T = TypeVar("T")


class ByName(dict[str, T]):
    """A dictionary of which a missing key raises `UnknownNameError`; `kind` says what the names are names of."""

    def __init__(self, kind: str, parts: Mapping[str, T]) -> None:
        super().__init__(parts)
        self.kind = kind

    def __missing__(self, name: object) -> NoReturn:
        known = ", ".join(self) or "none"
        raise UnknownNameError(f"The result has no {self.kind} {name!r}; it has {known}.")
