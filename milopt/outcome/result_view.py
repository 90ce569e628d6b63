"""How a notebook shows a result: its entries as a table, and the sizes and ranges of its values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from milopt.html import Html, element, entries_table, html_table, notes, view

if TYPE_CHECKING:
    from milopt.outcome.result import Result

MAX_PRINTED_VALUES = 6
"""Number of values up to which an array is printed in full."""


def describe_result(result: Result) -> str:
    """Return one short line: name, solver, statuses and objective."""
    return (
        f"Result({result.program.name!r} by {result.solver}: {result.termination}, {result.point}, "
        f"objective {result.objective:.8g})"
    )


def result_html(result: Result) -> Html:
    """Return a result as HTML: status, objective, certificate and times, then its values and multipliers."""
    seconds = {name: getattr(result.seconds, name) for name in ("build", "solve", "scheme", "jit", "total")}
    entries = [
        ("status", f"{result.termination}, point {result.point}"),
        ("objective", f"{result.objective:.8g}"),
        ("bound", "" if result.bound is None or not math.isfinite(result.bound) else f"{result.bound:.8g}"),
        ("certificate", "none" if result.certificate is None else str(result.certificate)),
        ("iterations", f"{result.iterations}" + (f" in {len(result.history)} steps" if result.history else "")),
        ("seconds", ", ".join(f"{name} {value:.3g}" for name, value in seconds.items())),
    ]
    rows = [
        (kind, name, _format_shape(np.shape(array)), _format_values(np.asarray(array, dtype=np.float64)))
        for kind, arrays in (("variable", result.values), ("multipliers of", result.duals))
        for name, array in arrays.items()
    ]
    rows += [
        (
            "function",
            name,
            f"{function.points.shape[0]} points",
            f"norm {math.sqrt(max(0.0, function.norm_squared)):.6g}",
        )
        for name, function in result.functions.items()
    ]
    heading = f"{result.program.name} by {result.solver}, scheme {result.scheme}"
    tables = [html_table("", ("what", "name", "size", "values"), rows)] if rows else []
    return view(
        element("p", element("b", heading)),
        entries_table("", [entry for entry in entries if entry[1]]),
        *tables,
        notes([result.message]),
    )


def _format_shape(shape: tuple[int, ...]) -> str:
    """Return the shape of an array as text, such as "3 x 2", or "scalar"."""
    return " x ".join(map(str, shape)) or "scalar"


def _format_values(values: np.ndarray) -> str:
    """Return a few values in full, and the range of more values."""
    if values.size <= MAX_PRINTED_VALUES:
        return ", ".join(f"{value:.6g}" for value in values.ravel())
    return f"{values.min():.6g} to {values.max():.6g}, {np.count_nonzero(values)} of {values.size} not 0"
