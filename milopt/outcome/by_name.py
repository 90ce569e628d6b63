"""Parts of a result by name: a name that is not there is an error that lists the names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
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
    labels : mapping
        Names of the entries of parts, by the name of the part; an entry can be looked up by its name too.
    """

    def __init__(
        self,
        kind: str,
        parts: Mapping[str, T],
        declared: Mapping[str, object],
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(parts)
        self.kind = kind
        self._names = {id(one): name for name, one in declared.items()}
        self._declared = dict(declared)
        """Keeps what was declared alive, so that no other object gets its id."""
        self._labels = labels or {}

    def __missing__(self, key: object) -> T:
        name = self._names.get(id(key))
        if name is not None and name in self:
            return self[name]
        entry = self._entries.get(key) if isinstance(key, str) else None
        if entry is not None:
            part, place = entry
            return self[part][place]  # type: ignore[index, no-any-return]  # parts with labels are vectors
        known = ", ".join(self) or "none"
        raise UnknownNameError(f"The result has no {self.kind} {key!r}; it has {known}.")

    @cached_property
    def _entries(self) -> dict[str, tuple[str, int]]:
        """The part and the place of each entry that has a name."""
        named = ((part, names) for part, names in self._labels.items() if part in self)
        return {name: (part, place) for part, names in named for place, name in enumerate(names)}
