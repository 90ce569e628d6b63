"""What to say about a name that nobody has: the near names, or all of them."""

from __future__ import annotations

from collections.abc import Sequence

from milopt.errors import UnknownNameError


def quoted(*names: str) -> str:
    """Names in double quotes, separated by commas."""
    return ", ".join(f'"{name}"' for name in names)


def near(name: str, known: Sequence[str]) -> list[str]:
    """Up to three known names that look like this one up to a colon, the nearest first, whatever their case.

    Nearest of all is one that differs in hyphens and the like alone.
    """
    from difflib import get_close_matches

    folded = {other.partition(":")[0].casefold(): other for other in known}
    matches = get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    return [folded[match] for match in sorted(matches, key=lambda match: _letters(match) != _letters(name))]


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def unknown(kind: str, name: str, known: Sequence[str], where: str = "") -> UnknownNameError:
    """The error for an unknown name; `kind` is what was looked for, `where` the place that was searched."""
    opening = f"No {kind} is called {quoted(name)}{where}"
    if matches := near(name, known):
        return UnknownNameError(f"{opening}; did you mean {' or '.join(map(quoted, matches))}?")
    if known:
        return UnknownNameError(f"{opening}; there are {quoted(*known)}.")
    return UnknownNameError(f"{opening}; there is none.")
