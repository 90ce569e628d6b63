"""The public names of milopt: its exports, every model, solver, scheme, display and exception, and their methods."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib.metadata import entry_points

import milopt
import milopt.display
import milopt.errors
import milopt.models

ENTRY_POINT_GROUPS = ("milopt.solvers", "milopt.models", "milopt.schemes")


def public_objects() -> dict[str, object]:
    """Return the public classes and functions by their dotted names."""
    names = [f"milopt.{name}" for name in milopt.__all__]
    names += [f"milopt.models.{name}" for name in milopt.models.__all__]
    names += [f"milopt.display.{name}" for name in milopt.display.__all__]
    names += [f"milopt.errors.{name}" for name, value in vars(milopt.errors).items() if inspect.isclass(value)]
    for group in ENTRY_POINT_GROUPS:
        names += [point.value.replace(":", ".") for point in entry_points(group=group) if _is_own(point.value)]
    objects = {name: _resolve(name) for name in names}
    unique = {id(value): name for name, value in reversed(objects.items()) if _is_documented_kind(value)}
    return {name: objects[name] for name in sorted(unique.values())}


def public_methods() -> dict[str, object]:
    """Return the public methods that milopt defines on its public classes, by their dotted names."""
    return {
        f"{name}.{method}": function
        for name, value in public_objects().items()
        if inspect.isclass(value)
        for method, function in _methods(value)
    }


def _methods(owner: type) -> Iterator[tuple[str, object]]:
    for name, value in vars(owner).items():
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if inspect.isfunction(function) and not name.startswith("_"):
            yield name, function


def _is_own(path: str) -> bool:
    return path.startswith("milopt.")


def _is_documented_kind(value: object) -> bool:
    return inspect.isclass(value) or inspect.isfunction(value)


def _resolve(name: str) -> object:
    from importlib import import_module

    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)
