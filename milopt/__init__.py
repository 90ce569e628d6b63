"""Optimisation models of multiple-instance learning: declare once, solve anywhere, proved.

Names are imported from their modules when they are first touched, so that `import milopt` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from milopt import data as data
    from milopt import display as display
    from milopt import errors as errors
    from milopt import models as models
    from milopt import testing as testing
    from milopt.bag_kernels.box_counting import BoxCounting as BoxCounting
    from milopt.bag_kernels.random_boxes import RandomBoxes as RandomBoxes
    from milopt.bag_kernels.set_kernels import Minimax as Minimax
    from milopt.bag_kernels.set_kernels import SetKernel as SetKernel
    from milopt.bag_kernels.stored import load_gram as load_gram
    from milopt.comparison.compare import compare as compare
    from milopt.data.loading import load_data as load_data
    from milopt.data.series import from_series as from_series
    from milopt.declaration.alignment import DTW as DTW
    from milopt.declaration.alignment import GlobalAlignment as GlobalAlignment
    from milopt.declaration.atoms import absolute as absolute
    from milopt.declaration.atoms import bag_log_sum_exp as bag_log_sum_exp
    from milopt.declaration.atoms import bag_max as bag_max
    from milopt.declaration.atoms import bag_mean as bag_mean
    from milopt.declaration.atoms import bag_sum as bag_sum
    from milopt.declaration.atoms import bag_sum_largest as bag_sum_largest
    from milopt.declaration.atoms import entropy as entropy
    from milopt.declaration.atoms import exp as exp
    from milopt.declaration.atoms import group_norms as group_norms
    from milopt.declaration.atoms import huber as huber
    from milopt.declaration.atoms import log1mexp as log1mexp
    from milopt.declaration.atoms import log_sum_exp as log_sum_exp
    from milopt.declaration.atoms import logistic as logistic
    from milopt.declaration.atoms import maximum as maximum
    from milopt.declaration.atoms import minimum as minimum
    from milopt.declaration.atoms import norm as norm
    from milopt.declaration.atoms import norm1 as norm1
    from milopt.declaration.atoms import norm_inf as norm_inf
    from milopt.declaration.atoms import positive_part as positive_part
    from milopt.declaration.atoms import quad_form as quad_form
    from milopt.declaration.atoms import relative_entropy as relative_entropy
    from milopt.declaration.atoms import square as square
    from milopt.declaration.atoms import sum_largest as sum_largest
    from milopt.declaration.atoms import sum_squares as sum_squares
    from milopt.declaration.bag_kernel import BagKernel as BagKernel
    from milopt.declaration.bags import Bags as Bags
    from milopt.declaration.bags import as_bags as as_bags
    from milopt.declaration.kernels import RBF as RBF
    from milopt.declaration.kernels import Kernel as Kernel
    from milopt.declaration.kernels import Linear as Linear
    from milopt.declaration.kernels import Polynomial as Polynomial
    from milopt.declaration.kernels import Precomputed as Precomputed
    from milopt.declaration.labels import Signs as Signs
    from milopt.declaration.labels import Weights as Weights
    from milopt.declaration.program import Program as Program
    from milopt.errors import MiloptError as MiloptError
    from milopt.estimator import BagClassifier as BagClassifier
    from milopt.estimator import BagFeatures as BagFeatures
    from milopt.estimator import InstanceTransformer as InstanceTransformer
    from milopt.estimator import load_model as load_model
    from milopt.evaluation.evaluate import evaluate as evaluate
    from milopt.evaluation.ranking import rank as rank
    from milopt.outcome.result import Result as Result
    from milopt.schemes.column_generation import ColumnGeneration as ColumnGeneration
    from milopt.schemes.convex_concave import ConvexConcave as ConvexConcave
    from milopt.schemes.direct import Direct as Direct
    from milopt.schemes.exact import Exact as Exact
    from milopt.schemes.representatives import Representatives as Representatives
    from milopt.schemes.solve import solve as solve
    from milopt.solving.explain import explain as explain
    from milopt.solving.options import Options as Options
    from milopt.solving.registry import available as available
    from milopt.solving.registry import get as get
    from milopt.solving.session import Session as Session

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
    "Session": "milopt.solving.session",
    "explain": "milopt.solving.explain",
    "Result": "milopt.outcome.result",
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


# Type checkers read the imports above instead, and so still find a misspelt name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in _SUBMODULES:
            return import_module(f"{__name__}.{name}")
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value
