"""Saving and loading of fitted models in one file, without pickle.

A file contains the name of the model, its hyper-parameters, its training set and its results. Scores are computed by a
program, which cannot be stored. Loading therefore declares the program again from the training set, without solving it.
A file names a model, never a module: only registered models are looked up by name, and other classes must be passed to
`load_model`.
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
from milopt.archive import as_path, invalid_content_error, read_archive, write_archive
from milopt.arrays import Floats
from milopt.bag_kernels.grid_kernel import GridKernel
from milopt.compilation.status import PointStatus
from milopt.data.windows import WindowSettings
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import DeclarationError, ModelFileError
from milopt.estimator.encoding import Encoder, current_field_name, decode
from milopt.estimator.field_types import check_fields, declared_types, matches_type
from milopt.estimator.fitted import DeclaringModel, FittedState
from milopt.estimator.positive_label import positive_class_index
from milopt.estimator.probes import check_probes, make_probes
from milopt.estimator.registered_name import registered_name
from milopt.estimator.training_set import TrainingSet
from milopt.outcome.result import FittedFunction, Result
from milopt.solving import registry

if TYPE_CHECKING:
    from milopt.estimator.classifier import BagClassifier

FORMAT_VERSION = 2
"""Version of the format of new files."""
READABLE_FORMAT_VERSIONS = (1, FORMAT_VERSION)
"""Versions of the format that can be read. Files of format 1 have no probes."""
MAX_NAME_LENGTH = 200
"""Maximum number of characters of the names and versions in a file, since error messages repeat them."""
_RESULT_FIELDS = (
    *("solver", "scheme", "raw_status", "message", "log", "termination", "point", "objective", "bound", "values"),
    *("duals", "witnesses", "certificate", "polished", "iterations", "rebuilds", "seconds", "history", "attempts"),
    *("ensemble", "inertia", "size", "form"),
)
"""Fields of a result besides its program and functions."""


def save_model(model: BagClassifier, fitted: FittedState, path: str | PathLike[str]) -> None:
    """Write a fitted model to a file; raise `ModelFileError` before writing if a value cannot be stored."""
    file, encoder = as_path(path), Encoder()
    training = fitted.training
    header = {
        "format": FORMAT_VERSION,
        "milopt": milopt.__version__,
        "model": registered_name(type(model)),
        "class": type(model).__name__,
        "parameters": _encode_parameters(encoder, fitted.given),
        "declared with": _encode_parameters(encoder, fitted.declaring_model),
        "features": model.n_features_in_,
        "feature names": encoder.encode(getattr(model, "feature_names_in_", None), "feature_names_in_"),
        "windows": encoder.encode(model.windows_in_, "windows_in_"),
        "bags": encoder.encode(training.bags, "the training set"),
        "classes": encoder.encode(training.classes, "classes_"),
        "place": encoder.encode(training.class_indices, "the labels"),
        "weight": encoder.encode(training.weight, "the weights"),
        "scaling": encoder.encode(training.scaling, "the scaling"),
        "declare seconds": fitted.declare_seconds,
        "declare jit seconds": fitted.declare_jit_seconds,
        "versions": fitted.versions,
        "probes": encoder.encode(make_probes(fitted), "the scores of the training bags"),
        "answers": [_encode_result(encoder, answer) for answer in fitted.stored_results],
    }
    text = json.dumps(header, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    write_archive(file, text.encode(), encoder.arrays)


def load_model(path: str | PathLike[str], model: type[BagClassifier] | None = None) -> BagClassifier:
    """Load a fitted model from a file that `BagClassifier.save` wrote.

    Parameters
    ----------
    path : str or path-like
        File to read.
    model : type or None, default=None
        Class of the model. Only needed if the model is not registered.

    Returns
    -------
    BagClassifier
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file cannot be read or was changed, if its model is not registered and `model` is None, or if `model` is
        another class than that of the saved model.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> import milopt
    >>> from milopt.models import SetKernelSVM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model"
    >>> model = SetKernelSVM().fit(bags, y)
    >>> model.save(path)
    >>> loaded = milopt.load_model(path)
    >>> np.allclose(loaded.decision_function(bags), model.decision_function(bags))
    True
    """
    file = as_path(path)
    header, arrays = read_archive(file)
    try:
        content = json.loads(header)
        version, wrote, name, class_name = (content[key] for key in ("format", "milopt", "model", "class"))
        if not matches_type(version, int) or not matches_type((wrote, class_name, name), tuple[str, str, str | None]):
            raise ValueError("its format, its version or the name of its model is of another type")
        for text in map(str, (version, wrote, name, class_name)):
            if len(text) > MAX_NAME_LENGTH or not text.isprintable():
                raise ValueError(f"a name in its header is not printable or exceeds {MAX_NAME_LENGTH} characters")
    except Exception as error:  # the JSON may contain anything
        raise invalid_content_error(file, "model", error) from error
    if version not in READABLE_FORMAT_VERSIONS:
        raise ModelFileError(
            f"{file} was saved by milopt {wrote} in format {version}, and milopt {milopt.__version__} reads formats up "
            f"to {FORMAT_VERSION}: install the version that saved it."
        )
    cls = _find_model_class(file, name, class_name, model)
    try:
        with np.errstate(all="ignore"):
            return _build_fitted_model(cls, version, content, arrays)
    except Exception as error:  # a program declared from wrong content may raise any error
        raise invalid_content_error(file, "model", error) from error


def _encode_parameters(encoder: Encoder, model: DeclaringModel) -> dict[str, Any]:
    """Encode the hyper-parameters of a model and the private attributes that `declare` reads, by name."""
    names = {name: name for name in model._fields} | {_name_in_file(name): name for name in model._program_data}
    return {key: encoder.encode(getattr(model, name), f"its hyper-parameter {key}") for key, name in names.items()}


def _build_unfitted_model(cls: type[BagClassifier], values: Mapping[str, Any]) -> BagClassifier:
    """Return an unfitted model with decoded values of a file: hyper-parameters, and attributes that `declare` reads."""
    data = {name: values.get(_name_in_file(name)) for name in cls._program_data}
    saved_names = set(map(_name_in_file, data))
    model = cls(**{name: value for name, value in values.items() if name not in saved_names})
    for name, value in data.items():
        setattr(model, name, value)
    return model


def _name_in_file(attribute: str) -> str:
    """Return the name of a private attribute in files: without the leading underscore."""
    return attribute.removeprefix("_")


def _encode_result(encoder: Encoder, answer: Result) -> dict[str, Any]:
    """Encode a result without its program."""
    plain = {name: encoder.encode(getattr(answer, name), name) for name in _RESULT_FIELDS}
    functions = {
        name: [encoder.encode(part, name) for part in _stored_parts(function)]
        for name, function in answer.functions.items()
    }
    return plain | {"program": answer.program.name, "functions": functions}


def _stored_parts(function: FittedFunction) -> list[Any]:
    """Return the points and coefficients of a function, and its weights if its kernel has features."""
    return [function.points, function.coefficients, *([] if function.weights is None else [function.weights])]


def _find_model_class(
    file: Path, name: str | None, class_name: str, given: type[BagClassifier] | None
) -> type[BagClassifier]:
    """Return the class of the saved model: the given one, or else the registered one."""
    from milopt.estimator.classifier import BagClassifier

    if given is not None:
        if not (isinstance(given, type) and issubclass(given, BagClassifier)):
            raise DeclarationError(f"model must be a class derived from milopt.BagClassifier, not {given!r}.")
        if given.__name__ != class_name:
            raise ModelFileError(
                f"{file} holds a {class_name}, not a {given.__name__}: give the class of the saved model."
            )
        return given
    if name is None:
        raise ModelFileError(
            f"{file} holds a {class_name}, which is not a registered model: give its class, as "
            f"load_model({str(file)!r}, model={class_name}), or milopt predict --model path/file.py:{class_name}."
        )
    if name not in registry.model_names():
        known = ", ".join(registry.model_names())
        raise ModelFileError(
            f"{file} holds the model {name!r}, which is not registered here (registered models: {known}): install the "
            "package that provides it."
        )
    cls = registry.model_class(name)
    if not issubclass(cls, BagClassifier):
        raise ModelFileError(f"{file} holds the model {name!r}, which is not a subclass of milopt.BagClassifier here.")
    return cls


def _build_fitted_model(
    cls: type[BagClassifier], version: int, content: Mapping[str, Any], arrays: Mapping[str, Any]
) -> BagClassifier:
    """Build the fitted model that a file describes; raise an error if parts of the file do not fit together.

    `version` is the version of the file format, `content` the JSON header, and `arrays` the stored arrays by name.
    """

    def decode_entry(key: str) -> Any:
        """Decode the entry `key` of the header."""
        return decode(content[key], arrays)

    given, resolved = (
        {current_field_name(cls, name): decode(code, arrays) for name, code in content[key].items()}
        for key in ("parameters", "declared with")
    )
    # Older files do not name the positive class, which was always the second class.
    positive = positive_class_index(given.get("positive"), decode_entry("classes"))
    training = TrainingSet(
        decode_entry("bags"),
        decode_entry("classes"),
        decode_entry("place"),
        decode_entry("weight"),
        decode_entry("scaling"),
        positive,
    )
    _check_training(training)
    model = _build_unfitted_model(cls, given)
    model.n_features_in_ = training.bags.dimension
    if content["features"] != model.n_features_in_:
        raise ValueError("its bags have another number of features")
    declaring_model, seconds, versions = (
        _build_unfitted_model(cls, resolved),
        content["declare seconds"],
        content["versions"],
    )
    compiling = content.get("declare jit seconds", 0.0)  # older files have no such entry
    if (
        not matches_type(seconds, float)
        or not matches_type(compiling, float)
        or not matches_type(versions, dict[str, str])
    ):
        raise ValueError("its seconds or versions are of another type")
    fitted = FittedState(
        _build_unfitted_model(cls, given),
        declaring_model,
        training,
        float(seconds),
        dict(versions),
        (),
        float(compiling),
    )
    _check_kernel_grids(fitted)
    pairs = zip(content["answers"], fitted.programs(), strict=True)
    fitted.stored_results = tuple(_decode_result(code, program, arrays) for code, program in pairs)
    probes = decode_entry("probes") if version > 1 or "probes" in content else None
    if probes is not None:
        check_probes(fitted, *probes)
    names = decode_entry("feature names")
    if names is not None:
        if not isinstance(names, np.ndarray) or names.shape != (model.n_features_in_,):
            raise ValueError("its feature names do not fit its features")
        vars(model)["feature_names_in_"] = names
    # Older files do not contain the windows.
    model.windows_in_ = decode(content.get("windows"), arrays)
    if not isinstance(model.windows_in_, WindowSettings | NoneType):
        raise ValueError("its windows are of another type")
    model.classes_ = training.classes
    model._fitted = fitted
    return model


def _check_training(training: TrainingSet) -> None:
    """Raise a ValueError if bags, classes, labels, weights and scaling do not belong to one training set."""
    check_fields(training)
    count, classes = len(training.bags), training.classes
    if not training.class_indices.shape == training.weight.shape == (count,):
        raise ValueError("bags, labels and weights do not match")
    if classes.ndim != 1 or classes.size < 2 or len(set(classes.tolist())) < classes.size:
        raise ValueError("its classes are not two or more different labels")
    if training.class_indices.min() < 0 or training.class_indices.max() >= classes.size:
        raise ValueError("a label is not one of its classes")
    if not np.isfinite(training.weight).all() or (training.weight < 0).any():
        raise ValueError("a weight is negative or not finite")
    scaling = training.scaling
    for part in (scaling.shift, scaling.divisor):
        if part is not None and (part.shape != (training.bags.dimension,) or not np.isfinite(part).all()):
            raise ValueError("its scaling does not fit its features")
    if scaling.divisor is not None and not (scaling.divisor > 0).all():
        raise ValueError("its scaling divides by a number that is not positive")


def _check_kernel_grids(fitted: FittedState) -> None:
    """Raise a ValueError if the grid of a saved kernel is not the one that its training bags give.

    The probes would not detect a grid line that was moved between two of their values.
    """
    for name in fitted.given._fields:
        given, kernel = getattr(fitted.given, name), getattr(fitted.declaring_model, name)
        if isinstance(given, GridKernel) and given.fitted_to(fitted.training.bags) != kernel:
            raise ValueError(f"the grid of its {name} is not that of its training bags")


def _decode_result(code: Mapping[str, Any], program: Program | SemiInfinite, arrays: Mapping[str, Any]) -> Result:
    """Decode a result, and raise a ValueError if it does not fit its program."""
    # Older files do not contain the inertia, the size and the form.
    new_fields = {"inertia": None, "size": None, "form": ""}
    plain = {
        name: decode(code.get(name, new_fields[name]) if name in new_fields else code[name], arrays)
        for name in _RESULT_FIELDS
    }
    for name in _RESULT_FIELDS:
        if not matches_type(plain[name], declared_types(Result)[name]):
            raise ValueError(f"its {name} is of another type")
    has_point = plain["point"] is not PointStatus.NONE
    for name, variable in program.variables.items() if has_point else ():
        if np.shape(plain["values"][name]) != variable.shape:
            raise ValueError(f"the values of {name} do not fit its program")
    functions: dict[str, FittedFunction] = {}
    for name, function in program.functions.items():
        # There are weights if the kernel has features; older files contain points and coefficients only.
        points, coefficients, *others = (decode(part, arrays) for part in code["functions"][name])
        weights = others[0] if others else None
        if weights is not None and (not matches_type(weights, Floats) or weights.ndim != 1):
            raise ValueError(f"the weights of {name} are not a vector")
        if coefficients.shape != points.shape[:1] or not matches_type(coefficients, Floats):
            raise ValueError(f"the coefficients of {name} do not fit its points")
        functions[name] = FittedFunction(function.kernel, points, coefficients, weights=weights)
    return Result(program=program, functions=functions, **plain)
