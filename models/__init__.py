"""The models, one per file. Each module is imported when its class is first used."""

from __future__ import annotations

_MODULE_OF = {
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
"""Module of each model class."""

__all__ = [*_MODULE_OF]


def __getattr__(name: str) -> object:
    """Import the module of a model, and return the model class."""
    from importlib import import_module

    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
