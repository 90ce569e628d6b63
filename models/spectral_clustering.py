"""Clustering of bags without labels: the spectral term of SAFE alone (rho = 0), aggregated over each bag.

The first `clusters` - 1 directions of kernel spectral clustering, or of kernel PCA, score every instance; the
directions are the solutions of an eigenvalue problem (see `milopt.declaration.kernels.spectrum`). The most frequent
sign patterns of the instance scores, at most `clusters` of them, are the code words of the clusters, one each. The
scores of a bag are the sums or means of the scores of its instances. The bag belongs to the cluster whose code word
differs from the signs of the bag's scores in the fewest places.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from milopt.arrays import Floats, Index
from milopt.data.windows import WindowSettings
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import check_choice, check_integer
from milopt.declaration.kernels.degrees import core_weights
from milopt.declaration.kernels.kernel import RBF, Kernel
from milopt.declaration.kernels.spectrum import CodeBook, Spectrum, leading_directions, make_code_book
from milopt.errors import ParameterError
from milopt.estimator.fields import Fields
from milopt.estimator.inputs import check_new_bags, check_training_bags
from milopt.estimator.scaling import Scaling, fit_scaling
from milopt.estimator.scikit_learn import BaseEstimator, UnfittedError


class SpectralBagClustering(Fields, BaseEstimator):
    """Kernel spectral clustering of bags.

    The instances are scored by the first `clusters` - 1 eigenvectors of kernel spectral clustering (or kernel PCA), and
    the scores are summed or averaged over each bag. The most frequent sign patterns of the instance scores are the code
    words of the clusters, one each. An instance or bag belongs to the cluster whose code word differs from the signs of
    its scores in the fewest places. This is `SAFE` without labels (rho = 0).

    Parameters
    ----------
    clusters : int, default=2
        Maximum number of clusters, from 2 to the number of training instances.
    core : {"ksc", "kpca"}, default="ksc"
        Instance weights: inverse degrees (kernel spectral clustering) or ones (kernel PCA).
    kernel : Kernel, default=RBF("median")
        Kernel between instances.
    aggregation : {"sum", "mean"}, default="sum"
        How instance scores are combined into the scores of a bag.
    scale : {"minmax01", "zscore", "none"}, default="minmax01"
        Scaling of the features, fitted to the training instances: to [0, 1], to mean 0 and standard deviation 1, or
        none.

    Attributes
    ----------
    labels_ : ndarray of shape (n_bags,)
        Cluster of each training bag.
    instance_labels_ : list of ndarray
        Clusters of the instances of each training bag.
    spectrum_ : Spectrum
        Directions of kernel spectral clustering (or kernel PCA), which score instances.
    book_ : CodeBook
        Code words of the clusters.
    scaling_ : Scaling
        Scaling of the features.
    n_features_in_ : int
        Number of features of an instance.
    windows_in_ : WindowSettings or None
        Length and stride of the windows, if the training bags are windows of time series.

    References
    ----------
    .. [1] C. Alzate and J. A. K. Suykens. Multiway spectral clustering with out-of-sample extensions through weighted
       kernel PCA. IEEE Transactions on Pattern Analysis and Machine Intelligence 32(2), 335-347, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import SpectralBagClustering
    >>> bags = np.random.default_rng(0).normal(size=(6, 4, 2))
    >>> bags[3:] += 6
    >>> labels = SpectralBagClustering(clusters=2).fit(bags).labels_
    >>> labels == labels[0]
    array([ True,  True,  True, False, False, False])
    """

    clusters: int = 2
    core: str = "ksc"
    kernel: Kernel = RBF("median")
    aggregation: str = "sum"
    scale: str = "minmax01"

    n_features_in_: int
    windows_in_: WindowSettings | None

    def fit(self, bags: object, y: object = None) -> Self:
        """Compute the directions and the code words from the training bags.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Training bags, each of shape (n_instances, n_features).
        y : object, default=None
            Ignored; for compatibility with scikit-learn.

        Returns
        -------
        Self
            The fitted clustering.

        Raises
        ------
        ParameterError
            If `clusters` is not an integer from 2 to the number of instances, `kernel` is not a kernel, or
            `aggregation`, `core` or `scale` is not one of its choices.
        """
        checked = check_training_bags(self, bags)
        check_choice("aggregation", self.aggregation, ("sum", "mean"))
        if check_integer("clusters", self.clusters, 2) > checked.offsets[-1]:
            raise ParameterError(f"clusters must be at most the {checked.offsets[-1]} instances, not {self.clusters}.")
        self.scaling_: Scaling = fit_scaling(self.scale, checked)
        scaled = self.scaling_(checked)
        X = scaled.instances
        if not isinstance(self.kernel, Kernel):
            raise ParameterError(f"kernel must be a Kernel such as RBF(), not {self.kernel!r}.")
        kernel = self.kernel.fitted(X)
        v = core_weights(self.core, kernel, scaled, np.ones(X.shape[0]))
        self.spectrum_: Spectrum = leading_directions(kernel, X, v, self.clusters - 1)
        scores = self.spectrum_.scores(X)
        self.book_: CodeBook = make_code_book(scores, self.clusters, np.ones(scores.shape[0]))
        self.instance_labels_ = np.split(self.book_.nearest(scores), scaled.offsets[1:-1])
        self.labels_ = self.book_.nearest(self._aggregate_scores(scaled, scores))
        return self

    def fit_predict(self, bags: object, y: object = None) -> Index:
        """Fit to bags, and return the cluster of each bag.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Training bags, each of shape (n_instances, n_features).
        y : object, default=None
            Ignored; for compatibility with scikit-learn.

        Returns
        -------
        ndarray of shape (n_bags,)
            Cluster of each bag.
        """
        return self.fit(bags).labels_

    def bag_scores(self, bags: object) -> Floats:
        """Compute the scores of bags: the sums or means of the scores of their instances.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        ndarray of shape (n_bags, clusters - 1)
            One row per bag, one column per direction.
        """
        scaled = self._scale_new_bags(bags)
        return self._aggregate_scores(scaled, self.spectrum_.scores(scaled.instances))

    def predict(self, bags: object) -> Index:
        """Predict the cluster of each bag.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        ndarray of shape (n_bags,)
            Cluster of each bag.
        """
        scores = self.bag_scores(bags)
        return self.book_.nearest(scores)

    def predict_instances(self, bags: object) -> list[Any]:
        """Predict the cluster of every instance in each bag.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        list of ndarray
            One array of clusters per bag, of shape (n_instances,).
        """
        scaled = self._scale_new_bags(bags)
        return np.split(self.book_.nearest(self.spectrum_.scores(scaled.instances)), scaled.offsets[1:-1])

    def _aggregate_scores(self, bags: Bags, scores: Floats) -> Floats:
        """Sum or average the scores of instances (one row per instance) over each bag."""
        return bags.sum(scores) if self.aggregation == "sum" else bags.mean(scores)

    def _scale_new_bags(self, bags: object) -> Bags:
        """Check new bags, and scale them like the training bags."""
        if not hasattr(self, "spectrum_"):
            raise UnfittedError("This SpectralBagClustering is not fitted yet; call fit first.")
        return self.scaling_(check_new_bags(self, bags))
