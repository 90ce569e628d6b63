"""scikit-learn transformer from time series to bags of windows, for use in a `Pipeline`.

make_pipeline(WindowTransformer(0.2), MISVM())
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy.typing as npt

from milopt.data.channels import as_channels
from milopt.data.series import as_series, from_series
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.sliding_windows import window_length
from milopt.errors import BagsError
from milopt.estimator.scikit_learn import UNUSED, BaseEstimator, TransformerMixin, UnfittedError


class WindowTransformer(TransformerMixin, BaseEstimator):
    """Transformer from time series to bags of windows.

    Parameters
    ----------
    length : int or float, default=0.2
        Window length: a number of samples, or a fraction (strictly between 0 and 1) of the shortest training series.
    stride : int, default=1
        Number of samples between the starts of consecutive windows.
    znormalise : bool, default=False
        Whether to standardise each window, in each channel, to mean 0 and standard deviation 1.

    Attributes
    ----------
    length_ : int
        Window length in samples, the same for all new series.
    n_channels_ : int
        Number of channels of a series.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> series = np.arange(24.0).reshape(2, 3, 4)  # two series with three channels and four samples
    >>> bags = milopt.WindowTransformer(length=2).fit_transform(series)
    >>> bags
    Bags(2 bags, 6 instances, 6 features)
    >>> bags[0][0]
    array([0., 4., 8., 1., 5., 9.])
    """

    __metadata_request__fit: ClassVar[Mapping[str, str]] = {"series": UNUSED}
    __metadata_request__transform: ClassVar[Mapping[str, str]] = {"series": UNUSED}

    def __init__(self, length: float = 0.2, stride: int = 1, znormalise: bool = False) -> None:
        self.length = length
        self.stride = stride
        self.znormalise = znormalise

    def fit(self, series: Any, y: npt.ArrayLike | None = None) -> Self:
        """Determine the window length in samples.

        Parameters
        ----------
        series : array of shape (n_series, n_samples) or (n_series, n_channels, n_samples), or list of arrays
            Training series. In a list, an array has the shape (n_samples,) or (n_channels, n_samples).
        y : array-like of shape (n_series,) or None, default=None
            Ignored.

        Returns
        -------
        Self
            The fitted transformer.
        """
        channels = as_channels(series)
        lengths = [len(values) for values in (as_series(series) if channels is None else channels)]
        self.length_ = window_length(self.length, min(lengths))
        self.n_channels_ = 1 if channels is None else int(channels[0].shape[1])
        return self

    def transform(self, series: Any) -> Bags:
        """Cut series into windows.

        Parameters
        ----------
        series : array of shape (n_series, n_samples) or (n_series, n_channels, n_samples), or list of arrays
            Series with the channels of the training series.

        Returns
        -------
        Bags
            One bag per series, one instance per window.

        Raises
        ------
        BagsError
            If the series have another number of channels than the training series.
        """
        if not hasattr(self, "length_"):
            raise UnfittedError("This WindowTransformer is not fitted yet; call fit first.")
        channels = as_channels(series)
        count = 1 if channels is None else int(channels[0].shape[1])
        if count != self.n_channels_:
            raise BagsError(f"The series have {count} channels, but those of the fit had {self.n_channels_}.")
        return from_series(series, self.length_, self.stride, self.znormalise)
