"""Model classes by name: registered ones, found through the entry points `milopt.models`, and those of a person's file.

A name can be sent to another process, where a class of a person's own file could not; `origin_of` says whether it leads
to the same code there.
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
from milopt.names import quoted
from milopt.solving import registry

_GIVEN: WeakKeyDictionary[type, str] = WeakKeyDictionary()
"""The name by which a class of a person's own file was asked for."""
_HELD: dict[str, type[BagClassifier]] = {}
"""Classes that a person gave, by their name: in this process nothing needs to be imported for them."""


def model_names() -> tuple[str, ...]:
    """Every registered model."""
    return tuple(registry.model_names())


def get_model(name: str) -> type[BagClassifier]:
    """The model class of this name; `path/file.py:Class` is a class in a person's own file."""
    found = checked_model(registry.model(name), name)
    if _is_file(name):
        _GIVEN[found] = name
    return found


def checked_model(found: type, name: str) -> type[BagClassifier]:
    """The class of this name, which must be a whole model."""
    if not issubclass(found, BagClassifier):
        raise DeclarationError(f"{quoted(name)} is no model: its class must be derived from milopt.BagClassifier.")
    if inspect.isabstract(found):
        missing = sorted(found.__abstractmethods__)[0]
        raise DeclarationError(f"{quoted(name)} is no whole model: its class has no method {quoted(missing)}.")
    return found


def hold(name: str, cls: type[BagClassifier] | None) -> None:
    """Let `held_model` give this class for the name; None for the one that is found by it."""
    if cls is not None:
        _HELD[portable_name(name)] = cls
    else:
        _HELD.pop(portable_name(name), None)


def held_model(name: str) -> type[BagClassifier]:
    """The class that a person gave for this name in this process, or the one that is found by it."""
    return _HELD.get(portable_name(name)) or get_model(name)


def name_of(cls: type) -> str:
    """The registered name of a model class, or the path by which it was or can be asked for."""
    if cls in _GIVEN:
        return _GIVEN[cls]
    entry = _registered().get(f"{cls.__module__}:{cls.__qualname__}")
    if entry is not None:
        return entry.name
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None)
    if file is None or not _is_file(f"{file}:") or not Path(file).is_file() or "." in cls.__qualname__:
        raise DeclarationError(f"{cls.__name__} has no name: write it at the top of a file, or register it.")
    return f"{file}:{cls.__qualname__}"


def portable_name(name: str) -> str:
    """The name as another process on this machine understands it: the path of a file in full."""
    if not _is_file(name):
        return name
    path, _, within = name.rpartition(":")
    return f"{Path(path).expanduser().resolve()}:{within}"


def origin_of(name: str) -> str:
    """Which code a name stands for: its package with the version, and the digest of the file that it is written in."""
    if _is_file(name):
        path, _, within = name.rpartition(":")
        return f"{within} of a file with sha256 {sha256(Path(path).expanduser().read_bytes()).hexdigest()}"
    entries = [entry for entry in _registered().values() if entry.name == name]
    ours = any(entry.value.startswith(f"{registry.MODELS}.") for entry in entries)
    package = f"milopt {milopt.__version__}"
    if entries and not ours and entries[0].dist is not None:
        package = f"{entries[0].dist.name} {entries[0].dist.version}"
    return f"{name} of {package}{_digest(get_model(name))}"


def _is_file(name: str) -> bool:
    return name.rpartition(":")[0].endswith(".py")


def _digest(cls: type) -> str:
    """Of the source of a class, in words: a version does not change with every edit."""
    file = inspect.getsourcefile(cls)
    return f", a file with sha256 {sha256(Path(file).read_bytes()).hexdigest()}" if file is not None else ""


def _registered() -> Mapping[str, EntryPoint]:
    """The entry points by the class that they lead to."""
    return {entry.value: entry for entry in entry_points(group=registry.MODELS)}
