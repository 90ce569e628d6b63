"""Sparsity of an ensemble: the number of columns (weak learners) with a nonzero weight, and of their coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from milopt.outcome.ensemble_columns import declares_maxima, readable_columns
from milopt.outcome.result import Result


def count_nonzero_coefficients(results: Sequence[Result]) -> dict[str, Any] | None:
    """Count the weighted columns and their nonzero coefficients in the ensembles of all results.

    Return a dictionary with the counts "columns" and "coefficients", with the number "of" coefficients that could be
    nonzero, and with the "share" of these that are. Return None if a result is not an ensemble of maxima.
    """
    if not all(declares_maxima(result) for result in results):
        return None
    parts = [part for result in results for part in readable_columns(result)]
    used = sum(int(part.is_nonzero.sum()) for part in parts)
    total = sum(part.places.size * part.size for part in parts)
    return {
        "columns": sum(part.places.size for part in parts),
        "coefficients": used,
        "of": total,
        "share": used / total if total else 0.0,
    }


def format_sparsity(counts: dict[str, Any]) -> str:
    """Return the sparsity as text."""
    columns, used, total = counts["columns"], counts["coefficients"], counts["of"]
    return f"{columns} columns with a weight, {used} of {total} coefficients nonzero ({100 * counts['share']:.3g} %)"
