"""Error messages for unknown names, with suggestions."""

from __future__ import annotations

from collections.abc import Sequence

from milopt.errors import UnknownNameError


def quote(*names: str) -> str:
    """Return names in double quotes, separated by commas."""
    return ", ".join(f'"{name}"' for name in names)


def close_matches(name: str, known: Sequence[str]) -> list[str]:
    """Return up to three known names that are similar to `name`, ignoring case; the most similar first.

    Only the part of a known name before its first colon is compared. Names that differ from `name` only in hyphens and
    other punctuation come first.
    """
    from difflib import get_close_matches

    folded = {other.partition(":")[0].casefold(): other for other in known}
    matches = get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    return [
        folded[match]
        for match in sorted(matches, key=lambda match: _letters_and_digits(match) != _letters_and_digits(name))
    ]


def _letters_and_digits(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return "".join(filter(str.isalnum, name.casefold()))


def unknown_name_error(kind: str, name: str, known: Sequence[str], where: str = "") -> UnknownNameError:
    """Return the error for an unknown name; its message lists similar names, or all known names if none is similar.

    `kind` is the kind of object, such as "solver". `where` is text to insert after the name, such as " in this file".
    """
    start = f"No {kind} is called {quote(name)}{where}"
    if matches := close_matches(name, known):
        return UnknownNameError(f"{start}; did you mean {' or '.join(map(quote, matches))}?")
    if known:
        return UnknownNameError(f"{start}; there are {quote(*known)}.")
    return UnknownNameError(f"{start}; there is none.")
