"""Box-counting kernel: the number of boxes of a grid that meet both bags.

    k(P, Q) = #{b : P cap b and Q cap b nonempty},    phi(P)_b = [P meets b],    k = <phi(P), phi(Q)>

Counts are computed in log space. A pair is counted exactly if that takes fewer than `exact_below` steps. In a step, the
volume of one set of points is computed, or one point is scanned. Otherwise the count is estimated by sampling: with a
relative error of at most `epsilon` with probability 1 - `delta` for each pair (`rule="guaranteed"`), or with fewer
draws and without a proof (`"fast"`). By default, an exact count may take about as long as the draws that it replaces.
With few points or few features, all counts are exact. The two rules of the paper (`COUNTING_RULES`) never count
exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from milopt.arrays import Floats, Words
from milopt.bag_kernels.coded_bags import CodedBags, code_bags, merge_distinct
from milopt.bag_kernels.count_cache import cached_counts, store_counts
from milopt.bag_kernels.estimators import check_accuracy
from milopt.bag_kernels.grid import Grid
from milopt.bag_kernels.grid_kernel import GridKernel
from milopt.bag_kernels.log_kernel import LogKernel
from milopt.bag_kernels.pair_counts import CountingSettings, count_pairs
from milopt.bag_kernels.stream import pair_seeds
from milopt.declaration.bags.bag_rows import as_bag_rows
from milopt.declaration.bags.bags import Bags
from milopt.declaration.checks import check_choice, check_integer, check_open_fraction
from milopt.errors import ParameterError

MAX_EXACT_STEPS = 10**15
"""Largest admissible value of `exact_below`. A count with this number of steps never ends in practice."""
COUNTING_RULES = ("guaranteed", "fast", "karp-luby", "self-adjusting")
"""Names of the estimators. The last two are the estimators of the paper, for comparison."""


@dataclass(frozen=True)
class CountDetails:
    """Details of the counts of a Gram matrix, one entry per pair of bags.

    Attributes
    ----------
    draws : ndarray of shape (n_A, n_B)
        Number of random draws. 0 means that the count is exact.
    log_universe : ndarray of shape (n_A, n_B)
        Logarithm of |U|, the number of triples (p, q, b) such that the box b contains the points p and q. NaN for exact
        counts.
    log_counts : ndarray of shape (n_A, n_B)
        Logarithm of the number of boxes that meet both bags.
    """

    draws: Floats
    log_universe: Floats
    log_counts: Floats

    @property
    def exact(self) -> float:
        """Fraction of the counts that are exact, from 0 to 1."""
        return float(np.mean(self.draws == 0))


@dataclass(frozen=True, repr=False)
class BoxCounting(GridKernel, LogKernel):
    """Box-counting kernel: the number of boxes of a grid that meet both bags.

    Every feature is discretised to integer codes. A box is a product of intervals of codes. The kernel of two bags is
    the number of boxes that contain at least one instance of each bag. Values can exceed the range of floats: use
    `log`, or a `milopt.bag_kernels.derived.PowerKernel`.

    Counts are cached. They depend neither on the number of threads nor on the other pairs of the Gram matrix.

    Parameters
    ----------
    epsilon : float, default=0.1
        Relative error of estimated counts.
    delta : float, default=0.01
        Probability, for each pair, with which the relative error of an estimated count may exceed `epsilon`.
    exact_below : int or None, default=None
        Count a pair exactly if that takes fewer steps than this. None compares the cost with that of an estimate.
        The rules "karp-luby" and "self-adjusting" ignore `exact_below` and always estimate.
    bins : int, default=100
        Maximum number of codes per feature.
    binning : {"uniform", "quantile", "rank"}, default="uniform"
        How features are discretised: equal widths, equal frequencies, or one code per distinct training value.
    rule : {"guaranteed", "fast", "karp-luby", "self-adjusting"}, default="guaranteed"
        Estimator of counts that are not exact. "fast" stops by a normal approximation and has no guarantee; the last
        two are the estimators of the paper, for comparison.
    seed : int, default=0
        Seed of the random draws.
    jobs : int or None, default=None
        Number of threads. None means one thread, -1 means one thread per processor.
    grid : Grid or None, default=None
        Discretisation of the features. None fits the grid to the training bags (see `fitted_to`).

    Raises
    ------
    ParameterError
        If a parameter is invalid, such as `epsilon` or `delta` outside (0, 1).

    Notes
    -----
    The fast rule stops too early if hardly any draw is informative. For two bags that consist of a tight cluster and
    one distant point, it may only see the cluster. At `epsilon` = 0.1 and `delta` = 0.01, clusters of 8 points are
    estimated 2 % too low on average and miss `epsilon` 8 times as often as `delta` states; clusters of 30 points were
    too low by a half for most seeds.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> bags = [np.array([[0.0], [1.0]]), np.array([[2.0]]), np.array([[4.0]])]
    >>> kernel = milopt.BoxCounting(bins=5).fitted_to(bags)
    >>> kernel(bags, bags).round(6)
    array([[9., 6., 2.],
           [6., 9., 3.],
           [2., 3., 5.]])
    """

    is_semidefinite: ClassVar[bool] = False
    compiles_on_first_use: ClassVar[bool] = True
    epsilon: float = 0.1
    delta: float = 0.01
    exact_below: int | None = None
    bins: int = 100
    binning: str = "uniform"
    rule: str = "guaranteed"
    seed: int = 0
    jobs: int | None = field(default=None, compare=False)
    grid: Grid | None = None

    def __post_init__(self) -> None:
        check_open_fraction("epsilon", self.epsilon)
        check_open_fraction("delta", self.delta)
        check_accuracy(self.epsilon, self.delta)
        check_choice("rule", self.rule, COUNTING_RULES)
        if self.exact_below is not None and check_integer("exact_below", self.exact_below, 0) > MAX_EXACT_STEPS:
            raise ParameterError(f"exact_below must be at most {MAX_EXACT_STEPS:.0e}: more steps would never end.")
        check_integer("seed", self.seed, 0)
        if self.jobs is not None and self.jobs != -1:
            _check_jobs(self.jobs)
        self._check_grid()

    @property
    def log_scale(self) -> float:
        """Logarithm of the number of all boxes, an upper bound of every count."""
        return self.require_grid().log_box_count

    def count_details(self, A: Any, B: Any) -> CountDetails:
        """Return the logarithms of the counts of a Gram matrix, with the number of draws of each entry.

        Parameters
        ----------
        A, B : bags
            Bags in any form that `milopt.as_bags` accepts.

        Returns
        -------
        CountDetails
            Arrays of shape (len(A), len(B)).
        """
        left = as_bag_rows(A).bags
        counts = self._count_matrix(left, left if B is A else as_bag_rows(B).bags)
        return CountDetails(counts[..., 1], counts[..., 2], counts[..., 0])

    def save(self, path: str | PathLike[str], bags: Any) -> None:
        """Count all pairs of bags, and write the kernel, its grid and the counts to one file.

        Parameters
        ----------
        path : str or path-like
            File to write. `milopt.load_gram` reads it.
        bags : bags
            Bags to count. The grid is fitted to them if the kernel has none.
        """
        from milopt.bag_kernels.gram_file import save_gram

        save_gram(self.fitted_to(as_bag_rows(bags).bags), as_bag_rows(bags).bags, path)

    def latex(self) -> str:
        """Return K(B, B') in LaTeX."""
        return r"\#\{b : x \cap b \neq \emptyset, z \cap b \neq \emptyset\}"

    def log_diagonal(self, A: Any) -> Floats:
        """Return log K(B, B) for each bag B of A.

        Parameters
        ----------
        A : bags
            Bags in any form that `milopt.as_bags` accepts.

        Returns
        -------
        ndarray of shape (len(A),)
            Logarithm of the number of boxes that meet each bag.
        """
        mine = code_bags(self.require_grid(), as_bag_rows(A).bags)
        return np.array(self._look_up_or_count([mine], mine.words, mine.words)[:, 0])

    def _log_gram(self, A: Bags, B: Bags) -> Floats:
        """Return the logarithms of the counts of all pairs of bags, an array of shape (len(A), len(B))."""
        return np.array(self._count_matrix(A, B)[..., 0])

    def _count_matrix(self, A: Bags, B: Bags) -> Floats:
        """Return (log count, draws, log |U|) of each pair (see `CountDetails`), of shape (len(A), len(B), 3)."""
        left = code_bags(self.require_grid(), A)
        right = left if B is A else code_bags(self.require_grid(), B)
        return self._look_up_or_count([left, right], left.words[:, None], right.words)

    def _look_up_or_count(self, bags: Sequence[CodedBags], first: Words, second: Words) -> Floats:
        """Return (log count, draws, log |U|) of pairs of bags, from the cache if possible; count the other pairs.

        `first` and `second` are digests of bags, which are broadcast against each other; `bags` contains the bags
        with these digests.
        """
        seeds = pair_seeds(int(self.seed), first, second)
        known = cached_counts(self.cache_key)
        new = known.missing_positions(seeds)
        if new.size:
            every = merge_distinct(bags)
            place = {word: i for i, word in enumerate(every.words.tolist())}
            low, high = (side(first, second).ravel()[new].tolist() for side in (np.minimum, np.maximum))
            pairs = np.array([(place[a], place[b]) for a, b in zip(low, high, strict=True)], dtype=np.intp)
            counts = count_pairs(every, pairs, self.require_grid().s, self.counting_settings, self.jobs)
            known = known.with_pairs(seeds.ravel()[new], counts)
        store_counts(self.cache_key, known, seeds)
        return known.lookup(seeds)

    @property
    def cache_key(self) -> tuple[object, ...]:
        """Cache key: everything that the count of two bags depends on besides the bags."""
        return self.require_grid().digest, self.counting_settings

    @property
    def counting_settings(self) -> CountingSettings:
        """Settings that determine the count of a pair of bags on a grid."""
        below = None if self.exact_below is None else int(self.exact_below)
        return CountingSettings(self.epsilon, self.delta, below, self.rule, int(self.seed))


def _check_jobs(jobs: int) -> None:
    """Raise an error if `jobs` is not a positive integer."""
    try:
        check_integer("jobs", jobs, 1)
    except ParameterError:
        raise ParameterError(
            f"jobs must be a whole number of at least 1, or -1 for one per processor, not {jobs!r}."
        ) from None
