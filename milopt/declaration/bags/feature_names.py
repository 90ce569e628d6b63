"""Names of features: names of the columns of frames, and the order in which a fitted model needs them."""

from __future__ import annotations

from collections.abc import Sequence


class FeatureMismatchError(Exception):
    """A feature that a model needs is missing, or there is one that it was not fitted on."""

    def __init__(self, name: str, is_missing: bool) -> None:
        super().__init__(name)
        self.name, self.is_missing = name, is_missing


def match_features(own: Sequence[str] | None, wanted: Sequence[str] | None) -> list[int] | None:
    """Return the positions of the features `wanted` among the features `own`.

    Return None if they are the same already, if one of them has no names, or if they have no name in common and one of
    them consists of the default names f0, f1, ... Raise `FeatureMismatchError` if the names are not the same.
    """
    own, wanted = tuple(own or ()), tuple(wanted or ())
    if not wanted or not own or wanted == own:
        return None
    if not set(wanted) & set(own) and (_are_default_names(wanted) or _are_default_names(own)):
        return None
    for name in wanted:
        if name not in own:
            raise FeatureMismatchError(name, is_missing=True)
    for name in own:
        if name not in wanted:
            raise FeatureMismatchError(name, is_missing=False)
    place = {name: j for j, name in enumerate(own)}
    return [place[name] for name in wanted]


def column_names(table: object) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame; None if there are none, or if one is not a string."""
    columns = getattr(table, "columns", None)
    names = None if columns is None or isinstance(columns, (str, int)) or callable(columns) else tuple(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def _are_default_names(names: Sequence[str]) -> bool:
    """Return True if the names are f0, f1, ... in this order."""
    return all(name == f"f{j}" for j, name in enumerate(names))
