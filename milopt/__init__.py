"""Optimisation models for multiple-instance learning: declare a model once, solve it with any solver, check the result.

Names are imported from their modules when they are first used, so that `import milopt` is fast.
"""

from __future__ import annotations

__version__ = "0.2.0"

_MODULE_OF = {
    "Bags": "milopt.declaration.bags.bags",
    "as_bags": "milopt.declaration.bags.bags",
    "Signs": "milopt.declaration.bags.labels",
    "Weights": "milopt.declaration.bags.labels",
    "load_data": "milopt.data.loading",
    "from_series": "milopt.data.series",
    "Kernel": "milopt.declaration.kernels.kernel",
    "RBF": "milopt.declaration.kernels.kernel",
    "Linear": "milopt.declaration.kernels.kernel",
    "Polynomial": "milopt.declaration.kernels.kernel",
    "Precomputed": "milopt.declaration.kernels.kernel",
    "Nystrom": "milopt.declaration.kernels.nystrom",
    "RandomFourier": "milopt.declaration.kernels.random_fourier",
    "Features": "milopt.declaration.kernels.transformed",
    "KernelSum": "milopt.declaration.kernels.combined",
    "KernelProduct": "milopt.declaration.kernels.combined",
    "DTW": "milopt.declaration.kernels.alignment",
    "GlobalAlignment": "milopt.declaration.kernels.alignment",
    "BagKernel": "milopt.declaration.kernels.bag_kernel",
    "BoxCounting": "milopt.bag_kernels.box_counting",
    "RandomBoxes": "milopt.bag_kernels.random_boxes",
    "SetKernel": "milopt.bag_kernels.set_kernels",
    "Minimax": "milopt.bag_kernels.set_kernels",
    "load_gram": "milopt.bag_kernels.gram_file",
    "Program": "milopt.declaration.programs.program",
    "read_program": "milopt.reading.read_program",
    "concatenate": "milopt.declaration.programs.joining",
    "hstack": "milopt.declaration.programs.joining",
    "stack": "milopt.declaration.programs.joining",
    "vstack": "milopt.declaration.programs.joining",
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
    "geo_mean": "milopt.declaration.atoms",
    "group_norms": "milopt.declaration.atoms",
    "huber": "milopt.declaration.atoms",
    "inv_pos": "milopt.declaration.atoms",
    "log": "milopt.declaration.atoms",
    "quad_over_lin": "milopt.declaration.atoms",
    "sqrt": "milopt.declaration.atoms",
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
    "WindowTransformer": "milopt.estimator",
    "load_model": "milopt.estimator",
    "path": "milopt.estimator.path",
    "evaluate": "milopt.evaluation.evaluate",
    "score_bags": "milopt.evaluation.prediction",
    "score_instances": "milopt.evaluation.prediction",
    "rank": "milopt.evaluation.ranking",
    "Options": "milopt.solving.options",
    "available_solvers": "milopt.solving.registry",
    "get_solver": "milopt.solving.registry",
    "Session": "milopt.schemes.session",
    "explain": "milopt.solving.explain",
    "Result": "milopt.outcome.result",
    "PointStatus": "milopt.compilation.status",
    "Termination": "milopt.compilation.status",
    "Scheme": "milopt.schemes.scheme",
    "Step": "milopt.outcome.result",
    "StepPrinter": "milopt.schemes.step_progress",
    "Direct": "milopt.schemes.direct",
    "ConvexConcave": "milopt.schemes.convex_concave",
    "ColumnGeneration": "milopt.schemes.column_generation",
    "Representatives": "milopt.schemes.representatives",
    "Exact": "milopt.schemes.exact",
    "MiloptError": "milopt.errors",
}
"""Module of each public name."""
_SUBMODULES = ("data", "display", "errors", "models", "testing")
"""Public submodules."""

__all__ = [*_MODULE_OF, *_SUBMODULES]


def __dir__() -> list[str]:
    """Return the names of the module, including the public names that have not been imported yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    """Import a public name from its module on first use."""
    from importlib import import_module

    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value
