"""A fit in short, for people (`str`) and for machines (`as_dict`, plain JSON data).

For more than two classes the totals are over all programs: objectives, seconds and iterations add up, the certificate
is the worst in each residual, status and bounds are those of the program that ended worst and of the one that proves
least; `programs` has each of them.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from milopt.arrays import Floats
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.bags.labels import Signs
from milopt.errors import ConvexityError, MiloptError
from milopt.estimator.fitted import Fitted, Model
from milopt.estimator.sparsity import sparsity, sparsity_line
from milopt.outcome.certificate import Certificate
from milopt.outcome.generalisation import Bounds, generalisation
from milopt.outcome.result import Result, Size, Step
from milopt.solving.options import Options
from milopt.solving.solver_parts import solver_names

Json = dict[str, Any]

_FROM_BAD = (
    Termination.ERROR,
    Termination.UNBOUNDED,
    Termination.INFEASIBLE,
    Termination.STALLED,
    Termination.LIMIT,
    Termination.CYCLE,
    Termination.STATIONARY,
    Termination.OPTIMAL,
)


@dataclass(frozen=True)
class Report:
    """What there is to say about a fit; `str` for people."""

    content: Json
    bounds: Bounds | None = None
    """What the margins prove about new bags, of the program that proves least; None where nothing is proved."""

    def as_dict(self) -> Json:
        """Plain JSON data: model, solver, data, status, objective, certificate, seconds, iterations, history, ..."""
        return self.content

    def __str__(self) -> str:
        said = self.content
        data, seconds = said["data"], said["seconds"]
        low, middle, high = data["instances_per_bag"]
        used = {
            name: said["resolved"].get(name, value) for name, value in said["parameters"].items() if value is not None
        }
        chosen = ", ".join(f"{name}={value}" for name, value in used.items())
        classes = ", ".join(f"{count} of class {label}" for label, count in data["classes"].items())
        lines = [
            ("model", f"{said['model']} ({chosen})"),
            (
                "data",
                f"{data['bags']} bags ({classes}), {data['instances']} instances ({low} to {high} a bag, median "
                f"{middle:g}), {_count(data['features'], 'feature')}{', sparse' if data['sparse'] else ''}",
            ),
        ]
        if said["positive_label"] is not None:
            lines.append(("positive", f"class {said['positive_label']}"))
        lines += [(_title(said, part), _program_line(part)) for part in said["programs"]]
        lines += [
            ("solver", f"{said['solver']}, scheme {said['scheme']}"),
            *_attempt_lines(said["programs"]),
            ("status", f"{said['status']}, point {said['point']}{', ' if said['message'] else ''}{said['message']}"),
            ("objective", "-" if said["objective"] is None else f"{said['objective']:.8g}"),
            ("certificate", _certificate_line(said["certificate"])),
            ("iterations", f"{said['iterations']} in {_count(len(said['history']), 'step')}"),
            ("seconds", ", ".join(f"{name} {value:.3g}" for name, value in seconds.items())),
            ("training", f"accuracy {said['train_accuracy']:.4g}"),
            *self._bounds_line(),
            *([("sparsity", sparsity_line(said["sparsity"]))] if said["sparsity"] else []),
            ("versions", ", ".join(f"{name} {value}" for name, value in said["versions"].items())),
        ]
        return "\n".join(f"{name:<12}{text}" for name, text in lines)

    def _bounds_line(self) -> list[tuple[str, str]]:
        if self.content["bounds"] is None:
            return []
        return [("bounds", self.content["bounds"]["reason"] if self.bounds is None else self.bounds.line())]


def reported(cls: type, fitted: Fitted) -> Report:
    """The report of a fit."""
    from milopt.estimator.names import name_of

    training, results = fitted.training, fitted.results
    each = fitted.program_scores(training.bags)
    scores = fitted.by_class(each)
    chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    classes = training.classes if training.positive is None else training.classes[[training.positive]]
    programs: list[Json] = [
        {"class": _plain(label)} | _part(result) for label, result in zip(classes.tolist(), results, strict=True)
    ]
    proved = [_proved(*one) for one in zip(results, each, training.signs(), strict=True)]
    for part, one in zip(programs, proved, strict=True):
        part["bounds"] = _told(one)
    least = max(proved, key=lambda one: one.B_best if isinstance(one, Bounds) else math.inf)
    worst = min(results, key=lambda result: _FROM_BAD.index(result.termination))
    compiling = fitted.declare_jit_seconds + sum(result.seconds.jit for result in results)
    spent = {
        "declare": fitted.declare_seconds,
        "compile": sum(result.seconds.build for result in results),
        "solve": sum(result.seconds.solve for result in results),
        "scheme": sum(result.seconds.scheme for result in results),
        "jit": compiling,
        "total": fitted.declare_seconds + fitted.declare_jit_seconds + sum(one.seconds.total for one in results),
    }
    return Report(
        {
            "model": name_of(cls),
            "parameters": _parameters(fitted.given),
            "resolved": _resolved(fitted),
            "solver": _joined(result.solver for result in results),
            "scheme": _joined(result.scheme for result in results),
            "data": training.sizes(),
            "positive_label": _plain(training.positive_label),
            "status": str(worst.termination),
            "point": str(min((result.point for result in results), key=tuple(PointStatus).index)),
            "message": " ".join(dict.fromkeys(said for result in results for said in _said(result))),
            "objective": _number(sum(result.objective for result in results)),
            "certificate": _worst(results),
            "seconds": spent,
            "iterations": sum(result.iterations for result in results),
            "history": [step for part in programs for step in part["history"]],
            "train_accuracy": float(np.average(chosen == training.place)),
            "bounds": _told(least),
            "sparsity": sparsity(results),
            "programs": programs,
            "versions": dict(fitted.versions),
        },
        least if isinstance(least, Bounds) else None,
    )


def versions(results: Sequence[Result]) -> dict[str, str]:
    """What a fit was made with."""
    import scipy
    import sklearn

    import milopt
    from milopt.solving import registry

    found = {
        "milopt": milopt.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": str(sklearn.__version__),
    }
    shown = solver_names(tuple(result.solver for result in results))
    for name in dict.fromkeys(one for names in shown for one in names.split("+")):
        try:
            known = registry.get(name).availability().version
        except MiloptError:
            # A solver object that was given as such need not be registered.
            continue
        if known:
            found[name] = known
    return found


def _parameters(model: Model) -> Json:
    return {name: _plain(getattr(model, name)) for name in model._fields}


def _resolved(fitted: Fitted) -> Json:
    """The hyper-parameters that depend on the data, or on chance, as they were used."""
    given = _parameters(fitted.given)
    return {name: value for name, value in _parameters(fitted.declarer).items() if value != given[name]}


def _part(result: Result) -> Json:
    return {
        "program": _size(result),
        "solver": result.solver,
        "scheme": result.scheme,
        "status": str(result.termination),
        "raw_status": result.raw_status,
        "point": str(result.point),
        "message": " ".join(_said(result)),
        "objective": _number(result.objective),
        "bound": _number(result.bound),
        "certificate": _certificate(result.certificate),
        "polished": result.polished is not None,
        "iterations": result.iterations,
        "seconds": {name: getattr(result.seconds, name) for name in ("build", "solve", "scheme", "jit", "total")},
        "history": [_step(step) for step in result.history],
        "attempts": [
            {
                "solver": one.solver,
                "status": str(one.termination),
                "point": str(one.point),
                "certificate": _certificate(one.certificate),
                "message": one.message,
                "seconds": one.seconds,
            }
            for one in result.attempts
        ],
    }


def _said(result: Result) -> list[str]:
    """What there is to say about a result, and about how its program came about."""
    return [sentence for sentence in (result.message, *result.program.remarks) if sentence]


def _size(result: Result) -> Json:
    """The kind and size of a program; rows and columns are None where finding them out would cost much."""
    from milopt.compilation.lowered import lowered

    program, size = result.program, result.size
    if program.oracles:
        rows, columns = (sum(np.size(one) for one in held.values()) for held in (result.duals, result.values))
        size = Size(rows, columns, 0)
    elif size is None and (form := lowered(program.core).form) is not None:
        size = Size(form.rows.count, form.n, sum(space.count for space in form.spaces))
    counts = {name: None if size is None else int(getattr(size, name)) for name in ("rows", "columns", "evaluations")}
    return {"name": program.name, "kind": program.kind} | counts


def _proved(result: Result, scores: Floats, y: Signs) -> Bounds | str | None:
    """Bounds, or in words why there are none; None for a program that declares no class to bound."""
    try:
        return generalisation(result, scores, y)
    except ConvexityError as error:
        return str(error)


def _told(proved: Bounds | str | None) -> Json | None:
    if proved is None:
        return None
    return proved.as_dict() if isinstance(proved, Bounds) else {"reason": proved}


def _step(step: Step) -> Json:
    return {
        "objective": _number(step.objective),
        "bound": _number(step.bound),
        "certificate": _certificate(step.certificate),
        "seconds": step.seconds,
        "changed": step.changed,
    }


def _certificate(certificate: Certificate | None) -> Json | None:
    if certificate is None:
        return None
    return {name: _number(getattr(certificate, name)) for name in ("primal", "dual", "gap")}


def _worst(results: Sequence[Result]) -> Json | None:
    found = [result.certificate for result in results if result.certificate is not None]
    if len(found) < len(results):
        return None
    return {name: _number(max(getattr(one, name) for one in found)) for name in ("primal", "dual", "gap")}


def _joined(names: Any) -> str:
    return ", ".join(dict.fromkeys(names))


def _number(value: float | None) -> float | None:
    """A number that JSON has; None for NaN and infinities."""
    return float(value) if value is not None and math.isfinite(value) else None


def _plain(value: object) -> object:
    """A hyper-parameter or label as JSON has it, or in words."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, Options):
        usual = vars(Options())
        asked = {name: one for name, one in vars(value).items() if one != usual[name]}
        return f"Options({', '.join(f'{name}={_asked(one)}' for name, one in asked.items())})"
    return repr(value)


def _asked(value: object) -> str:
    return repr(dict(value) if isinstance(value, Mapping) else value)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _title(said: Json, part: Json) -> str:
    return "program" if len(said["programs"]) == 1 else f"  {part['class']}"


def _program_line(part: Json) -> str:
    size = part["program"]
    counts = "" if size["rows"] is None else f", {size['rows']} rows, {size['columns']} columns"
    if size["evaluations"]:
        counts += f", {size['evaluations']} evaluations of functions"
    return f"{size['name']}: {size['kind']}{counts}"


def _attempt_lines(programs: Sequence[Json]) -> list[tuple[str, str]]:
    """Return a line per program that took more than one solver."""
    return [
        ("tried", ", ".join(f"{one['solver']} ({one['status']}, point {one['point']})" for one in part["attempts"]))
        for part in programs
        if len(part["attempts"]) > 1
    ]


def _certificate_line(certificate: Json | None) -> str:
    if certificate is None:
        return "none"
    return ", ".join(f"{name} {'?' if value is None else f'{value:.1e}'}" for name, value in certificate.items())
