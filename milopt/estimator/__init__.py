"""The estimators: every model is a scikit-learn classifier over bags. Importing this imports scikit-learn's base."""

from milopt.estimator.classifier import BagClassifier
from milopt.estimator.explanation import Explanation
from milopt.estimator.instance_transformer import InstanceTransformer
from milopt.estimator.report import Report
from milopt.estimator.saving import load_model

__all__ = ["BagClassifier", "Explanation", "InstanceTransformer", "Report", "load_model"]
