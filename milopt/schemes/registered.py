"""Schemes by name, found through the entry point group `milopt.schemes`."""

from __future__ import annotations

from milopt.errors import DeclarationError
from milopt.schemes.scheme import Scheme
from milopt.solving import registry

SCHEME_GROUP = "milopt.schemes"


def scheme_names() -> list[str]:
    """Return the names of all registered schemes."""
    return registry.entry_point_names(SCHEME_GROUP)


def scheme_class(name: str) -> type[Scheme]:
    """Return the class of the scheme of this name; raise an error if there is none or it cannot be loaded."""
    loaded = registry.entry_point_class(SCHEME_GROUP, "scheme", name)
    if not issubclass(loaded, Scheme):
        raise DeclarationError(
            f'The scheme "{name}" cannot be loaded: {loaded.__module__}:{loaded.__qualname__} is not a subclass of '
            "milopt.Scheme."
        )
    if loaded.name != name:
        raise DeclarationError(f'The scheme "{name}" calls itself {loaded.name!r}: use one name.')
    return loaded
