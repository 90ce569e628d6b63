"""Fitted models in one file, without pickle: the model's name, its hyper-parameters, training set and answers.

Scores come from a program, and a program is declared from data: so the file holds the data and the solution, and
loading declares the program again, without solving. A file names a model and never a module: only registered models
are looked up, and a class of a person's own is passed to `load_model`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

import milopt
from milopt.archive import as_path, read, written, wrong_content
from milopt.arrays import Floats
from milopt.bag_kernels.grid_kernel import GridKernel
from milopt.compilation.status import PointStatus
from milopt.data.windows import Cut
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import DeclarationError, ModelFileError
from milopt.estimator.encoding import Encoder, decoded
from milopt.estimator.field_types import check_fields, fits, hints_of
from milopt.estimator.fitted import Fitted, Model
from milopt.estimator.names import registered_name
from milopt.estimator.positive_label import positive_place
from milopt.estimator.probes import check_probes, probe_scores
from milopt.estimator.training_set import TrainingSet
from milopt.outcome.result import FittedFunction, Result
from milopt.solving import registry

if TYPE_CHECKING:
    from milopt.estimator.classifier import BagClassifier

FORMAT = 2
READABLE = (1, FORMAT)
"""Files of format 1 have no probes."""
MAX_NAME_LENGTH = 200
"""Characters of a model's name, of its class and of a version, which messages repeat."""
_PLAIN = (
    *("solver", "scheme", "raw_status", "message", "log", "termination", "point", "objective", "bound", "values"),
    *("duals", "witnesses", "certificate", "polished", "iterations", "rebuilds", "seconds", "history", "attempts"),
    *("ensemble", "inertia", "size"),
)
"""The fields of a result besides its program and functions."""


