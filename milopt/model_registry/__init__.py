"""Models by name, and their hyper-parameters as text: what the command line and the evaluation speak in."""

from milopt.model_registry.lookup import (
    checked_model,
    get_model,
    held_model,
    hold,
    model_names,
    name_of,
    origin_of,
    portable_name,
)
from milopt.model_registry.settings import parse_grid, parse_settings, spelled_grid, spelled_settings
from milopt.model_registry.values import parse_value, spelled

__all__ = [
    "checked_model",
    "get_model",
    "held_model",
    "hold",
    "model_names",
    "name_of",
    "origin_of",
    "parse_grid",
    "parse_settings",
    "parse_value",
    "portable_name",
    "spelled",
    "spelled_grid",
    "spelled_settings",
]
