"""How few numbers an ensemble is made of: its columns with a weight, and their coefficients that are not zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from milopt.outcome.columns import columns_of, is_readable
from milopt.outcome.result import Result


def sparsity(results: Sequence[Result]) -> dict[str, Any] | None:
    """#{w_t > 0}, #{a_tz != 0} and its share of #{w_t > 0} n_Z over all programs; None where these are no ensembles."""
    if not all(is_readable(result) for result in results):
        return None
    parts = [part for result in results for part in columns_of(result)]
    used = sum(int(part.used.sum()) for part in parts)
    most = sum(part.places.size * part.size for part in parts)
    return {
        "columns": sum(part.places.size for part in parts),
        "coefficients": used,
        "of": most,
        "share": used / most if most else 0.0,
    }


def sparsity_line(found: dict[str, Any]) -> str:
    """In words."""
    counts = f"{found['columns']} columns with a weight, {found['coefficients']} of {found['of']} coefficients"
    return f"{counts} not zero ({100 * found['share']:.3g} %)"
