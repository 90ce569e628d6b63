"""Hyper-parameters of a model as `name=value` texts, checked against the fields of its class."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping

from milopt.declaration.kernels.kernel import Kernel, as_kernel
from milopt.errors import ParameterError
from milopt.estimator.fields import annotation_of
from milopt.model_registry.lookup import name_of
from milopt.model_registry.values import KERNELS, parse_value, parse_values, spelled, spelled_part
from milopt.names import quoted, unknown


def parse_settings(cls: type, items: Iterable[str]) -> dict[str, object]:
    """Values by field from texts such as `C=10` or `kernel=rbf(s=0.1)`."""
    return {name: _fitting(cls, name, parse_value(text), text) for name, text in _pairs(cls, items)}


def parse_grid(cls: type, items: Iterable[str]) -> dict[str, tuple[object, ...]]:
    """Candidates by field from texts such as `C=0.1,1,10` or `kernel=linear,rbf(s=median)`."""
    grid: dict[str, tuple[object, ...]] = {}
    for name, text in _pairs(cls, items):
        candidates = parse_values(text)
        if not candidates:
            raise ParameterError(f"The grid of {quoted(name)} is empty: write {name}=first,second,...")
        grid[name] = tuple(_fitting(cls, name, value, source) for value, source in candidates)
    return grid


def spelled_settings(settings: Mapping[str, object]) -> tuple[str, ...]:
    """The texts that `parse_settings` reads."""
    return tuple(f"{name}={spelled(value)}" for name, value in settings.items())


def spelled_grid(grid: Mapping[str, Iterable[object]]) -> tuple[str, ...]:
    """The texts that `parse_grid` reads."""
    return tuple(f"{name}={','.join(map(spelled_part, values))}" for name, values in grid.items())


def fields_of(cls: type) -> dict[str, object]:
    """The hyper-parameters of a model class with their defaults, its own before those of every model."""
    return {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}


def check_field(cls: type, name: str) -> None:
    """Say which names are near, where a class has no such hyper-parameter."""
    if name not in (known := fields_of(cls)):
        raise unknown("hyper-parameter", name, list(known), f" in {name_of(cls)}")


def _pairs(cls: type, items: Iterable[str]) -> list[tuple[str, str]]:
    """(field, text of its value) of each item."""
    found = dict[str, str]()
    for item in items:
        name, equals, text = item.partition("=")
        name = name.strip()
        if not equals:
            raise ParameterError(f"A hyper-parameter is set as name=value, such as C=10, not as {quoted(item)}.")
        check_field(cls, name)
        if name in found:
            raise ParameterError(f"{quoted(name)} is set twice: as {found[name]} and as {text}.")
        found[name] = text
    return list(found.items())


def _fitting(cls: type, name: str, value: object, text: str) -> object:
    """The value in the type that the field has, where the text leaves a choice."""
    default = fields_of(cls)[name]
    if isinstance(default, Kernel):
        return _kernel(name, value)
    if isinstance(default, str) and not isinstance(value, str):
        # A word of the field's own, such as `none` or `linear`, may be a value elsewhere.
        return text.strip() if isinstance(value, Kernel) or _is_text(cls, name) else value
    if isinstance(default, float) and type(value) is int:
        return float(value)
    return value


def _is_text(cls: type, name: str) -> bool:
    """Whether a field takes strings and nothing else."""
    return annotation_of(cls, name) in (str, "str")


def _kernel(name: str, value: object) -> Kernel:
    if isinstance(value, str):
        called = value.partition("(")[0].strip()
        if called.casefold() in KERNELS:
            raise ParameterError(f"{name} is given in quotes, as text: write {name}={value} without them.")
        raise unknown("kernel", called, list(KERNELS), f" (given as {name})")
    try:
        return as_kernel(value)
    except ParameterError:
        examples = "rbf, rbf(s=0.1), rbf(s=median), linear, polynomial(degree=2) or dtw(s=median)"
        raise ParameterError(f"{name} takes a kernel, such as {examples}, not {spelled(value)}.") from None
