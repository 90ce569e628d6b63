"""What a person hands to an estimator: bags and labels, checked, and compared with what the model was fitted on."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index
from milopt.data.windows import Cut, Windows
from milopt.declaration.bags.bags import Bags, as_bags
from milopt.declaration.bags.labels import as_classes, as_labels
from milopt.errors import BagsError
from milopt.estimator.scikit_learn import DataConversionWarning, validate_data


class HasFeatures(Protocol):
    """What knows the features it was fitted on."""

    n_features_in_: int
    windows_in_: Cut | None


def training_bags(model: HasFeatures, given: object) -> Bags:
    """The bags, after keeping the number of features, their names where a table has some, and the cut of windows."""
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    bags = _read(model, given, fitting=True)
    model.n_features_in_ = bags.dimension
    model.windows_in_ = cut = bags.cut if isinstance(bags, Windows) else None
    # A model with a field of this name cuts windows itself.
    window = getattr(model, "window", None)
    if cut is not None and cut.length > 1 and window is not None:
        raise BagsError(
            f"These bags are {cut} already, and window={window!r} would cut windows of windows: leave it away, "
            "or give the series as they are, by --window none or load_data(..., window=None)."
        )
    return bags


def new_bags(model: HasFeatures, given: object) -> Bags:
    """The bags, whose features must be those that the model was fitted on."""
    bags = _read(model, given, fitting=False)
    if bags.dimension != model.n_features_in_:
        raise BagsError(
            f"The bags have {bags.dimension} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input: give the features that it was fitted on."
        )
    return bags


def training_labels(model: object, y: object) -> tuple[npt.NDArray[Any], Index]:
    """The different labels in order, and the place of each bag's label among them."""
    if y is None:
        raise BagsError(f"{type(model).__name__} requires y to be passed, but the target y is None: give the labels.")
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected: its only column is taken."
        warnings.warn(message, DataConversionWarning, stacklevel=3)
        y = np.asarray(y)[:, 0]
    labels = as_labels(y)
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        odd = labels[labels != np.floor(labels)][0]
        raise BagsError(f"Unknown label type: {odd:g} is a continuous value, where one of a few classes is due.")
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise BagsError(f"The label of bag {int(np.flatnonzero(np.isinf(labels))[0])} is infinite: give classes.")
    return as_classes(labels)


def _read(model: HasFeatures, given: object, *, fitting: bool) -> Bags:
    """Bags in any form; of a table, whose rows are bags of one, scikit-learn keeps or compares the features."""
    if _is_list_of_rows(given):
        given = np.asarray(given)
    dimensions = 2 if sp.issparse(given) else _dimensions(given)
    if dimensions == 1 and np.asarray(given).dtype != object:
        raise BagsError(
            "A 1-D array is not bags. Reshape your data: give a list of 2-D arrays, one a bag, or "
            "array.reshape(1, -1) for one instance."
        )
    if dimensions == 2:
        try:
            validate_data(model, given, reset=fitting, skip_check_array=True)
        except ValueError as error:
            raise BagsError(str(error)) from None
    return as_bags(given)


def _dimensions(given: object) -> int:
    """How many an array has; 0 for what is a sequence of bags."""
    if isinstance(given, (Bags, list, tuple)):
        return 0
    shape = getattr(given, "shape", None)
    return len(shape) if isinstance(shape, tuple) else np.asarray(given).ndim


def _is_list_of_rows(given: object) -> bool:
    """Whether it is a table written as a list of lists of numbers."""
    if not isinstance(given, (list, tuple)) or not given:
        return False
    return all(isinstance(row, (list, tuple)) and bool(row) and isinstance(row[0], Real) for row in given)