def save_model(model: BagClassifier, fitted: Fitted, path: str | PathLike[str]) -> None:
    """Write the model; refused before anything is written where it holds what a file cannot."""
    file, encoder = as_path(path), Encoder()
    training = fitted.training
    header = {
        "format": FORMAT,
        "milopt": milopt.__version__,
        "model": registered_name(type(model)),
        "class": type(model).__name__,
        "parameters": _parameters(encoder, fitted.given),
        "declared with": _parameters(encoder, fitted.declarer),
        "features": model.n_features_in_,
        "feature names": encoder.encoded(getattr(model, "feature_names_in_", None), "feature_names_in_"),
        "windows": encoder.encoded(model.windows_in_, "windows_in_"),
        "bags": encoder.encoded(training.bags, "the training set"),
        "classes": encoder.encoded(training.classes, "classes_"),
        "place": encoder.encoded(training.place, "the labels"),
        "weight": encoder.encoded(training.weight, "the weights"),
        "scaling": encoder.encoded(training.scaling, "the scaling"),
        "declare seconds": fitted.declare_seconds,
        "declare jit seconds": fitted.declare_jit_seconds,
        "versions": fitted.versions,
        "probes": encoder.encoded(probe_scores(fitted), "the scores of the training bags"),
        "answers": [_answer(encoder, answer) for answer in fitted.solved],
    }
    text = json.dumps(header, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    written(file, text.encode(), encoder.arrays)


def load_model(path: str | PathLike[str], model: type[BagClassifier] | None = None) -> BagClassifier:
    """The fitted model of a file; `model` is its class, where that is a person's own and not registered."""
    file = as_path(path)
    header, arrays = read(file)
    try:
        content = json.loads(header)
        version, wrote, name, class_name = (content[key] for key in ("format", "milopt", "model", "class"))
        if not fits(version, int) or not fits((wrote, class_name, name), tuple[str, str, str | None]):
            raise ValueError("its format, its version or the name of its model is of another type")
        for one in map(str, (version, wrote, name, class_name)):
            if len(one) > MAX_NAME_LENGTH or not one.isprintable():
                raise ValueError(f"a name in its header is not printable or exceeds {MAX_NAME_LENGTH} characters")
    except Exception as error:  # JSON may hold anything
        raise wrong_content(file, "model", error) from error
    if version not in READABLE:
        raise ModelFileError(
            f"{file} was saved by milopt {wrote} in format {version}, and milopt {milopt.__version__} reads formats up "
            f"to {FORMAT}: install the version that saved it."
        )
    cls = _class(file, name, class_name, model)
    try:
        with np.errstate(all="ignore"):
            return _restored(cls, version, content, arrays)
    except Exception as error:  # a model may raise anything when it is declared from wrong content
        raise wrong_content(file, "model", error) from error


def _parameters(encoder: Encoder, model: Model) -> dict[str, Any]:
    return {name: encoder.encoded(getattr(model, name), f"its hyper-parameter {name}") for name in model._fields}


def _answer(encoder: Encoder, answer: Result) -> dict[str, Any]:
    plain = {name: encoder.encoded(getattr(answer, name), name) for name in _PLAIN}
    functions = {
        name: [encoder.encoded(one.points, name), encoder.encoded(one.coefficients, name)]
        for name, one in answer.functions.items()
    }
    return plain | {"program": answer.program.name, "functions": functions}


def _class(file: Path, name: str | None, class_name: str, given: type[BagClassifier] | None) -> type[BagClassifier]:
    from milopt.estimator.classifier import BagClassifier

    if given is not None:
        if not (isinstance(given, type) and issubclass(given, BagClassifier)):
            raise DeclarationError(f"model must be a class derived from milopt.BagClassifier, not {given!r}.")
        if given.__name__ != class_name:
            raise ModelFileError(f"{file} holds a {class_name}, not a {given.__name__}: give the class that it was.")
        return given
    if name is None:
        raise ModelFileError(
            f"{file} holds a {class_name}, which is not a registered model: give its class, as "
            f"load_model({str(file)!r}, model={class_name}), or milopt predict --model path/file.py:{class_name}."
        )
    if name not in registry.model_names():
        known = ", ".join(registry.model_names())
        raise ModelFileError(
            f"{file} holds the model {name!r}, which is not registered here (registered are {known}): install the "
            "package that brings it."
        )
    cls = registry.model(name)
    if not issubclass(cls, BagClassifier):
        raise ModelFileError(f"{file} holds the model {name!r}, which is here no class of milopt.BagClassifier.")
    return cls


def _restored(
    cls: type[BagClassifier], version: int, content: Mapping[str, Any], arrays: Mapping[str, Any]
) -> BagClassifier:
    def of(key: str) -> Any:
        return decoded(content[key], arrays)

    given = {name: decoded(code, arrays) for name, code in content["parameters"].items()}
    resolved = {name: decoded(code, arrays) for name, code in content["declared with"].items()}
    # Older files have no positive class: it was the second.
    positive = positive_place(given.get("positive"), of("classes"))
    training = TrainingSet(of("bags"), of("classes"), of("place"), of("weight"), of("scaling"), positive)
    _check_training(training)
    model = cls(**given)
    model.n_features_in_ = training.bags.dimension
    if content["features"] != model.n_features_in_:
        raise ValueError("its bags have another number of features")
    declarer, seconds, versions = cls(**resolved), content["declare seconds"], content["versions"]
    compiling = content.get("declare jit seconds", 0.0)  # older files do not have it
    if not fits(seconds, float) or not fits(compiling, float) or not fits(versions, dict[str, str]):
        raise ValueError("its seconds or versions are of another type")
    fitted = Fitted(cls(**given), declarer, training, float(seconds), dict(versions), (), float(compiling))
    _check_grids(fitted)
    pairs = zip(content["answers"], fitted.programs(), strict=True)
    fitted.solved = tuple(_result(code, program, arrays) for code, program in pairs)
    probes = of("probes") if version > 1 or "probes" in content else None
    if probes is not None:
        check_probes(fitted, *probes)
    names = of("feature names")
    if names is not None:
        if not isinstance(names, np.ndarray) or names.shape != (model.n_features_in_,):
            raise ValueError("its feature names do not fit its features")
        vars(model)["feature_names_in_"] = names
    # Older files do not tell.
    model.windows_in_ = decoded(content.get("windows"), arrays)
    if not isinstance(model.windows_in_, Cut | NoneType):
        raise ValueError("its windows are of another type")
    model.classes_ = training.classes
    model._fitted = fitted
    return model


def _check_training(training: TrainingSet) -> None:
    """Raise a ValueError if bags, classes, labels, weights and scaling are not those of one training set."""
    check_fields(training)
    count, classes = len(training.bags), training.classes
    if not training.place.shape == training.weight.shape == (count,):
        raise ValueError("bags, labels and weights do not match")
    if classes.ndim != 1 or classes.size < 2 or len(set(classes.tolist())) < classes.size:
        raise ValueError("its classes are not two or more different labels")
    if training.place.min() < 0 or training.place.max() >= classes.size:
        raise ValueError("a label is none of its classes")
    if not np.isfinite(training.weight).all() or (training.weight < 0).any():
        raise ValueError("a weight is not a number of at least 0")
    scaling = training.scaling
    for part in (scaling.shift, scaling.divisor):
        if part is not None and (part.shape != (training.bags.dimension,) or not np.isfinite(part).all()):
            raise ValueError("its scaling does not fit its features")
    if scaling.divisor is not None and not (scaling.divisor > 0).all():
        raise ValueError("its scaling divides by a number that is not positive")


def _check_grids(fitted: Fitted) -> None:
    """Raise a ValueError if a kernel's grid is not that of the given kernel, or of the training bags.

    A cut between two values of the probes could move without a change of their scores.
    """
    for name in fitted.given._fields:
        given, kernel = getattr(fitted.given, name), getattr(fitted.declarer, name)
        if isinstance(given, GridKernel) and given.fitted_to(fitted.training.bags) != kernel:
            raise ValueError(f"the grid of its {name} is not that of its training bags")


def _result(code: Mapping[str, Any], program: Program | SemiInfinite, arrays: Mapping[str, Any]) -> Result:
    # Older files tell of no inertia and of no size.
    newer = ("inertia", "size")
    plain = {name: decoded(code.get(name) if name in newer else code[name], arrays) for name in _PLAIN}
    for name in _PLAIN:
        if not fits(plain[name], hints_of(Result)[name]):
            raise ValueError(f"its {name} is of another type")
    has_point = plain["point"] is not PointStatus.NONE
    for name, variable in program.variables.items() if has_point else ():
        if np.shape(plain["values"][name]) != variable.shape:
            raise ValueError(f"the values of {name} do not fit its program")
    functions: dict[str, FittedFunction] = {}
    for name, function in program.functions.items():
        points, coefficients = (decoded(part, arrays) for part in code["functions"][name])
        if coefficients.shape != points.shape[:1] or not fits(coefficients, Floats):
            raise ValueError(f"the coefficients of {name} do not fit its points")
        functions[name] = FittedFunction(function.kernel, points, coefficients)
    return Result(program=program, functions=functions, **plain)
