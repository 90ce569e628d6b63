"""GMIL-1: Winnow with one Boolean feature per box of a small grid, that is, the explicit features of box counting.

    x(P) = (phi(P), 1 - phi(P)),   phi(P)_b = 1 if an instance of bag P lies in box b, else 0
    predicted label yhat = +1 if w'x > theta, else -1;   after a mistake   w_j <- w_j A^(x_j (y - yhat) / 2)

A > 1 is the parameter `promotion`, and y = +1 or -1 is the label of the bag. If feature k has s_k + 1 grid positions,
there are prod_k C(s_k + 2, 2) boxes, a number that is exponential in the number of features. The algorithm is therefore
for tiny grids only, where it shows which features the box-counting kernel uses implicitly. It is not an optimisation
model, and has no program.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from milopt import as_bags
from milopt.arrays import Codes, Floats
from milopt.bag_kernels.exact import MAX_ENUMERATED_BOXES, number_of_boxes
from milopt.bag_kernels.grid import fit_grid
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import as_classes, as_labels
from milopt.declaration.checks import check_integer, check_positive
from milopt.errors import BagsError, ParameterError
from milopt.estimator.positive_label import is_chosen_by_order, positive_class_index, warn_about_label_order
from milopt.estimator.scikit_learn import BaseEstimator, ClassifierMixin, UnfittedError


class GMIL1(ClassifierMixin, BaseEstimator):
    """Bag classifier: Winnow over all boxes of a grid (GMIL-1).

    Every axis-parallel box of the grid gives two Boolean features of a bag: whether an instance of the bag lies in the
    box, and the negation. The algorithm Winnow learns their weights w: it multiplies the weights of the features that
    are true by `promotion` after it misclassifies a positive bag, and divides them by `promotion` after it
    misclassifies a negative bag. The number of boxes is exponential in the number of features of an instance, so the
    method is for tiny grids only.

    Parameters
    ----------
    bins : int, default=4
        Maximum number of grid cells per feature, at least 2.
    binning : str, default="quantile"
        How the cells are chosen from the training instances, see `BoxCounting`.
    promotion : float, default=1.1
        Factor by which weights are multiplied or divided after a mistake, greater than 1.
    epochs : int, default=100
        Maximum number of passes over the training bags.
    positive : label or None, default=None
        Label of the positive class, whose bags have y = +1. Weights are positive, so the classes are not symmetric.
        None selects the larger of two numbers, or True. Of other labels, it selects, with a warning, the one that is
        last in alphabetical order.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Labels of the two classes, sorted.
    positive_label_ : label
        Label of the positive class.
    weights_ : ndarray of shape (2 * n_boxes,)
        Weights w of the features phi and of their complements 1 - phi.
    threshold_ : float
        Threshold theta of w'x, which is equal to the number of boxes.
    mistakes_ : int
        Number of mistakes in all passes of the training.
    grid_ : Grid
        Grid fitted to the training bags.

    References
    ----------
    .. [1] S. Scott, J. Zhang and J. Brown. On generalized multiple-instance learning. International Journal of
       Computational Intelligence and Applications 5(1), 21-35, 2005.

    Examples
    --------
    >>> from milopt.models import GMIL1
    >>> bags = [[[0.1], [0.9]], [[0.2], [0.8]], [[0.1]], [[0.2], [0.3]]]
    >>> model = GMIL1(bins=3).fit(bags, [1, 1, -1, -1])
    >>> model.predict(bags)
    array([ 1,  1, -1, -1])
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
        """Pass over the bags until a pass makes no mistake, or `epochs` passes are done.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Training bags, each of shape (n_instances, n_features).
        y : array-like of shape (n_bags,)
            Labels of two classes.

        Returns
        -------
        Self
            The fitted classifier.

        Raises
        ------
        ParameterError
            If `promotion` is not a number above 1, `epochs` is not a positive integer, `bins` or `binning` is invalid,
            or `positive` is not one of the labels.
        BagsError
            If there is not one label per bag, or not two classes.
        """
        if not check_positive("promotion", self.promotion) > 1:
            raise ParameterError(f"promotion must be a number above 1, not {self.promotion!r}.")
        epochs = check_integer("epochs", self.epochs, 1)
        checked = as_bags(bags)
        self.classes_, place = as_classes(as_labels(y))
        if self.classes_.size != 2 or place.size != len(checked):
            label_counts = f"{place.size} labels of {self.classes_.size} classes for {len(checked)} bags"
            raise BagsError(f"GMIL1 needs one label per bag, of two classes, not {label_counts}.")
        positive_index = positive_class_index(self.positive, self.classes_)
        if is_chosen_by_order(self.positive, self.classes_):
            warn_about_label_order("GMIL1", self.classes_, stacklevel=2)
        self.positive_label_ = self.classes_.tolist()[positive_index]
        self.grid_ = fit_grid(checked, self.binning, self.bins)
        x = self._features_with_negations(checked)
        self.threshold_ = x.shape[1] / 2
        log_promotion, logs = np.log(self.promotion), np.zeros(x.shape[1])
        self.mistakes_ = 0
        for _ in range(epochs):
            mistakes_before = self.mistakes_
            for row, is_positive in zip(x, place == positive_index, strict=True):
                if (np.exp(logs) @ row > self.threshold_) != is_positive:
                    logs += (log_promotion if is_positive else -log_promotion) * row
                    self.mistakes_ += 1
            if self.mistakes_ == mistakes_before:
                break
        self.weights_ = np.exp(logs)
        return self

    def decision_function(self, bags: object) -> Floats:
        """Compute the scores w'x - theta of bags with features x, negated if `positive_label_` is `classes_[0]`.

        A positive score therefore means `classes_[1]`, as in scikit-learn, whichever label is `positive_label_`.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        ndarray of shape (n_bags,)
            One score per bag.

        Raises
        ------
        UnfittedError
            If the model is not fitted.
        """
        if not hasattr(self, "weights_"):
            raise UnfittedError("This GMIL1 is not fitted yet; call fit first.")
        scores = np.asarray(self._features_with_negations(as_bags(bags)) @ self.weights_ - self.threshold_)
        return scores if self.positive_label_ == self.classes_[1] else -scores

    def predict(self, bags: object) -> npt.NDArray[Any]:
        """Predict the label of each bag.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        ndarray of shape (n_bags,)
            Labels from `classes_`.
        """
        scores = self.decision_function(bags)
        return np.asarray(self.classes_[(scores > 0).astype(int)])

    def _features_with_negations(self, bags: Bags) -> Floats:
        """Return the features x = (phi, 1 - phi) of bags: the box features phi and their negations."""
        met = box_features(self.grid_.codes(bags), bags, self.grid_.s)
        return np.hstack([met, 1.0 - met])


def box_features(codes: Codes, bags: Bags, s: Codes) -> Floats:
    """Return phi, one row per bag and one column per box: 1 if an instance of the bag lies in the box, otherwise 0.

    `codes` are the grid positions of all instances, from 0 to s_k in feature k. The boxes are in the order of
    `milopt.bag_kernels.exact.all_boxes`.
    """
    boxes = number_of_boxes(tuple(int(size) for size in s))
    if boxes * max(len(bags), 1) > 50 * MAX_ENUMERATED_BOXES or boxes > MAX_ENUMERATED_BOXES:
        raise ParameterError(
            f"The grid has {boxes:.3g} boxes, too many to store as features: use fewer bins or features, or "
            "count boxes with BoxCounting."
        )
    sides = [np.array([(low, high) for low in range(size + 1) for high in range(low, size + 1)]) for size in s]
    met = np.zeros((len(bags), boxes))
    for i in range(len(bags)):
        for point in codes[bags.offsets[i] : bags.offsets[i + 1]]:
            inside = [(side[:, 0] <= v) & (v <= side[:, 1]) for side, v in zip(sides, point, strict=True)]
            np.maximum(met[i], reduce(np.multiply.outer, inside).ravel(), out=met[i])
    return met
