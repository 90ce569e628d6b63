"""Checks of bags and labels given to estimators, and comparison of new bags with the training bags."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index
from milopt.data.windows import Windows, WindowSettings
from milopt.declaration.bags.bags import Bags, as_bags
from milopt.declaration.bags.feature_names import FeatureMismatchError, column_names, match_features
from milopt.declaration.bags.labels import as_classes, as_labels
from milopt.declaration.bags.nested_data import unpack_nested
from milopt.errors import BagsError
from milopt.estimator.scikit_learn import DataConversionWarning, validate_data


class HasFeatures(Protocol):
    """Protocol of an estimator that stores the features of its training bags."""

    n_features_in_: int
    windows_in_: WindowSettings | None


def check_training_bags(model: HasFeatures, given: object, allow_nan: bool = False) -> Bags:
    """Return the training bags, and store their number of features, feature names and window settings in the model.

    Bags that were made from data frames or tables have feature names. Raise `BagsError` if the bags are windows already
    and the model has a `window`.
    """
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    bags = _convert_to_bags(model, given, fitting=True, allow_nan=allow_nan)
    if bags.features is not None:
        vars(model)["feature_names_in_"] = np.array(bags.features, dtype=object)
    model.n_features_in_ = bags.dimension
    model.windows_in_ = settings = bags.window_settings if isinstance(bags, Windows) else None
    # A model with a hyper-parameter `window` cuts windows itself.
    window = getattr(model, "window", None)
    if settings is not None and settings.length > 1 and window is not None:
        raise BagsError(
            f"These bags are {settings} already, and window={window!r} would cut windows of windows: leave window out, "
            "or load the series without windows, by --window none or load_data(..., window=None)."
        )
    return bags


def check_new_bags(model: HasFeatures, given: object, allow_nan: bool = False) -> Bags:
    """Return new bags with the features of the training bags, found by their names if both have names."""
    bags = _match_features(model, _convert_to_bags(model, given, fitting=False, allow_nan=allow_nan))
    if bags.dimension != model.n_features_in_:
        raise BagsError(
            f"The bags have {bags.dimension} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input: give the features that it was fitted on."
        )
    return bags


def check_training_labels(model: object, y: object) -> tuple[npt.NDArray[Any], Index]:
    """Return the sorted distinct labels, and the index of each bag's label among them."""
    if y is None:
        raise BagsError(f"{type(model).__name__} requires y to be passed, but the target y is None: give the labels.")
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected: its only column is used."
        warnings.warn(message, DataConversionWarning, stacklevel=3)
        y = np.asarray(y)[:, 0]
    labels = as_labels(y)
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        continuous = labels[labels != np.floor(labels)][0]
        raise BagsError(f"Unknown label type: {continuous:g} is a continuous value, but labels must be classes.")
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise BagsError(
            f"The label of bag {int(np.flatnonzero(np.isinf(labels))[0])} is infinite: labels must be classes."
        )
    return as_classes(labels)


def _match_features(model: HasFeatures, bags: Bags) -> Bags:
    """Return new bags with their features in the order of the training bags; raise `BagsError` if the names differ."""
    names = getattr(model, "feature_names_in_", None)
    try:
        columns = match_features(bags.features, None if names is None else names.tolist())
    except FeatureMismatchError as error:
        what = "have no feature" if error.is_missing else "have a feature"
        why = "which the model needs" if error.is_missing else "which the model was not fitted on; leave it out"
        raise BagsError(f'The bags {what} "{error.name}", {why}.') from None
    return bags if columns is None else Bags(bags.instances[:, columns], bags.offsets, allow_nan=bags.may_have_nan)


def _convert_to_bags(model: HasFeatures, given: object, *, fitting: bool, allow_nan: bool) -> Bags:
    """Return bags from any supported form.

    For 2-D tables, scikit-learn stores the feature names in the model if `fitting`, and otherwise compares them.
    """
    given = unpack_nested(given)
    if not fitting and column_names(given) is not None:
        given = _order_columns(model, given)
    if _is_list_of_rows(given):
        given = np.asarray(given)
    dimensions = 2 if sp.issparse(given) else _number_of_dimensions(given)
    if dimensions == 1 and np.asarray(given).dtype != object:
        raise BagsError(
            "A 1-D array is not bags. Reshape your data: give a list of 2-D arrays, one per bag, or "
            "array.reshape(1, -1) for one instance."
        )
    if dimensions == 2:
        try:
            validate_data(model, given, reset=fitting, skip_check_array=True)
        except ValueError as error:
            raise BagsError(str(error)) from None
    return as_bags(given, allow_nan=allow_nan)


def _order_columns(model: HasFeatures, table: Any) -> Any:
    """Return a data frame with its columns in the order of the training data, if it has exactly these columns."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or set(names.tolist()) != set(table.columns):
        return table  # scikit-learn raises an error if the names are not those of the training data
    return table[names.tolist()]


def _number_of_dimensions(given: object) -> int:
    """Return the number of dimensions of an array, or 0 for `Bags`, a list or a tuple."""
    if isinstance(given, (Bags, list, tuple)):
        return 0
    shape = getattr(given, "shape", None)
    return len(shape) if isinstance(shape, tuple) else np.asarray(given).ndim


def _is_list_of_rows(given: object) -> bool:
    """Return True if the input is a table: a list or tuple of rows, each a list or tuple that begins with a number."""
    if not isinstance(given, (list, tuple)) or not given:
        return False
    return all(isinstance(row, (list, tuple)) and bool(row) and isinstance(row[0], Real) for row in given)
