"""Base class of models whose score is a weighted sum of maxima over the instances of a bag."""

from __future__ import annotations

from milopt.arrays import Points
from milopt.declaration.bags.bags import Bags
from milopt.estimator.classifier import BagClassifier
from milopt.estimator.maximisers import MaximiserTable, build_maximiser_table
from milopt.estimator.patterns import PatternTable, build_pattern_table
from milopt.estimator.program_choice import program_for_label


class EnsembleClassifier(BagClassifier):
    """Base class of bag classifiers that are weighted sums of bag maxima.

    Its `declare` returns a semi-infinite program whose oracles declare their columns as maxima. The score of a bag is

        g(B) = sum_t w_t sign_t max_{x in B} sum_z a_tz K(z, x) + bias,

    with one term per column (weak learner) t, its weight w_t, its sign +1 or -1 and its coefficients a_tz. The
    instances that attain the maxima explain the score (`maximisers`), and so do the patterns z (`patterns`).
    """

    def maximisers(self, bag: Points | Bags, label: object = None) -> MaximiserTable:
        """Decompose the score of a bag into one contribution per column (weak learner) of the ensemble.

        For each column, the table gives the instance (or window) at which the column attains its maximum, and the
        contribution of the column to the score.

        Parameters
        ----------
        bag : array of shape (n_instances, n_features), or Bags of length 1
            The bag to explain.
        label : object, default=None
            Class whose score is decomposed, for more than two classes. None selects the predicted class. Two classes
            share one score, so only None or the positive label is accepted.

        Returns
        -------
        MaximiserTable
            Sorted by decreasing absolute contribution.
        """
        shown, predicted = self._prepare_explained_bag(bag)
        chosen, positive_label = program_for_label(
            self._explained_label(label, predicted), self._fitted_state().training
        )
        return build_maximiser_table(self.results_[chosen], shown, predicted, positive_label)

    def patterns(self, bag: Points | Bags | None = None, label: object = None) -> PatternTable:
        """List the patterns of the fitted model with their weights.

        Parameters
        ----------
        bag : array of shape (n_instances, n_features), Bags of length 1, or None, default=None
            A bag in which the nearest instance (or window) to each pattern is located. None lists the patterns only.
        label : object, default=None
            Class whose patterns are listed. For two classes, it is None or the positive label. For more, None selects
            the predicted class of `bag`; without a bag, a label is required.

        Returns
        -------
        PatternTable
            Sorted by decreasing absolute weight.
        """
        shown, predicted = (None, None) if bag is None else self._prepare_explained_bag(bag)
        chosen, positive_label = program_for_label(
            self._explained_label(label, predicted), self._fitted_state().training
        )
        return build_pattern_table(
            self.results_[chosen], self._fitted_state().training, shown, self.windows_in_, positive_label
        )

    def _explained_label(self, label: object, predicted: object) -> object:
        """Return `label`; if it is None and there are more than two classes, return the predicted label."""
        return predicted if label is None and len(self.results_) > 1 else label
