"""The box-counting SVM: maximum-margin separation of bags by how many boxes of a grid they meet together.

    min  1/2 ||f||^2 + C sum_i w_i xi_i   s.t.  y_i (f(B_i) + b) >= 1 - xi_i,  xi >= 0

f is a function of bags in the space of a kernel made from the box count k (see `milopt.bag_kernels`): its root k^tau,
with features k^tau(B, R_j) over the training bags R_j (`gram="empirical"`), or itself, with the negative eigenvalues
that a root may have set to 0 (`gram="clipped"`). The dual is a C-SVM's; with the bias regularised (1/2 b^2 in the
objective) it is a QP over a box.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy.typing as npt

from milopt import BagClassifier, Program, as_bags, sum_squares
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.derived import Clipped, Damped, EmpiricalMap, Repair
from milopt.declaration.bag_kernel import BagKernel
from milopt.declaration.bag_rows import joined
from milopt.declaration.bags import Bags
from milopt.declaration.checks import one_of, positive
from milopt.declaration.labels import Signs, Weights
from milopt.errors import ParameterError


class BoxCountingSVM(BagClassifier):
    """Maximum-margin separation of bags by the boxes of a grid that they meet.

    The grid follows the range of each feature, so that scaling changes nothing. `fit_transductive` is the one way in
    which bags without labels enter.
    """

    C: float = 100.0
    kernel: BagKernel = BoxCounting()
    tau: float = 0.005
    gram: str = "empirical"
    normalise: str = "constant"
    bias: str = "free"
    unlabelled: Bags | None = None
    """What `fit_transductive` sets: bags that join the reference bags of the empirical map."""
    scale: str = "none"

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "tau": (0.02, 0.005),
        "C": (0.1, 1.0, 10.0, 100.0, 1000.0),
    }
    """The two roots that were tried most, and C by powers of ten."""

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
        """Fit with bags without labels among the reference bags: their labels, which nobody gave, are `transduction_`.

        For other new bags fit again. The grid is that of the labelled bags alone.
        """
        if self.scale != "none" or self.gram != "empirical":
            raise ParameterError('fit_transductive needs gram="empirical" and scale="none".')
        given, self.unlabelled = self.unlabelled, as_bags(unlabelled)
        try:
            self.fit(bags, y, sample_weight)
            self.transduction_ = self.predict(self.unlabelled)
        finally:
            self.unlabelled = given
        return self

    @property
    def repair_(self) -> Repair | None:
        """What it took to make the Gram matrix positive semidefinite; None where it is so by construction."""
        kernel = self.results_[0].program.functions["f"].kernel
        return kernel.repair if isinstance(kernel, Clipped) else None

    def outside(self, bags: object) -> int:
        """How many values of these bags lie outside the grid of the training bags, and are clipped to it."""
        kernel: Any = self._known().declarer.kernel  # type: ignore[attr-defined]
        return int(kernel.outside(self._scaled(bags)))

    def _kernel(self, bags: Bags) -> BagKernel:
        """The kernel of the program, over these training bags."""
        one_of("gram", self.gram, ("empirical", "clipped"))
        damped = Damped(self.kernel.fitted_to(bags), self.tau, self.normalise)
        if self.gram == "clipped":
            return Clipped(damped, bags)
        return EmpiricalMap(damped, bags if self.unlabelled is None else joined([bags, self.unlabelled]))
