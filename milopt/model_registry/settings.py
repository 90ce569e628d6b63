"""Hyper-parameters of a model as `name=value` texts, checked against the fields of its class."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping

from milopt.declaration.kernels.kernel import Kernel, as_kernel
from milopt.errors import ParameterError
from milopt.estimator.fields import annotation_of
from milopt.estimator.kernel_parameters import KERNELS
from milopt.model_registry.lookup import name_of
from milopt.model_registry.values import format_nested_value, format_value, parse_value, parse_values
from milopt.name_suggestions import quote, unknown_name_error


def parse_settings(cls: type, items: Iterable[str]) -> dict[str, object]:
    """Return values by hyper-parameter from texts such as `C=10` or `kernel=rbf(s=0.1)`."""
    return {
        name: _convert_to_field_type(cls, name, parse_value(text), text) for name, text in _split_settings(cls, items)
    }


def parse_grid(cls: type, items: Iterable[str]) -> dict[str, tuple[object, ...]]:
    """Return candidates by hyper-parameter from texts such as `C=0.1,1,10` or `kernel=linear,rbf(s=median)`."""
    grid: dict[str, tuple[object, ...]] = {}
    for name, text in _split_settings(cls, items):
        candidates = parse_values(text)
        if not candidates:
            raise ParameterError(f"The grid of {quote(name)} is empty: write {name}=first,second,...")
        grid[name] = tuple(_convert_to_field_type(cls, name, value, source) for value, source in candidates)
    return grid


def format_settings(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Return values by hyper-parameter as texts `name=value`, which `parse_settings` reads."""
    return tuple(f"{name}={format_value(value)}" for name, value in settings.items())


def format_grid(grid: Mapping[str, Iterable[object]]) -> tuple[str, ...]:
    """Return candidates by hyper-parameter as texts `name=first,second`, which `parse_grid` reads."""
    return tuple(f"{name}={','.join(map(format_nested_value, values))}" for name, values in grid.items())


def fields_of(cls: type) -> dict[str, object]:
    """Return the hyper-parameters of a model class with their defaults; inherited ones come last."""
    return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}


def check_field(cls: type, name: str) -> None:
    """Raise an error with suggestions if a class does not have a hyper-parameter of this name."""
    if name not in (known := fields_of(cls)):
        raise unknown_name_error("hyper-parameter", name, list(known), f" in {name_of(cls)}")


def _split_settings(cls: type, items: Iterable[str]) -> list[tuple[str, str]]:
    """Split each item `name=value` into the name of a hyper-parameter and the text of its value.

    Raise `ParameterError` if an item has no "=", or if a name is unknown or occurs twice.
    """
    texts = dict[str, str]()
    for item in items:
        name, equals, text = item.partition("=")
        name = name.strip()
        if not equals:
            raise ParameterError(f"A hyper-parameter is set as name=value, such as C=10, not as {quote(item)}.")
        check_field(cls, name)
        if name in texts:
            raise ParameterError(f"{quote(name)} is set twice: as {texts[name]} and as {text}.")
        texts[name] = text
    return list(texts.items())


def _convert_to_field_type(cls: type, name: str, value: object, text: str) -> object:
    """Convert a parsed value to the type of the field: a kernel, a string, or a float; return other values unchanged.

    `text` is the text that was parsed.
    """
    default = fields_of(cls)[name]
    if isinstance(default, Kernel):
        return _convert_to_kernel(name, value)
    if isinstance(default, str) and not isinstance(value, str):
        # For a field of strings, words such as `none` or `linear` are strings.
        return text.strip() if isinstance(value, Kernel) or _accepts_only_strings(cls, name) else value
    if isinstance(default, float) and type(value) is int:
        return float(value)
    return value


def _accepts_only_strings(cls: type, name: str) -> bool:
    """Return True if a field is annotated as a string."""
    return annotation_of(cls, name) in (str, "str")


def _convert_to_kernel(name: str, value: object) -> Kernel:
    """Convert a parsed value to a kernel, or raise an error with examples."""
    if isinstance(value, str):
        kernel_name = value.partition("(")[0].strip()
        if kernel_name.casefold() in KERNELS:
            raise ParameterError(f"{name} is a quoted string: write {name}={value} without quotes.")
        raise unknown_name_error("kernel", kernel_name, list(KERNELS), f" (given as {name})")
    try:
        return as_kernel(value)
    except ParameterError:
        examples = "rbf, rbf(s=0.1), rbf(s=median), linear, polynomial(degree=2) or dtw(s=median)"
        raise ParameterError(f"{name} must be a kernel, such as {examples}, not {format_value(value)}.") from None
