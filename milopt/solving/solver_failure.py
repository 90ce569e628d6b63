"""Convert unexpected exceptions of a solver into `SolverError`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from milopt.errors import MiloptError, SolverError


@contextmanager
def wrap_solver_errors(name: str) -> Iterator[None]:
    """Raise a `SolverError` that names the solver for every exception that is not a `MiloptError`."""
    try:
        yield
    except MiloptError:
        raise
    except Exception as error:
        words = " ".join(str(error).split()).rstrip(".")
        raise SolverError(f"{name} raised {type(error).__name__}{f': {words}' if words else ''}.") from error
