"""Content of the report of a fit: JSON data about data, programs, solvers, certificates, times and versions.

For more than two classes, totals refer to all programs: objectives, seconds and iterations are sums, each residual of
the certificate is the largest one, the status is that of the program that ended worst, and the generalisation bounds
are those of the program with the weakest bounds. The entry `programs` has the summary of each program.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from milopt.arrays import Floats
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.bags.labels import Signs
from milopt.errors import ConvexityError, MiloptError
from milopt.estimator.fitted import DeclaringModel, FittedState
from milopt.estimator.report import Json, Report
from milopt.estimator.sparsity import count_nonzero_coefficients
from milopt.outcome.certificate import Certificate
from milopt.outcome.generalisation import GeneralisationBounds, generalisation_bounds
from milopt.outcome.result import Result, Size, Step
from milopt.solving.options import Options
from milopt.solving.solver_parts import solvers_in_choice

_TERMINATIONS_FROM_WORST = (
    Termination.ERROR,
    Termination.UNBOUNDED,
    Termination.INFEASIBLE,
    Termination.STALLED,
    Termination.LIMIT,
    Termination.CYCLE,
    Termination.STATIONARY,
    Termination.OPTIMAL,
)
"""Terminations from the worst to the best."""
MAX_MARGINS = 1000
"""Maximum number of margins in a report."""


def build_report(cls: type, fitted: FittedState) -> Report:
    """Build the report of a fitted model of class `cls`."""
    from milopt.estimator.registered_name import registered_or_class_name

    training, results = fitted.training, fitted.results
    program_scores = fitted.program_scores(training.bags)
    scores = fitted.arrange_by_class(program_scores)
    chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    classes = training.classes if training.positive is None else training.classes[[training.positive]]
    programs: list[Json] = [
        {"class": _to_json(label)} | _summarise_result(result)
        for label, result in zip(classes.tolist(), results, strict=True)
    ]
    all_bounds = [_bounds_or_reason(*parts) for parts in zip(results, program_scores, training.signs(), strict=True)]
    for part, bounds in zip(programs, all_bounds, strict=True):
        part["bounds"] = _bounds_as_json(bounds)
    for part, own_scores, y in zip(programs, program_scores, training.signs(), strict=True):
        part["margins"] = _summarise_margins(y * own_scores)
    weakest = max(
        all_bounds, key=lambda bounds: bounds.B_best if isinstance(bounds, GeneralisationBounds) else math.inf
    )
    worst = min(results, key=lambda result: _TERMINATIONS_FROM_WORST.index(result.termination))
    jit_seconds = fitted.declare_jit_seconds + sum(result.seconds.jit for result in results)
    seconds = {
        "declare": fitted.declare_seconds,
        "compile": sum(result.seconds.build for result in results),
        "solve": sum(result.seconds.solve for result in results),
        "scheme": sum(result.seconds.scheme for result in results),
        "jit": jit_seconds,
        "total": fitted.declare_seconds + fitted.declare_jit_seconds + sum(result.seconds.total for result in results),
    }
    return Report(
        {
            "model": registered_or_class_name(cls),
            "parameters": _parameters_as_json(fitted.given),
            "resolved": _resolved_parameters(fitted),
            "solver": _join_distinct(result.solver for result in results),
            "scheme": _join_distinct(result.scheme for result in results),
            "data": training.describe_sizes(),
            "positive_label": _to_json(training.positive_label),
            "status": str(worst.termination),
            "point": str(min((result.point for result in results), key=tuple(PointStatus).index)),
            "message": " ".join(dict.fromkeys(text for result in results for text in _messages(result))),
            "objective": _finite_or_none(sum(result.objective for result in results)),
            "certificate": _largest_residuals(results),
            "seconds": seconds,
            "iterations": sum(result.iterations for result in results),
            "history": [step for part in programs for step in part["history"]],
            "train_accuracy": float(np.average(chosen == training.class_indices)),
            "bounds": _bounds_as_json(weakest),
            "sparsity": count_nonzero_coefficients(results),
            "programs": programs,
            "versions": dict(fitted.versions),
        },
        weakest if isinstance(weakest, GeneralisationBounds) else None,
    )


def package_versions(solver_names: Iterable[str]) -> dict[str, str]:
    """Return the versions of milopt, Python, numpy, scipy, scikit-learn and of these solvers, by name."""
    import scipy
    import sklearn

    import milopt
    from milopt.solving import registry

    versions = {
        "milopt": milopt.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": str(sklearn.__version__),
    }
    solvers = solvers_in_choice(tuple(solver_names))
    for name in dict.fromkeys(name for names in solvers for name in names.split("+")):
        try:
            version = registry.get_solver(name).availability().version
        except MiloptError:
            # A solver that was given as an object may not be registered.
            continue
        if version:
            versions[name] = version
    return versions


def _parameters_as_json(model: DeclaringModel) -> Json:
    """Return the hyper-parameters of a model as JSON data."""
    return {name: _to_json(getattr(model, name)) for name in model._fields}


def _resolved_parameters(fitted: FittedState) -> Json:
    """Return the hyper-parameters whose used values differ from the given ones, such as fitted kernels and seeds."""
    given = _parameters_as_json(fitted.given)
    return {name: value for name, value in _parameters_as_json(fitted.declaring_model).items() if value != given[name]}


def _summarise_result(result: Result) -> Json:
    """Return the summary of one result as JSON data."""
    return {
        "program": _program_size(result),
        "solver": result.solver,
        "form": result.form,
        "scheme": result.scheme,
        "status": str(result.termination),
        "raw_status": result.raw_status,
        "point": str(result.point),
        "message": " ".join(_messages(result)),
        "objective": _finite_or_none(result.objective),
        "bound": _finite_or_none(result.bound),
        "certificate": _certificate_as_json(result.certificate),
        "polished": result.polished is not None,
        "iterations": result.iterations,
        "seconds": {name: getattr(result.seconds, name) for name in ("build", "solve", "scheme", "jit", "total")},
        "history": [_step_as_json(step) for step in result.history],
        "attempts": [
            {
                "solver": attempt.solver,
                "status": str(attempt.termination),
                "point": str(attempt.point),
                "certificate": _certificate_as_json(attempt.certificate),
                "message": attempt.message,
                "seconds": attempt.seconds,
            }
            for attempt in result.attempts
        ],
    }


def _messages(result: Result) -> list[str]:
    """Return the message of a result and the remarks about its program."""
    return [text for text in (result.message, *result.program.remarks) if text]


def _program_size(result: Result) -> Json:
    """Return the name, kind and size of a result's program; sizes are None if computing them is too expensive."""
    from milopt.compilation.lowering_attempt import try_lower

    program, size = result.program, result.size
    if program.oracles:
        rows, columns = (sum(np.size(array) for array in arrays.values()) for arrays in (result.duals, result.values))
        size = Size(rows, columns, 0)
    elif size is None and (form := try_lower(program.core).form) is not None:
        size = Size(form.rows.count, form.n, sum(space.count for space in form.spaces))
    counts = {name: None if size is None else int(getattr(size, name)) for name in ("rows", "columns", "evaluations")}
    return {"name": program.name, "kind": program.kind} | counts


