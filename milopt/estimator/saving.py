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
from milopt.data.windows import Cut
from milopt.declaration.program import Program
from milopt.declaration.semi_infinite import SemiInfinite
from milopt.errors import DeclarationError, MiloptError, ModelFileError
from milopt.estimator.archive import as_path, read, written
from milopt.estimator.encoding import Encoder, decoded
from milopt.estimator.fitted import Fitted, Model
from milopt.estimator.names import registered_name
from milopt.estimator.training_set import TrainingSet
from milopt.outcome.certificate import Certificate
from milopt.outcome.ensemble import Ensemble
from milopt.outcome.inertia import Inertia
from milopt.outcome.result import FittedFunction, Result, Seconds, Step
from milopt.outcome.status import PointStatus, Termination
from milopt.solving import registry

if TYPE_CHECKING:
    from milopt.estimator.classifier import BagClassifier

FORMAT = 1
_LIES = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What comes of a file whose checksum holds, but not its content."""
_PLAIN: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("solver", "scheme", "raw_status", "message", "log"), str),
    "termination": Termination,
    "point": PointStatus,
    "objective": float,
    "bound": (float, NoneType),
    **dict.fromkeys(("values", "duals", "witnesses"), dict),
    **dict.fromkeys(("certificate", "polished"), (Certificate, NoneType)),
    "iterations": int,
    "rebuilds": int,
    "seconds": Seconds,
    "history": tuple,
    "attempts": tuple,
    "ensemble": (Ensemble, NoneType),
    "inertia": (Inertia, NoneType),
}
"""What a result is made of besides its program and functions."""


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
        "versions": fitted.versions,
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
        version = int(content["format"])
        wrote = str(content["milopt"])
        name, class_name = content["model"], str(content["class"])
    except (*_LIES, RecursionError) as error:
        raise _not_one(file, error) from error
    if version != FORMAT:
        raise ModelFileError(
            f"{file} was saved by milopt {wrote} in format {version}, and milopt {milopt.__version__} reads format "
            f"{FORMAT}: install the version that saved it."
        )
    cls = _class(file, name, class_name, model)
    try:
        return _restored(cls, content, arrays)
    except (*_LIES, RecursionError, MiloptError) as error:
        raise _not_one(file, error) from error


def _parameters(encoder: Encoder, model: Model) -> dict[str, Any]:
    return {name: encoder.encoded(getattr(model, name), f"its hyper-parameter {name}") for name in model._fields}


def _answer(encoder: Encoder, answer: Result) -> dict[str, Any]:
    plain = {name: encoder.encoded(getattr(answer, name), name) for name in _PLAIN}
    functions = {
        name: [encoder.encoded(one.points, name), encoder.encoded(one.coefficients, name)]
        for name, one in answer.functions.items()
    }
    return plain | {"program": answer.program.name, "functions": functions}


def _class(file: Path, name: object, class_name: str, given: type[BagClassifier] | None) -> type[BagClassifier]:
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
    if not isinstance(name, str) or name not in registry.model_names():
        known = ", ".join(registry.model_names())
        raise ModelFileError(
            f"{file} holds the model {name!r}, which is not registered here (registered are {known}): install the "
            "package that brings it."
        )
    cls = registry.model(name)
    if not issubclass(cls, BagClassifier):
        raise ModelFileError(f"{file} holds the model {name!r}, which is here no class of milopt.BagClassifier.")
    return cls


def _restored(cls: type[BagClassifier], content: Mapping[str, Any], arrays: Mapping[str, Any]) -> BagClassifier:
    def of(key: str) -> Any:
        return decoded(content[key], arrays)

    given = {name: decoded(code, arrays) for name, code in content["parameters"].items()}
    resolved = {name: decoded(code, arrays) for name, code in content["declared with"].items()}
    training = TrainingSet(of("bags"), of("classes"), of("place"), of("weight"), of("scaling"))
    if not training.place.shape == training.weight.shape == (len(training.bags),) or training.classes.size < 2:
        raise ValueError("bags, labels and weights do not match")
    model = cls(**given)
    fitted = Fitted(
        cls(**given), cls(**resolved), training, float(content["declare seconds"]), dict(content["versions"]), ()
    )
    pairs = zip(content["answers"], fitted.programs(), strict=True)
    fitted.solved = tuple(_result(code, program, arrays) for code, program in pairs)
    model.n_features_in_ = int(content["features"])
    names = of("feature names")
    if names is not None:
        vars(model)["feature_names_in_"] = names
    # Older files do not tell.
    model.windows_in_ = decoded(content.get("windows"), arrays)
    if not isinstance(model.windows_in_, Cut | NoneType):
        raise ValueError("its windows are of another type")
    model.classes_ = training.classes
    model._fitted = fitted
    return model


def _result(code: Mapping[str, Any], program: Program | SemiInfinite, arrays: Mapping[str, Any]) -> Result:
    # Older files tell of no inertia.
    plain = {name: decoded(code.get(name) if name == "inertia" else code[name], arrays) for name in _PLAIN}
    for name, kind in _PLAIN.items():
        if not isinstance(plain[name], kind):
            raise ValueError(f"its {name} is of another type")
    if not all(isinstance(step, Step) for step in plain["history"]):
        raise ValueError("its history is of another type")
    has_point = plain["point"] is not PointStatus.NONE
    for name, variable in program.variables.items() if has_point else ():
        if np.shape(plain["values"][name]) != variable.shape:
            raise ValueError(f"the values of {name} do not fit its program")
    functions: dict[str, FittedFunction] = {}
    for name, function in program.functions.items():
        points, coefficients = (decoded(part, arrays) for part in code["functions"][name])
        if coefficients.shape != points.shape[:1]:
            raise ValueError(f"the coefficients of {name} do not fit its points")
        functions[name] = FittedFunction(function.kernel, points, coefficients)
    return Result(program=program, functions=functions, **plain)


def _not_one(file: Path, error: Exception) -> ModelFileError:
    said = str(error).strip("'\"").partition("\n")[0][:200] or type(error).__name__
    return ModelFileError(f"{file} does not hold what a saved model holds ({said.rstrip('.')}).")
