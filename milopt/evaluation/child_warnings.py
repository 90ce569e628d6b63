"""Suppression of Python's warnings about resources that killed worker processes leave behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

RESOURCE_TRACKER_FILTER = "ignore:resource_tracker:UserWarning"
"""Warning filter: a killed worker leaves resources of its libraries (locks) that the resource tracker cleans up."""


@contextmanager
def suppress_resource_warnings() -> Iterator[None]:
    """Suppress warnings of the resource tracker in processes that are started inside the block."""
    filters = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = f"{filters},{RESOURCE_TRACKER_FILTER}" if filters else RESOURCE_TRACKER_FILTER
    try:
        yield
    finally:
        if filters is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = filters
