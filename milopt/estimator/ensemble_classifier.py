"""The base of models whose score is a weighted sum of bag maxima: they can say what each term looked at, and for."""

from __future__ import annotations

from milopt.arrays import Points
from milopt.declaration.bags.bags import Bags
from milopt.estimator.choice import program_of
from milopt.estimator.classifier import BagClassifier
from milopt.estimator.maximisers import MaximiserTable, maximisers
from milopt.estimator.patterns import PatternTable, patterns


class EnsembleClassifier(BagClassifier):
    """A classifier whose `declare` gives a semi-infinite program with oracles that name their maxima.

    g(B) = sum_t w_t sign_t max_{x in B} sum_z a_tz K(z, x) + bias
    """

    def maximisers(self, bag: Points | Bags, label: object = None) -> MaximiserTable:
        """For every term of one bag's score the instance, or window, that maximises it, and its contribution.

        The bag is a 2-D array, or bags of which there is one. Of more than two classes `label` is the one whose score
        is taken apart, by default the predicted one.
        """
        shown, predicted = self._shown(bag)
        chosen, positive_label = program_of(self._asked(label, predicted), self._known().training)
        return maximisers(self.results_[chosen], shown, predicted, positive_label)

    def patterns(self, bag: Points | Bags | None = None, label: object = None) -> PatternTable:
        """The patterns of the final hypothesis with their weights and, for one bag, where it is most like each."""
        shown, predicted = (None, None) if bag is None else self._shown(bag)
        chosen, positive_label = program_of(self._asked(label, predicted), self._known().training)
        return patterns(self.results_[chosen], self._known().training, shown, self.windows_in_, positive_label)

    def _asked(self, label: object, predicted: object) -> object:
        return predicted if label is None and len(self.results_) > 1 else label
