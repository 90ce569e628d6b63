"""Name of a model class: its registered name, or else the name of the class."""

from __future__ import annotations

from milopt.errors import MiloptError
from milopt.solving import registry


def registered_name(cls: type) -> str | None:
    """Return the name under which this class is registered, or None if it is not registered."""
    for name in registry.model_names():
        try:
            if registry.model_class(name) is cls:
                return name
        except MiloptError:
            # The package of this model is broken; the error is raised when that model is requested.
            continue
    return None


def registered_or_class_name(cls: type) -> str:
    """Return the registered name of a class, or else the name of the class."""
    return registered_name(cls) or cls.__name__
