"""Parts of a result by name: a name that is not there is an error that lists the names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from milopt.errors import UnknownNameError

T = TypeVar("T")


class ByName(dict[str, T]):
    """A dictionary whose keys are names; what was declared under a name serves as a key too.

    Parameters
    ----------
    kind : str
        What the names are names of, for messages.
    parts : mapping
        The parts by name.
    declared : mapping
        What was declared, by name.
    """

    def __init__(self, kind: str, parts: Mapping[str, T], declared: Mapping[str, object]) -> None:
        super().__init__(parts)
        self.kind = kind
        self._names = {id(one): name for name, one in declared.items()}
        self._declared = dict(declared)
        """Keeps what was declared alive, so that no other object gets its id."""

    def __missing__(self, key: object) -> T:
        name = self._names.get(id(key))
        if name is not None and name in self:
            return self[name]
        known = ", ".join(self) or "none"
        raise UnknownNameError(f"The result has no {self.kind} {key!r}; it has {known}.")