def _bounds_or_reason(result: Result, scores: Floats, y: Signs) -> GeneralisationBounds | str | None:
    """Return the generalisation bounds, or the reason why they are not available; None if the model has none."""
    try:
        return generalisation_bounds(result, scores, y)
    except ConvexityError as error:
        return str(error)


def _bounds_as_json(bounds: GeneralisationBounds | str | None) -> Json | None:
    """Convert the result of `_bounds_or_reason` to JSON data."""
    if bounds is None:
        return None
    return bounds.as_dict() if isinstance(bounds, GeneralisationBounds) else {"reason": bounds}


def _step_as_json(step: Step) -> Json:
    """Return one step of a scheme as JSON data."""
    return {
        "objective": _finite_or_none(step.objective),
        "bound": _finite_or_none(step.bound),
        "certificate": _certificate_as_json(step.certificate),
        "seconds": step.seconds,
        "changed": step.changed,
        "reached": _finite_or_none(step.reached),
    }


def _summarise_margins(margins: Floats) -> list[float]:
    """Return the margins in increasing order; if there are more than `MAX_MARGINS`, that many evenly spaced ones."""
    ordered = np.sort(margins)
    chosen = np.linspace(0, ordered.size - 1, min(ordered.size, MAX_MARGINS)).round().astype(np.intp)
    return [float(value) for value in ordered[chosen]]


def _certificate_as_json(certificate: Certificate | None) -> Json | None:
    """Return the residuals of a certificate as JSON data."""
    if certificate is None:
        return None
    return {name: _finite_or_none(getattr(certificate, name)) for name in ("primal", "dual", "gap")}


def _largest_residuals(results: Sequence[Result]) -> Json | None:
    """Return the largest residuals over all results; None if a result has no certificate."""
    certificates = [result.certificate for result in results if result.certificate is not None]
    if len(certificates) < len(results):
        return None
    return {
        name: _finite_or_none(max(getattr(certificate, name) for certificate in certificates))
        for name in ("primal", "dual", "gap")
    }


def _join_distinct(names: Any) -> str:
    """Join distinct names by commas."""
    return ", ".join(dict.fromkeys(names))


def _finite_or_none(value: float | None) -> float | None:
    """Return a finite number unchanged, and NaN and infinities as None, for JSON."""
    return float(value) if value is not None and math.isfinite(value) else None


def _to_json(value: object) -> object:
    """Convert a hyper-parameter or label to JSON data; a value of another type becomes its `repr`."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, (tuple, list)):
        return [_to_json(entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): _to_json(entry) for key, entry in value.items()}
    if isinstance(value, Options):
        defaults = vars(Options())
        changed = {name: option for name, option in vars(value).items() if option != defaults[name]}
        return f"Options({', '.join(f'{name}={_format_option(option)}' for name, option in changed.items())})"
    return repr(value)


def _format_option(value: object) -> str:
    """Return the text of an option's value."""
    return repr(dict(value) if isinstance(value, Mapping) else value)
