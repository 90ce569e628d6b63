"""Estimators: models as scikit-learn classifiers of bags, and transformers of bags.

Importing this package imports the base classes of scikit-learn.
"""

from milopt.estimator.bag_features import BagFeatures
from milopt.estimator.classifier import BagClassifier
from milopt.estimator.ensemble_classifier import EnsembleClassifier
from milopt.estimator.explanation import Explanation
from milopt.estimator.instance_transformer import InstanceTransformer
from milopt.estimator.maximisers import MaximiserTable
from milopt.estimator.patterns import PatternTable
from milopt.estimator.report import Report
from milopt.estimator.saving import load_model
from milopt.estimator.window_transformer import WindowTransformer

__all__ = [
    "BagClassifier",
    "BagFeatures",
    "EnsembleClassifier",
    "Explanation",
    "InstanceTransformer",
    "MaximiserTable",
    "PatternTable",
    "Report",
    "WindowTransformer",
    "load_model",
]
