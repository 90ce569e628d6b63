"""Unexpected exceptions of a solver, told apart from the errors of the caller."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from milopt.errors import MiloptError, SolverError


@contextmanager
def solver_errors(name: str) -> Iterator[None]:
    """Raise a `SolverError` with the solver's name for every exception that is not a `MiloptError`."""
    try:
        yield
    except MiloptError:
        raise
    except Exception as error:
        words = " ".join(str(error).split()).rstrip(".")
        raise SolverError(f"{name} raised {type(error).__name__}{f': {words}' if words else ''}.") from error
