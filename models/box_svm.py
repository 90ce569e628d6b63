"""The box-counting SVM: maximum-margin separation of bags by how many boxes of a grid they meet together.

    min  1/2 ||f||^2 + C sum_i w_i xi_i   s.t.  y_i (f(B_i) + b) >= 1 - xi_i,  xi >= 0

f is a function of bags in the space of a kernel made from the box count k (see `milopt.bag_kernels`): its root k^tau,
with features k^tau(B, R_j) over the training bags R_j (`gram="empirical"`), or itself, with the negative eigenvalues
that a root may have set to 0 (`gram="clipped"`); or k as it is, where it is positive semidefinite and of a size that
numbers hold (`gram="plain"`, for shared random boxes above all). The dual is a C-SVM's; with the bias regularised
(1/2 b^2 in the objective) it is a QP over a box.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

import numpy.typing as npt

from milopt import BagClassifier, Kernel, Program, as_bags, sum_squares
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.derived import Clipped, Damped, EmpiricalMap, Repair
from milopt.bag_kernels.grid_kernel import GridKernel
from milopt.bag_kernels.set_kernels import as_bag_kernel
from milopt.declaration.bags.bag_rows import different, joined
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import one_of, positive, share
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.errors import ParameterError


class BoxCountingSVM(BagClassifier):
    """Maximum-margin separation of bags by the boxes of a grid that they meet.

    `tau` is a number up to 1, or such as "4/D": counts grow exponentially with the number of features, and so do the
    differences between them. Another kernel of bags may take the place of box counting; one of instances means its mean
    set kernel. The grid follows the range of each feature, so that scaling changes nothing but rounding.
    """

    C: float = 10.0
    """Weight of the slacks beside ||f||^2; larger values allow fewer violated margins."""
    tau: float | str = "1/D"
    kernel: Kernel = BoxCounting()
    """Kernel of bags whose values are counts; a kernel of instances means its mean set kernel."""
    gram: str = "empirical"
    """How the root of the counts becomes a kernel: `empirical`, `clipped` or `plain`."""
    normalize: str = "cosine"
    """`cosine` or `constant`."""
    bias: str = "free"
    """`free`, or `regularised` by 1/2 b^2 in the objective."""
    unlabelled: Bags | None = None
    """What `fit_transductive` sets while it fits, and nobody else may: bags that join the reference bags."""

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "tau": ("4/D", "1/D", "0.25/D"),
        "C": (0.1, 1.0, 10.0, 100.0),
    }
    """Roots about the one that takes the mean over features, and C by powers of ten."""

    @property
    def has_symmetric_classes(self) -> bool:
        """Return True: exchanging the classes negates f and b."""
        return True

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """The program of the module."""
        C, bias = positive("C", self.C), one_of("bias", self.bias, ("free", "regularised"))
        program = Program("box-counting SVM")
        kernel = self._kernel(bags)
        if isinstance(kernel, Clipped) and kernel.repair.negative:
            program.remark(str(kernel.repair))
        f = program.function("f", kernel)
        b = program.variable("b")
        slack = program.variable("slack", len(bags), lower=0)
        square = 0.5 * sum_squares(b) if bias == "regularised" else 0.0
        program.minimize(0.5 * f.norm_squared() + square + C * (weight @ slack))
        program.subject_to(y * (f(bags) + b) >= 1 - slack, name="margin")
        program.score(lambda new: f(new) + b)
        return program

    def fit_transductive(
        self, bags: object, y: npt.ArrayLike, unlabelled: object, sample_weight: npt.ArrayLike | None = None
    ) -> Self:
        """Fit with bags without labels among the reference bags; the labels found for them are `transduction_`.

        For other new bags fit again. The grid is that of the labelled bags alone, and features are not scaled.
        """
        self._refuse_unlabelled()
        if self.gram != "empirical":
            raise ParameterError(f'fit_transductive needs the reference bags of gram="empirical", not {self.gram!r}.')
        scale = self.scale
        self.unlabelled, self.scale = as_bags(unlabelled), "none"
        try:
            super().fit(bags, y, sample_weight)
            self.transduction_ = self.predict(self.unlabelled)
        finally:
            self.unlabelled, self.scale = None, scale
        # The hyper-parameters are the person's; what this fit added to them stays with what declares its program.
        self._fitted.given = self._bare()
        return self

    def fit(self, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit to labelled bags alone."""
        self._refuse_unlabelled()
        return super().fit(bags, y, sample_weight)

    def program(self, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Program:
        """The program that `fit` would solve."""
        self._refuse_unlabelled()
        return cast(Program, super().program(bags, y, sample_weight))

    def _refuse_unlabelled(self) -> None:
        # From elsewhere they would come unscaled among scaled bags.
        if self.unlabelled is not None:
            raise ParameterError(
                "Bags without labels are not set beforehand: call fit_transductive(bags, y, unlabelled)."
            )

    @property
    def repair_(self) -> Repair | None:
        """What it took to make the Gram matrix positive semidefinite; None where it is so by construction."""
        kernel = self.results_[0].program.functions["f"].kernel
        return kernel.repair if isinstance(kernel, Clipped) else None

    def outside(self, bags: object) -> int:
        """How many values of these bags lie outside the grid of the training bags, and are clipped to it."""
        kernel: Any = vars(self._known().declarer)["kernel"]
        if not isinstance(kernel, GridKernel):
            raise ParameterError(f"{kernel!r} has no grid that values could lie outside of.")
        return kernel.outside(self._scaled(bags))

    def _kernel(self, bags: Bags) -> BagKernel:
        """The kernel of the program, over these training bags."""
        one_of("gram", self.gram, ("empirical", "clipped", "plain"))
        fitted = as_bag_kernel(self.kernel).fitted_to(bags)
        damped = Damped(fitted, root(self.tau, bags.dimension), self.normalize)
        if self.gram == "plain":
            return fitted
        # A bag of weight 2 is one reference bag, and so is a bag that was given twice.
        if self.gram == "clipped":
            return Clipped(damped, different(bags))
        return EmpiricalMap(damped, different(bags if self.unlabelled is None else joined([bags, self.unlabelled])))


def root(tau: float | str, dimension: int) -> float:
    """tau as a number; "4/D" is 4 over the number of features, but at most 1."""
    try:
        if not isinstance(tau, str):
            return share("tau", tau)
        number, slash, letter = tau.partition("/")
        if not slash or letter.strip() != "D":
            raise ValueError
        return min(1.0, positive("tau", float(number)) / dimension)
    except ValueError:
        raise ParameterError(f'tau must be a number above 0 and at most 1, or such as "1/D", not {tau!r}.') from None
