"""Clusters of bags without labels: the core of SAFE alone (rho = 0), an eigenproblem, aggregated over each bag.

The first Nc - 1 directions of kernel spectral clustering (or kernel PCA) score every instance; their signs are the code
words of the instances' clusters. A bag has the sums, or means, of its instances' scores, and the nearest word of these.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from milopt.arrays import Floats, Index
from milopt.data.windows import Cut
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import one_of, whole
from milopt.declaration.kernels.degrees import core_weights
from milopt.declaration.kernels.kernel import RBF, Kernel
from milopt.declaration.kernels.spectrum import CodeBook, Spectrum, code_book, spectrum
from milopt.declaration.programs.leaves import Function
from milopt.errors import ParameterError
from milopt.estimator.fields import Fields
from milopt.estimator.inputs import new_bags, training_bags
from milopt.estimator.scaling import Scaling, fitted_scaling
from milopt.estimator.scikit_learn import BaseEstimator, UnfittedError


class SpectralBagClustering(Fields, BaseEstimator):
    """Kernel spectral clustering of bags: `fit(bags)`, then `labels_`, `instance_labels_` and `predict`."""

    clusters: int = 2
    core: str = "ksc"
    """`ksc` or `kpca`."""
    kernel: Kernel = RBF("median")
    aggregation: str = "sum"
    """`sum` or `mean`."""
    scale: str = "minmax01"

    n_features_in_: int
    windows_in_: Cut | None

    def fit(self, bags: object, y: object = None) -> Self:
        """Find the directions and the code words; labels are not looked at."""
        checked = training_bags(self, bags)
        one_of("aggregation", self.aggregation, ("sum", "mean"))
        if whole("clusters", self.clusters, 2) > checked.offsets[-1]:
            raise ParameterError(f"clusters must be at most the {checked.offsets[-1]} instances, not {self.clusters}.")
        self.scaling_: Scaling = fitted_scaling(self.scale, checked)
        scaled = self.scaling_(checked)
        X = scaled.instances
        if not isinstance(self.kernel, Kernel):
            raise ParameterError(f"kernel must be a Kernel such as RBF(), not {self.kernel!r}.")
        kernel = self.kernel.fitted(X)
        v = np.asarray(core_weights(self.core, Function("f", kernel, None, None), scaled, np.ones(X.shape[0])))
        self.spectrum_: Spectrum = spectrum(kernel, X, v, self.clusters - 1)
        scores = self.spectrum_.scores(X)
        self.book_: CodeBook = code_book(scores, self.clusters, np.ones(scores.shape[0]))
        self.instance_labels_ = np.split(self.book_.nearest(scores), scaled.offsets[1:-1])
        self.labels_ = self.book_.nearest(self._aggregated(scaled, scores))
        return self

    def fit_predict(self, bags: object, y: object = None) -> Index:
        """The cluster of each bag."""
        return self.fit(bags).labels_

    def bag_scores(self, bags: object) -> Floats:
        """The aggregated scores of bags, one column a direction."""
        scaled = self._scaled(bags)
        return self._aggregated(scaled, self.spectrum_.scores(scaled.instances))

    def predict(self, bags: object) -> Index:
        """The cluster of each bag, new ones too."""
        scores = self.bag_scores(bags)
        return self.book_.nearest(scores)

    def predict_instances(self, bags: object) -> list[Any]:
        """One array of clusters a bag, one an instance."""
        scaled = self._scaled(bags)
        return np.split(self.book_.nearest(self.spectrum_.scores(scaled.instances)), scaled.offsets[1:-1])

    def _aggregated(self, bags: Bags, scores: Floats) -> Floats:
        return bags.sum(scores) if self.aggregation == "sum" else bags.mean(scores)

    def _scaled(self, bags: object) -> Bags:
        if not hasattr(self, "spectrum_"):
            raise UnfittedError("This SpectralBagClustering is not fitted yet; call fit first.")
        return self.scaling_(new_bags(self, bags))
