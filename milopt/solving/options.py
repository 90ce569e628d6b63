"""The knobs every solver shares, checked once by milopt and mapped by each solver to its own settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from types import MappingProxyType
from typing import TypeGuard

from milopt.errors import ParameterError


@dataclass(frozen=True)
class Options:
    """What a person may ask of any solver.

    `tolerance` is the certificate's: a solver maps it to its own settings, usually tighter.
    `extra` is passed through untouched, in the solver's own names.
    """

    time_limit: float | None = None
    """Seconds for the whole call, a scheme's every step included; None for no limit."""
    threads: int = 1
    verbose: bool = False
    """Keep the solver's raw log in `result.log`."""
    tolerance: float = 1e-6
    polish: bool = True
    """Refine an LP or QP answer on its guessed active rows when it misses `tolerance`."""
    lazy: bool | None = None
    """Generate the epigraph rows of `bag_max` on demand; None decides by their number."""
    form: str = "auto"
    """How functions reach a flat solver: "coordinates", "dual", or "auto" as the solver prefers."""
    extra: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        limit: object = self.time_limit
        if limit is not None and not (_is_number(limit) and limit > 0):
            raise ParameterError(f"time_limit must be a positive number of seconds or None, not {limit!r}.")
        threads: object = self.threads
        if isinstance(threads, bool) or not (isinstance(threads, Integral) and int(threads) >= 1):
            raise ParameterError(f"threads must be an integer of at least 1, not {threads!r}.")
        tolerance: object = self.tolerance
        if not (_is_number(tolerance) and 0 < tolerance < 1):
            raise ParameterError(f"tolerance must lie between 0 and 1, not {tolerance!r}.")
        for name in ("verbose", "polish"):
            value: object = getattr(self, name)
            if not isinstance(value, bool):
                raise ParameterError(f"{name} must be True or False, not {value!r}.")
        lazy: object = self.lazy
        if lazy is not None and not isinstance(lazy, bool):
            raise ParameterError(f"lazy must be True, False or None (decided by the number of rows), not {lazy!r}.")
        extra: object = self.extra
        if not (isinstance(extra, Mapping) and all(isinstance(name, str) for name in extra)):
            raise ParameterError(f"extra must map names of the solver's own settings to values, not {extra!r}.")
        object.__setattr__(self, "extra", MappingProxyType(dict(extra)))
        if not isinstance(self.form, str) or self.form not in ("auto", "coordinates", "dual"):
            raise ParameterError(f'form must be "auto", "coordinates" or "dual", not {self.form!r}.')

    def __reduce__(self) -> tuple[Callable[..., Options], tuple[object, ...]]:
        # What is read-only of a mapping can be neither pickled nor copied deeply.
        values = {name: getattr(self, name) for name in self.__dataclass_fields__} | {"extra": dict(self.extra)}
        return Options, tuple(values.values())


def with_knobs(options: Options | None, knobs: Mapping[str, object]) -> Options:
    """Return options with some fields given by name; the defaults if there are none."""
    if options is not None and not isinstance(options, Options):
        raise ParameterError(
            f"options must be an Options object, not {type(options).__name__}; or give its fields by name."
        )
    chosen = options or Options()
    unknown = set(knobs) - set(Options.__dataclass_fields__)
    if unknown:
        raise ParameterError(
            f"Unknown option {sorted(unknown)[0]!r}; options are {', '.join(Options.__dataclass_fields__)}."
        )
    return replace(chosen, **knobs) if knobs else chosen  # type: ignore[arg-type]  # checked by Options itself


def _is_number(value: object) -> TypeGuard[float]:
    # True and False are numbers to Python, and nobody means them as such.
    return isinstance(value, Real) and not isinstance(value, bool)
