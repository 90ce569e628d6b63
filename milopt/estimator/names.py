"""What a model is called: its registered name, or that of its class."""

from __future__ import annotations

from milopt.errors import MiloptError
from milopt.solving import registry


def registered_name(cls: type) -> str | None:
    """The name under which this very class is registered, if it is."""
    for name in registry.model_names():
        try:
            if registry.model(name) is cls:
                return name
        except MiloptError:
            # Somebody's package is broken; that is told to whoever asks for its model.
            continue
    return None


def name_of(cls: type) -> str:
    """The registered name, else the name of the class."""
    return registered_name(cls) or cls.__name__
