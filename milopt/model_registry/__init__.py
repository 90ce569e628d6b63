"""Model classes by name, and hyper-parameters as text, for the command line and evaluations."""

from milopt.model_registry.lookup import (
    check_model,
    get_model,
    identify_code,
    model_names,
    name_of,
    portable_name,
    resolve_model,
    set_given_model,
)
from milopt.model_registry.settings import format_grid, format_settings, parse_grid, parse_settings
from milopt.model_registry.values import format_value, parse_value

__all__ = [
    "check_model",
    "format_grid",
    "format_settings",
    "format_value",
    "get_model",
    "identify_code",
    "model_names",
    "name_of",
    "parse_grid",
    "parse_settings",
    "parse_value",
    "portable_name",
    "resolve_model",
    "set_given_model",
]
