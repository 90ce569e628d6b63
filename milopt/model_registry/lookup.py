"""Lookup of model classes by name: registered models (entry points `milopt.models`), and classes in files of users.

A name can be sent to another process, which is not possible for a class in a file of a user. `identify_code` identifies
the code behind a name, so that processes can check that they use the same code.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from weakref import WeakKeyDictionary

import milopt
from milopt.errors import DeclarationError
from milopt.estimator import BagClassifier
from milopt.name_suggestions import quote
from milopt.solving import registry

_NAMES_OF_FILE_CLASSES: WeakKeyDictionary[type, str] = WeakKeyDictionary()
"""Names `path/file.py:Class` under which classes in files of users were requested, by class."""
_GIVEN_MODELS: dict[str, type[BagClassifier]] = {}
"""Classes that the user gave as objects, by portable name; this process does not look them up by name."""


def model_names() -> tuple[str, ...]:
    """Return the names of all registered models."""
    return tuple(registry.model_names())


def get_model(name: str) -> type[BagClassifier]:
    """Return the model class of a registered name, or of `path/file.py:Class`, a class in a file of the user."""
    cls = check_model(registry.model_class(name), name)
    if _names_class_in_file(name):
        _NAMES_OF_FILE_CLASSES[cls] = name
    return cls


def check_model(cls: type, name: str) -> type[BagClassifier]:
    """Return a class; raise `DeclarationError` if it is not a `BagClassifier` or lacks a method such as `declare`."""
    if not issubclass(cls, BagClassifier):
        raise DeclarationError(f"{quote(name)} is not a model: its class must be derived from milopt.BagClassifier.")
    if inspect.isabstract(cls):
        missing = sorted(cls.__abstractmethods__)[0]
        raise DeclarationError(f"{quote(name)} is not a complete model: its class has no method {quote(missing)}.")
    return cls


def set_given_model(name: str, cls: type[BagClassifier] | None) -> None:
    """Set the class that `resolve_model` returns for a name; None restores the lookup by name."""
    if cls is not None:
        _GIVEN_MODELS[portable_name(name)] = cls
    else:
        _GIVEN_MODELS.pop(portable_name(name), None)


def resolve_model(name: str) -> type[BagClassifier]:
    """Return the class that the user gave for a name in this process, or else the class found by the name."""
    return _GIVEN_MODELS.get(portable_name(name)) or get_model(name)


def name_of(cls: type) -> str:
    """Return the registered name of a model class, or the name `path/file.py:Class` by which it can be requested.

    Raise `DeclarationError` if it has neither.
    """
    if cls in _NAMES_OF_FILE_CLASSES:
        return _NAMES_OF_FILE_CLASSES[cls]
    entry = _entry_points_by_class().get(f"{cls.__module__}:{cls.__qualname__}")
    if entry is not None:
        return entry.name
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if file is None or not _names_class_in_file(f"{file}:") or not Path(file).is_file() or "." in cls.__qualname__:
        raise DeclarationError(f"{cls.__name__} has no name: define it at the top level of a file, or register it.")
    return f"{file}:{cls.__qualname__}"


def portable_name(name: str) -> str:
    """Return a name that other processes on this machine understand, with the full path of a file."""
    if not _names_class_in_file(name):
        return name
    path, _, within = name.rpartition(":")
    return f"{Path(path).expanduser().resolve()}:{within}"


def identify_code(name: str) -> str:
    """Return a text that identifies the code of a model: its name and the digest of its source file.

    For registered models, the text also contains the name and the version of the package.
    """
    if _names_class_in_file(name):
        path, _, within = name.rpartition(":")
        return f"{within} of a file with sha256 {sha256(Path(path).expanduser().read_bytes()).hexdigest()}"
    entries = [entry for entry in _entry_points_by_class().values() if entry.name == name]
    is_own = any(entry.value.startswith(f"{registry.MODELS}.") for entry in entries)
    package = f"milopt {milopt.__version__}"
    if entries and not is_own and entries[0].dist is not None:
        package = f"{entries[0].dist.name} {entries[0].dist.version}"
    return f"{name} of {package}{_source_digest(get_model(name))}"


def _names_class_in_file(name: str) -> bool:
    """Return True if a name has the form `path/file.py:Class`."""
    return name.rpartition(":")[0].endswith(".py")


def _source_digest(cls: type) -> str:
    """Return the digest of the source file of a class as text, empty if the file is unknown.

    It detects edits that do not change the version of the package.
    """
    file = inspect.getsourcefile(cls)
    return f", a file with sha256 {sha256(Path(file).read_bytes()).hexdigest()}" if file is not None else ""


def _entry_points_by_class() -> Mapping[str, EntryPoint]:
    """Return the entry points of the registered models by the path of their classes, `module:Class`."""
    return {entry.value: entry for entry in entry_points(group=registry.MODELS)}
