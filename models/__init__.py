"""The methods, one a file; each declares programs and never mentions a solver. Each is loaded when first touched."""

from __future__ import annotations

_HOME = {
    "BoxCountingSVM": "box_svm",
    "GMIL1": "gmil1",
    "LSSVM": "ls_svm",
    "MILES": "miles",
    "MIORDM": "miordm",
    "MIRSVM": "mirsvm",
    "MISVM": "mi_svm",
    "ODM": "odm",
    "SAFE": "safe",
    "SetKernelSVM": "set_kernel_svm",
    "ShapeletBoost": "shapelet_boost",
    "SoftKSC": "soft_ksc",
    "SpectralBagClustering": "spectral_clustering",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
