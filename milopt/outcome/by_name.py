"""Parts of a result by name: a name that is not there is an error that lists the names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from milopt.declaration.programs.program import Handles
from milopt.errors import UnknownNameError

T = TypeVar("T")


class ByName(Mapping[str, T]):
    """Parts by name; what was declared under a name serves as a key too.

    Parameters
    ----------
    kind : str
        What the names are names of, for messages.
    parts : mapping
        The parts by name.
    handles : mapping
        What was declared and its name, by its id; see `Program.handles`.
    labels : mapping
        Names of the entries of parts, by the name of the part; an entry can be looked up by its name too.
    """

    def __init__(
        self, kind: str, parts: Mapping[str, T], handles: Handles, labels: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.kind = kind
        self._parts: Mapping[str, T] = parts._parts if isinstance(parts, ByName) else parts
        self._handles = handles
        self._labels = labels or {}

    def __getitem__(self, key: object) -> T:
        found = self.get(key)
        if found is None:
            raise UnknownNameError(f"The result has no {self.kind} {key!r}; it has {', '.join(self) or 'none'}.")
        return found

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        return repr(dict(self._parts))

    def get(self, key: object, default: T | None = None) -> T | None:  # type: ignore[override]
        """Return a part, or the default if it is not there."""
        name = key if isinstance(key, str) else self._handles.get(id(key), (None,))[0]
        if name is not None and name in self._parts:
            return self._parts[name]
        entry = self._entries.get(key) if isinstance(key, str) else None
        if entry is None:
            return default
        part, place = entry
        return self._parts[part][place]  # type: ignore[index, no-any-return]  # parts with labels are vectors

    @cached_property
    def _entries(self) -> dict[str, tuple[str, int]]:
        """The part and the place of each entry that has a name."""
        named = ((part, names) for part, names in self._labels.items() if part in self._parts)
        return {name: (part, place) for part, names in named for place, name in enumerate(names)}


class Deferred(Mapping[str, T]):
    """Parts by name that are computed when the first one is asked for.

    Parameters
    ----------
    make : callable
        Returns the parts.
    """

    def __init__(self, make: Callable[[], Mapping[str, T]]) -> None:
        self._make = make

    @cached_property
    def _made(self) -> Mapping[str, T]:
        made = self._make()
        del self._make
        return made

    def __getitem__(self, name: str) -> T:
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self._made),)
