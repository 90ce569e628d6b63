"""Kernels by their names, and parameters of kernels by nested names such as `kernel__s`, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.random_boxes import RandomBoxes
from milopt.bag_kernels.set_kernels import Minimax, SetKernel
from milopt.declaration.kernels.alignment import DTW, GlobalAlignment
from milopt.declaration.kernels.combined import KernelProduct, KernelSum
from milopt.declaration.kernels.kernel import RBF, Kernel, Linear, Polynomial, as_kernel
from milopt.declaration.kernels.nystrom import Nystrom
from milopt.declaration.kernels.random_fourier import RandomFourier
from milopt.errors import ParameterError
from milopt.name_suggestions import unknown_name_error

KERNELS: Mapping[str, type] = {
    kernel.__name__.casefold(): kernel
    for kernel in (
        *(RBF, Linear, Polynomial, Nystrom, RandomFourier, KernelSum, KernelProduct, DTW, GlobalAlignment),
        *(BoxCounting, RandomBoxes, SetKernel, Minimax),
    )
}
"""Kernel classes by their names in texts."""


def resolve_kernel(kernel: object) -> Kernel:
    """Return a kernel; a name such as "rbf" stands for the kernel with its default parameters."""
    if not isinstance(kernel, str):
        return as_kernel(kernel)
    name = kernel.strip().casefold()
    if name not in KERNELS:
        raise unknown_name_error("kernel", kernel, list(KERNELS))
    made: Kernel = KERNELS[name]()
    return made


def kernel_parameters(name: str, kernel: Any) -> dict[str, Any]:
    """Return the parameters of a kernel by nested names: `kernel__s` for the parameter s of the field `kernel`.

    Return an empty dictionary if the value is not a kernel or the name of one.
    """
    if isinstance(kernel, str):
        kernel = KERNELS[kernel.casefold()]() if kernel.casefold() in KERNELS else None
    if not isinstance(kernel, Kernel):
        return {}
    values = {f"{name}__{field}": getattr(kernel, field) for field in _field_names(kernel)}
    for inner, value in list(values.items()):
        values |= kernel_parameters(inner, value) if isinstance(value, Kernel) else {}
    return values


def replace_parameter(name: str, kernel: object, path: str, value: object) -> Kernel:
    """Return a kernel with another value of the parameter `path`, such as "s", or "kernel__s" for a kernel inside it.

    `name` is the name of the kernel in error messages. Raise `ParameterError` if there is no such parameter.
    """
    resolved = resolve_kernel(kernel)
    field, nested, rest = path.partition("__")
    names = _field_names(resolved)
    if field not in names:
        raise ParameterError(f"{resolved!r} has no parameter {field!r}; it has {', '.join(names) or 'none'}.")
    inner = replace_parameter(f"{name}__{field}", getattr(resolved, field), rest, value) if nested else value
    changed: Kernel = replace(resolved, **{field: inner})  # type: ignore[type-var]  # its parameters are those of a dataclass
    return changed


def _field_names(kernel: Any) -> list[str]:
    """Return the names of the parameters of a kernel."""
    return [field.name for field in fields(kernel)] if is_dataclass(kernel) else []
