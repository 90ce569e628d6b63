"""The methods, one a file; each declares programs and never mentions a solver. Each is loaded when first touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from milopt.models.box_svm import BoxCountingSVM as BoxCountingSVM
    from milopt.models.gmil1 import GMIL1 as GMIL1
    from milopt.models.ls_svm import LSSVM as LSSVM
    from milopt.models.mi_svm import MISVM as MISVM
    from milopt.models.miles import MILES as MILES
    from milopt.models.miordm import MIORDM as MIORDM
    from milopt.models.mirsvm import MIRSVM as MIRSVM
    from milopt.models.odm import ODM as ODM
    from milopt.models.safe import SAFE as SAFE
    from milopt.models.set_kernel_svm import SetKernelSVM as SetKernelSVM
    from milopt.models.shapelet_boost import ShapeletBoost as ShapeletBoost
    from milopt.models.soft_ksc import SoftKSC as SoftKSC
    from milopt.models.spectral_clustering import SpectralBagClustering as SpectralBagClustering

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

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
