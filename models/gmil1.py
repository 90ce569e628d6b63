"""GMIL-1: every box of a small grid as a feature, and Winnow over them; the explicit counterpart of box counting.

    x(P) = (phi(P), 1 - phi(P)),   phi(P)_b = [P meets b];      label +1 where w'x > theta
    after a mistake   w_j <- w_j A^(x_j (y - yhat) / 2)

There are prod_k C(s_k + 2, 2) boxes, which is exponential in the number of features: it is for tiny grids, where it
shows what the kernel computes. It is not an optimisation model, and has no program.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from milopt import as_bags
from milopt.arrays import Floats
from milopt.bag_kernels.estimators import Codes
from milopt.bag_kernels.exact import MOST_BOXES, number_of_boxes
from milopt.bag_kernels.grid import fitted_grid
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import as_classes, as_labels
from milopt.declaration.checks import positive, whole
from milopt.errors import BagsError, ParameterError
from milopt.estimator.positive_label import is_chosen_by_order, positive_place, warn_of_order
from milopt.estimator.scikit_learn import BaseEstimator, ClassifierMixin, UnfittedError


class GMIL1(ClassifierMixin, BaseEstimator):
    """Winnow over all boxes of a grid of `bins` codes a feature, with at most `epochs` passes over the bags.

    Weights are positive, so the classes are not symmetric: `positive` is the label whose bags get y = +1. None takes
    the larger number, True, or with a warning the alphabetically last label. As scikit-learn expects it, a positive
    `decision_function` means `classes_[1]`, whichever class is positive.
    """

    def __init__(
        self,
        *,
        bins: int = 4,
        binning: str = "quantile",
        promotion: float = 1.1,
        epochs: int = 100,
        positive: object = None,
    ) -> None:
        self.bins = bins
        self.binning = binning
        self.promotion = promotion
        self.epochs = epochs
        self.positive = positive

    def fit(self, bags: object, y: npt.ArrayLike) -> Self:
        """Pass over the bags until all are labelled right, or no pass is left."""
        if not positive("promotion", self.promotion) > 1:
            raise ParameterError(f"promotion must be a number above 1, not {self.promotion!r}.")
        epochs = whole("epochs", self.epochs, 1)
        given = as_bags(bags)
        self.classes_, place = as_classes(as_labels(y))
        if self.classes_.size != 2 or place.size != len(given):
            raise BagsError(f"GMIL1 takes one label a bag, of two classes, not {place.size} of {self.classes_.size}.")
        where = positive_place(self.positive, self.classes_)
        if is_chosen_by_order(self.positive, self.classes_):
            warn_of_order("GMIL1", self.classes_, stacklevel=2)
        self.positive_label_ = self.classes_.tolist()[where]
        self.grid_ = fitted_grid(given, self.binning, self.bins)
        x = self._attributes(given)
        self.threshold_ = x.shape[1] / 2
        log_promotion, logs = np.log(self.promotion), np.zeros(x.shape[1])
        self.mistakes_ = 0
        for _ in range(epochs):
            before = self.mistakes_
            for row, wanted in zip(x, place == where, strict=True):
                if (np.exp(logs) @ row > self.threshold_) != wanted:
                    logs += (log_promotion if wanted else -log_promotion) * row
                    self.mistakes_ += 1
            if self.mistakes_ == before:
                break
        self.weights_ = np.exp(logs)
        return self

    def decision_function(self, bags: object) -> Floats:
        """Return w'x - theta, negated if `positive_label_` is `classes_[0]`."""
        if not hasattr(self, "weights_"):
            raise UnfittedError("This GMIL1 is not fitted yet; call fit first.")
        scores = np.asarray(self._attributes(as_bags(bags)) @ self.weights_ - self.threshold_)
        return scores if self.positive_label_ == self.classes_[1] else -scores

    def predict(self, bags: object) -> npt.NDArray[Any]:
        """The label of each bag."""
        scores = self.decision_function(bags)
        return np.asarray(self.classes_[(scores > 0).astype(int)])

    def _attributes(self, bags: Bags) -> Floats:
        met = box_features(self.grid_.codes(bags), bags, self.grid_.s)
        return np.hstack([met, 1.0 - met])


def box_features(codes: Codes, bags: Bags, s: Codes) -> Floats:
    """phi, a row a bag and a column a box; the boxes in the order of `exact.all_boxes`."""
    boxes = number_of_boxes(tuple(int(size) for size in s))
    if boxes * max(len(bags), 1) > 50 * MOST_BOXES or boxes > MOST_BOXES:
        raise ParameterError(
            f"The grid has {boxes:.3g} boxes, more than memory allows as features: take fewer bins or features, or "
            "count boxes with BoxCounting."
        )
    sides = [np.array([(low, high) for low in range(size + 1) for high in range(low, size + 1)]) for size in s]
    met = np.zeros((len(bags), boxes))
    for i in range(len(bags)):
        for point in codes[bags.offsets[i] : bags.offsets[i + 1]]:
            inside = [(side[:, 0] <= v) & (v <= side[:, 1]) for side, v in zip(sides, point, strict=True)]
            np.maximum(met[i], reduce(np.multiply.outer, inside).ravel(), out=met[i])
    return met
