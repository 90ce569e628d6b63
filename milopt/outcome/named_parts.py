"""Parts of a result by name; looking up an unknown name raises an error that lists the known names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from milopt.declaration.programs.program import NamesById
from milopt.errors import UnknownNameError

T = TypeVar("T")


class NamedParts(Mapping[str, T]):
    """Read-only mapping from names to parts of a result, such as values of variables; also indexed by declared objects.

    Parameters
    ----------
    kind : str
        Kind of the parts, for error messages.
    parts : mapping
        Parts by name.
    names_by_id : mapping
        Declared objects and their names, by the id of the object; see `Program.names_by_id`.
    labels : mapping, default=None
        Names of the entries of parts, by the name of the part. An entry can be looked up by its name too.
    """

    def __init__(
        self,
        kind: str,
        parts: Mapping[str, T],
        names_by_id: NamesById,
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.kind = kind
        # Compare the type: `isinstance` of an abstract class is slower, and every solve creates seven `NamedParts`.
        self._parts: Mapping[str, T] = parts._parts if type(parts) is NamedParts else parts
        self._handles = names_by_id
        self._labels = labels or {}

    def __getitem__(self, key: object) -> T:
        part = self.get(key)
        if part is None:
            raise UnknownNameError(f"The result has no {self.kind} {key!r}; it has {', '.join(self) or 'none'}.")
        return part

    def __contains__(self, key: object) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        return repr(dict(self._parts))

    def get(self, key: object, default: T | None = None) -> T | None:  # type: ignore[override]
        """Return a part by name or declared object, or the default if there is no such part."""
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
        """For each named entry of a part, the name of the part and the position of the entry in it."""
        named = ((part, names) for part, names in self._labels.items() if part in self._parts)
        return {name: (part, place) for part, names in named for place, name in enumerate(names)}


class DeferredParts(Mapping[str, T]):
    """Mapping from names to parts that are computed on first access.

    Parameters
    ----------
    make : callable
        Function that returns the parts.
    """

    def __init__(self, make: Callable[[], Mapping[str, T]]) -> None:
        self._make = make

    @cached_property
    def _parts(self) -> Mapping[str, T]:
        parts = self._make()
        del self._make
        return parts

    def __getitem__(self, name: str) -> T:
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self._parts),)
