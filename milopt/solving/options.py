"""Options that all solvers share, checked once by milopt and mapped by each solver to its own settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from types import MappingProxyType
from typing import TypeGuard

from milopt.errors import ParameterError


@dataclass(frozen=True)
class Options:
    """Options of a solve, which all solvers share.

    Parameters
    ----------
    time_limit : float or None, default=None
        Time limit in seconds for the whole call, including all steps of a scheme. None for no limit.
    threads : int, default=1
        Number of threads, for solvers that support several.
    verbose : bool, default=False
        Whether to keep the log of the solver in `Result.log`.
    tolerance : float, default=1e-6
        Tolerance of the certificate's residuals. Each solver maps it to its own settings, which are usually tighter.
    polish : bool, default=True
        Whether to refine the answer to an LP or QP on its estimated active rows if it misses `tolerance`.
    lazy : bool or None, default=None
        Whether the rows of `bag_max` are generated on demand. None decides by their number.
    form : {"auto", "primal", "dual"}, default="auto"
        How functions of a kernel space are given to a solver: by their coordinates ("primal"), by the dual program
        ("dual"), or as the solver prefers ("auto").
    extra : mapping, optional
        Settings that are passed to the solver unchanged, under the solver's own names.

    Raises
    ------
    ParameterError
        If a value is not valid.

    Examples
    --------
    >>> import milopt
    >>> options = milopt.Options(time_limit=10, tolerance=1e-8)
    >>> options.time_limit
    10
    >>> program = milopt.Program("smallest")
    >>> x = program.variable("x", lower=2)
    >>> program.minimize(x)
    >>> milopt.solve(program, options=options).objective
    2.0
    """

    time_limit: float | None = None
    threads: int = 1
    verbose: bool = False
    tolerance: float = 1e-6
    polish: bool = True
    lazy: bool | None = None
    form: str = "auto"
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
            raise ParameterError(f"tolerance must be greater than 0 and less than 1, not {tolerance!r}.")
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
        if not isinstance(self.form, str) or self.form not in ("auto", "primal", "dual"):
            raise ParameterError(f'form must be "auto", "primal" or "dual", not {self.form!r}.')

    def __reduce__(self) -> tuple[Callable[..., Options], tuple[object, ...]]:
        """Pickle the options with `extra` as a dict, because a read-only mapping cannot be pickled or copied deeply."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__} | {"extra": dict(self.extra)}
        return Options, tuple(values.values())


def merge_options(options: Options | None, option_values: Mapping[str, object]) -> Options:
    """Return the options with the fields `option_values` replaced; the defaults if `options` is None."""
    if options is not None and not isinstance(options, Options):
        raise ParameterError(
            f"options must be an Options object, not {type(options).__name__}; or give its fields by name."
        )
    chosen = options or Options()
    unknown = set(option_values) - set(Options.__dataclass_fields__)
    if unknown:
        raise ParameterError(
            f"Unknown option {sorted(unknown)[0]!r}; options are {', '.join(Options.__dataclass_fields__)}."
        )
    return replace(chosen, **option_values) if option_values else chosen  # type: ignore[arg-type]  # checked by Options itself


def _is_number(value: object) -> TypeGuard[float]:
    """Return True if the value is a real number. Booleans do not count, although Python treats them as numbers."""
    return isinstance(value, Real) and not isinstance(value, bool)
