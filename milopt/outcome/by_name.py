"""Parts of a result by name: a name that is not there is an error that lists the names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from milopt.declaration.program import Handles
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
    handles : mapping
        What was declared and its name, by its id; see `Program.handles`.
    """

    def __init__(self, kind: str, parts: Mapping[str, T], handles: Handles) -> None:
        super().__init__(parts)
        self.kind = kind
        self._handles = handles

    def __missing__(self, key: object) -> T:
        name, _ = self._handles.get(id(key), (None, None))
        if name is not None and name in self:
            return self[name]
        known = ", ".join(self) or "none"
        raise UnknownNameError(f"The result has no {self.kind} {key!r}; it has {known}.")
