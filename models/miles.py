"""MILES: sparse linear separation of bags described by their similarities to training instances.

    min  lambda 1'(u + v) + mu sum_{I+} w_i xi_i + (1 - mu) sum_{I-} w_i xi_i
    s.t. y_i (M_i (u - v) + b) >= 1 - xi_i,   u, v, xi >= 0,      M[i, z] = max_{x in B_i} K(x, z)

w_i is the weight of bag i, I+ and I- are the positive and the negative bags, and z runs over all training instances, or
over a dictionary of landmarks. M_i is row i of the matrix M of similarities. This is a linear program, because the
maxima in M are computed from the data and do not contain unknowns. Few entries of u - v are nonzero: the method selects
instances.

If M is large, its columns are generated. Let c_i be the cost of the slack of bag i, that is mu w_i or (1 - mu) w_i. The
dual is

    max  1'd   s.t.  |sum_i y_i d_i M[i, z]| <= lambda for every z,   y'd = 0,   0 <= d_i <= c_i.

With u = v = 0, the objective is at most F = 2 min(sum_{I+} c_i, sum_{I-} c_i), so that 1'(u + v) <= R = F / lambda at
every optimum. The dual of the program with this bound on 1'(u + v) is

    max  1'd - g   s.t.  sum_i y_i d_i h(B_i) - R lambda <= g for every h,   y'd = 0,   0 <= d_i <= c_i,   g >= 0

with the columns h = +-R M[., z]. It has the same optimum. At any d that satisfies the rows without h, let g be the
largest violation of the rows of all h at g = 0, but at least 0. Then (d, g) is feasible, and 1'd - g bounds the
optimum. The bound that certifies the answer therefore comes from the columns of all z. The multiplier of the row of h,
times R, is the entry of u (+) or v (-).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np

from milopt import RBF, BagClassifier, Kernel, Program
from milopt.arrays import Floats, Points
from milopt.declaration.atoms.norm1 import norm1
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import check_choice, check_open_fraction, check_positive
from milopt.declaration.kernels.dictionary import choose_dictionary
from milopt.declaration.kernels.max_similarity import MaxSimilarity, single_instance_bags
from milopt.declaration.kernels.similarity import similarity
from milopt.declaration.programs.semi_infinite import Oracle, SemiInfinite
from milopt.models.shapelet_boost import optimal_quantile

MAX_WHOLE_PROGRAM_ENTRIES = 500_000
"""Largest number of similarities M[i, z] for which `columns="auto"` declares the whole linear program."""


class MILES(BagClassifier):
    """Bag classifier: 1-norm support vector machine on similarities to training instances (MILES).

    A bag is described by its similarities M[i, z] = max_{x in B_i} K(x, z) to all training instances z, or to the
    landmarks z of a dictionary. Solves the linear program

        min_{u,v,b,xi}  lam 1'(u + v) + mu sum_{y_i = 1} w_i xi_i + (1 - mu) sum_{y_i = -1} w_i xi_i
        s.t.  y_i (M_i (u - v) + b) >= 1 - xi_i,  u, v, xi >= 0,

    where w_i is the weight of bag i. Few entries of u - v are nonzero: the method selects instances. An instance is
    scored like a bag that contains only this instance, sum_z (u_z - v_z) K(x, z) + b.

    Parameters
    ----------
    lam : float, default=0.1
        Weight of the 1-norm of u - v. Larger values select fewer instances. A wider kernel needs a smaller value: for D
        features in [0, 1] and the kernel `RBF(s=1/D)`, which is much wider than the default, ``lam=0.2`` already
        selects no instance.
    mu : float, default=0.5
        Weight of the slacks of positive bags, in (0, 1); the slacks of negative bags have weight 1 - mu.
    kernel : Kernel, default=RBF("median")
        Similarity between instances.
    dictionary : {"all", "kmeans", "sample", "uniform"}, default="all"
        The points z: all training instances, k-means centroids, a k-means++ sample, or a uniform sample of them.
    atoms : int, default=1000
        Maximum number of points z, unless ``dictionary="all"``.
    columns : {"auto", "whole", "generated"}, default="auto"
        Whether the solver gets the whole linear program with its matrix M, or columns of M are generated when they are
        needed. "auto" generates columns if M has more than 500,000 entries; the report states the choice. Generated
        columns need at least one pricing of all columns, which costs about 2 N k d floating point operations for N
        instances with d features and k points z (2 N^2 d for all instances). The columns of M are kept up to 256 MiB,
        and those beyond are computed again in every pricing.

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.

    References
    ----------
    .. [1] Y. Chen, J. Bi and J. Z. Wang. MILES: Multiple-instance learning via embedded instance selection.
       IEEE Transactions on Pattern Analysis and Machine Intelligence 28(12), 1931-1947, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import MILES
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1, 0] += 4
    >>> model = MILES(lam=0.1).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    lam: float = 0.1
    mu: float = 0.5
    kernel: Kernel = RBF("median")
    dictionary: str = "all"
    atoms: int = 1000
    columns: str = "auto"

    in_default_comparison = True
    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "lam": (0.01, 0.1, 1.0),
        "kernel": (RBF(s="0.25/median"), RBF(s="median"), RBF(s="4/median")),
    }
    """Candidate values: powers of ten for `lam`, and kernel widths around the median distance between instances."""

    @property
    def has_symmetric_classes(self) -> bool:
        """True if mu = 1/2, the same slack weight for both classes: exchanging them then negates u - v and b."""
        return self.mu == 0.5

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program | SemiInfinite:
        """Build the linear program stated in the class docstring, or its dual with generated columns."""
        lam, mu = check_positive("lam", self.lam), check_open_fraction("mu", self.mu)
        choice = check_choice("columns", self.columns, ("auto", "whole", "generated"))
        Z = self._choose_points(bags)
        cost = np.where(y > 0, mu, 1 - mu) * weight
        entries = len(bags) * Z.shape[0]
        is_large = entries > MAX_WHOLE_PROGRAM_ENTRIES
        generates = choice == "generated" or (choice == "auto" and is_large)
        declared = (self._declare_generated_columns if generates else self._declare_whole_program)(
            bags, y, cost, lam, Z
        )
        size = f"{entries:,} similarities of {len(bags):,} bags to {Z.shape[0]:,} points"
        how = "Columns are generated" if generates else "All columns are in the linear program"
        limit = f"{'more than' if is_large else 'at most'} {MAX_WHOLE_PROGRAM_ENTRIES:,}"
        reason = f"because there are {size}, {limit}" if choice == "auto" else f'as requested (columns="{choice}")'
        declared.remarks = (*declared.remarks, f"{how}, {reason}.")
        return declared

    def _choose_points(self, bags: Bags) -> Points:
        """Return the points z."""
        if self.dictionary == "all":
            return bags.instances
        seed = self.random_state if isinstance(self.random_state, int) else 0
        return choose_dictionary(bags.instances, self.dictionary, self.atoms, self.kernel, seed)

    def _declare_whole_program(self, bags: Bags, y: Signs, cost: Floats, lam: float, Z: Points) -> Program:
        """Build the whole linear program with the slack costs `cost` and the points Z."""
        kernel = self.kernel
        program = Program("MILES")
        u = program.variable("u", Z.shape[0], lower=0)
        v = program.variable("v", Z.shape[0], lower=0)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        M = similarity(kernel, bags, Z)
        program.minimize(lam * (u.sum() + v.sum()) + cost @ slack)
        program.subject_to(y * (M @ (u - v) + b) >= 1 - slack, name="margin")
        program.name_constant("M", M, r"\max_{x \in B_{i}} K(x, z_{j})", kernel)
        program.score(
            lambda new: similarity(kernel, new, Z) @ (u - v) + b, instances=lambda x: kernel(x, Z) @ (u - v) + b
        )
        return program

    def _declare_generated_columns(self, bags: Bags, y: Signs, cost: Floats, lam: float, Z: Points) -> SemiInfinite:
        """Build the dual with generated columns, as stated in the module docstring."""
        positive, negative = float(cost[y > 0].sum()), float(cost[y < 0].sum())
        radius = 2 * min(positive, negative) / lam
        master = Program("MILES, dual")
        d = master.variable("d", len(bags), lower=0, upper=cost)
        g = master.variable("g", lower=0)
        master.maximize(d.sum() - g)
        master.subject_to(y @ d == 0, name="balance")
        margin = master.family("margin", lambda h: (y * h) @ d - radius * lam <= g)
        program = Program("column")
        prices = program.parameter("d", len(bags), sign=+1)
        a = program.function("a", MaxSimilarity(self.kernel), dictionary=single_instance_bags(Z))
        # Objective g - 1'd of the master (minimised), with the smallest g that the row of h = a(bags) allows at d.
        program.maximize((y * prices) @ a(bags) - radius * lam - prices.sum())
        program.subject_to(norm1(a.coefficients) <= radius, name="ball")
        oracle = Oracle(program, {prices: d}, column=a, instances=lambda x: a(single_instance_bags(x)))
        start = cost * np.where(y > 0, min(1.0, negative / positive), min(1.0, positive / negative))
        return SemiInfinite(master, margin, oracle, bags, {d: start}, partial(best_bias, y=y, cost=cost))


def best_bias(scores: Floats, y: Signs, cost: Floats) -> float:
    """Return the bias b that minimises sum_i cost_i [1 - y_i (scores_i + b)]_+; the middle of all such b if many do."""
    return optimal_quantile(y - scores, cost / (2 * cost[y > 0].sum()))
