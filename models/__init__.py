"""The methods, one a file; each declares programs and never mentions a solver. Each is loaded when first touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from milopt.models.box_svm import BoxCountingSVM as BoxCountingSVM
    from milopt.models.gmil1 import GMIL1 as GMIL1
    from milopt.models.mi_svm import MISVM as MISVM
    from milopt.models.miles import MILES as MILES
    from milopt.models.set_kernel_svm import SetKernelSVM as SetKernelSVM
    from milopt.models.shapelet_boost import ShapeletBoost as ShapeletBoost

_HOME = {
    "BoxCountingSVM": "box_svm",
    "GMIL1": "gmil1",
    "MILES": "miles",
    "MISVM": "mi_svm",
    "SetKernelSVM": "set_kernel_svm",
    "ShapeletBoost": "shapelet_boost",
}

__all__ = [*_HOME]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
