"""Optimisation models of multiple-instance learning: declare once, solve anywhere, proved.

Names are imported from their modules when they are first touched, so that `import milopt` costs next to nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"

_HOME = {
    "Bags": "milopt.declaration.bags",
    "as_bags": "milopt.declaration.bags",
    "Signs": "milopt.declaration.labels",
    "Weights": "milopt.declaration.labels",
    "load_data": "milopt.data.loading",
    "from_series": "milopt.data.series",
    "Kernel": "milopt.declaration.kernels",
    "RBF": "milopt.declaration.kernels",
    "Linear": "milopt.declaration.kernels",
    "Polynomial": "milopt.declaration.kernels",
    "Precomputed": "milopt.declaration.kernels",
    "DTW": "milopt.declaration.alignment",
    "GlobalAlignment": "milopt.declaration.alignment",
    "BagKernel": "milopt.declaration.bag_kernel",
    "BoxCounting": "milopt.bag_kernels.box_counting",
    "RandomBoxes": "milopt.bag_kernels.random_boxes",
    "SetKernel": "milopt.bag_kernels.set_kernels",
    "Minimax": "milopt.bag_kernels.set_kernels",
    "load_gram": "milopt.bag_kernels.stored",
    "Program": "milopt.declaration.program",
    "concatenate": "milopt.declaration.joined",
    "bag_max": "milopt.declaration.atoms",
    "bag_sum": "milopt.declaration.atoms",
    "bag_mean": "milopt.declaration.atoms",
    "norm": "milopt.declaration.atoms",
    "norm1": "milopt.declaration.atoms",
    "sum_squares": "milopt.declaration.atoms",
    "quad_form": "milopt.declaration.atoms",
    "absolute": "milopt.declaration.atoms",
    "bag_log_sum_exp": "milopt.declaration.atoms",
    "bag_sum_largest": "milopt.declaration.atoms",
    "entropy": "milopt.declaration.atoms",
    "exp": "milopt.declaration.atoms",
    "group_norms": "milopt.declaration.atoms",
    "huber": "milopt.declaration.atoms",
    "log1mexp": "milopt.declaration.atoms",
    "log_sum_exp": "milopt.declaration.atoms",
    "logistic": "milopt.declaration.atoms",
    "maximum": "milopt.declaration.atoms",
    "minimum": "milopt.declaration.atoms",
    "norm_inf": "milopt.declaration.atoms",
    "positive_part": "milopt.declaration.atoms",
    "relative_entropy": "milopt.declaration.atoms",
    "square": "milopt.declaration.atoms",
    "sum_largest": "milopt.declaration.atoms",
    "solve": "milopt.schemes.solve",
    "compare": "milopt.comparison.compare",
    "BagClassifier": "milopt.estimator",
    "BagFeatures": "milopt.estimator",
    "InstanceTransformer": "milopt.estimator",
    "load_model": "milopt.estimator",
    "evaluate": "milopt.evaluation.evaluate",
    "rank": "milopt.evaluation.ranking",
    "Options": "milopt.solving.options",
    "available": "milopt.solving.registry",
    "get": "milopt.solving.registry",
    "Session": "milopt.schemes.session",
    "explain": "milopt.solving.explain",
    "Result": "milopt.outcome.result",
    "PointStatus": "milopt.outcome.status",
    "Termination": "milopt.outcome.status",
    "Direct": "milopt.schemes.direct",
    "ConvexConcave": "milopt.schemes.convex_concave",
    "ColumnGeneration": "milopt.schemes.column_generation",
    "Representatives": "milopt.schemes.representatives",
    "Exact": "milopt.schemes.exact",
    "MiloptError": "milopt.errors",
}
_SUBMODULES = ("data", "display", "errors", "models", "testing")

__all__ = [*_HOME, *_SUBMODULES]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value
