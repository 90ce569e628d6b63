"""The box-counting SVM: a support vector machine whose kernel counts the boxes of a grid that meet both of two bags.

    min  1/2 ||f||^2 + C sum_i w_i xi_i   s.t.  y_i (f(B_i) + b) >= 1 - xi_i,  xi >= 0

w_i is the weight of bag i, and f is a function of bags in the space of a kernel that `gram` makes from the box count
k(B, B'). Let k' = (k / c)^tau be a power of k, with the divisor c selected by `normalise`, and let R_1, R_2, ... be the
distinct training bags. The kernel of f is

    gram="empirical"   the inner product of the features k'(B, R_j) of two bags
    gram="clipped"     k' after the negative eigenvalues of the matrix k'(R, R) were set to 0 (k' may be indefinite)
    gram="plain"       k itself, without divisor and power; for a positive semidefinite k without too large values, such
                       as `RandomBoxes`

For "empirical" and "clipped", the features are centred and divided by their spread over the R_j (see
`milopt.bag_kernels.derived`). The dual is that of a C-SVM with this kernel. If the bias is regularised (1/2 b^2 in the
objective), the only constraints of the dual are the bounds 0 <= a_i <= C w_i of its variables a.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy.typing as npt

from milopt import BagClassifier, Kernel, Program, as_bags, sum_squares
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.derived import ClippedKernel, EmpiricalMap, PowerKernel, PSDCorrection
from milopt.bag_kernels.grid_kernel import GridKernel
from milopt.bag_kernels.set_kernels import as_bag_kernel
from milopt.declaration.bags.bag_rows import concatenate_bags, distinct_bags
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights
from milopt.declaration.checks import check_choice, check_fraction, check_positive
from milopt.declaration.kernels.bag_kernel import BagKernel
from milopt.errors import ParameterError


class BoxCountingSVM(BagClassifier):
    """Bag classifier: support vector machine on a box-counting kernel.

    The kernel k(B, B') counts the boxes of a grid that contain an instance of B and an instance of B'. Solves

        min_{f,b,xi}  1/2 ||f||^2 + C sum_i w_i xi_i
        s.t.  y_i (f(B_i) + b) >= 1 - xi_i,  xi >= 0,

    where w_i is the weight of bag i and f is a function of bags in the space of the kernel that `gram` makes from k.
    The grid follows the range of each feature, so that scaling the features only changes rounding errors.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the slacks. Larger values allow fewer violated margins.
    tau : float or str, default="1/D"
        Power of the counts: a number in (0, 1], or a text such as "4/D" for min(1, 4/D), where D is the number of
        features. Counts and their ratios grow exponentially with D; small powers make the counts comparable.
    kernel : Kernel, default=BoxCounting()
        Kernel k between bags. A kernel between instances is replaced by its mean set kernel.
    gram : {"empirical", "clipped", "plain"}, default="empirical"
        How k becomes a positive semidefinite kernel. "empirical": the features of a bag B are the values k'(B, R_j) of
        the normalised power k' = (k / c)^tau at the training bags R_j. "clipped": the negative eigenvalues of k' on the
        training bags are set to 0. With "empirical" and "clipped", the features are centred and divided by their spread
        over the training bags. "plain": k itself is used; `tau` and `normalise` are then ignored.
    normalise : {"cosine", "constant"}, default="cosine"
        Divisor c of k before the power. "cosine": sqrt(k(B, B) k(B', B')). "constant": an upper bound of all values if
        the kernel has one, as `BoxCounting` does, and 1 otherwise.
    bias : {"free", "regularised"}, default="free"
        Whether the bias b is free, or regularised by the term 1/2 b^2 in the objective.

    Attributes
    ----------
    result_ : Result
        Result of the optimisation (two classes).
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.
    psd_correction_ : PSDCorrection or None
        Change that made the Gram matrix positive semidefinite, for ``gram="clipped"``; otherwise None.
    transduction_ : ndarray of shape (n_unlabelled,)
        Predicted labels of the unlabelled bags, after `fit_transductive`.

    References
    ----------
    .. [1] Q. Tao, S. Scott, N. V. Vinodchandran and T. T. Osugi. SVM-based generalized multiple-instance learning via
       approximate box counting. International Conference on Machine Learning, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import BoxCountingSVM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1, 0] += 4
    >>> model = BoxCountingSVM(C=10.0).fit(bags, y)
    >>> model.score(bags, y)
    1.0
    """

    C: float = 10.0
    tau: float | str = "1/D"
    kernel: Kernel = BoxCounting()
    gram: str = "empirical"
    normalise: str = "cosine"
    bias: str = "free"

    _program_data: ClassVar[tuple[str, ...]] = ("_unlabelled",)
    _unlabelled: Bags | None = None
    """Unlabelled bags among the reference bags; only set during `fit_transductive`."""

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "tau": ("4/D", "1/D", "0.25/D"),
        "C": (0.1, 1.0, 10.0, 100.0),
    }
    """Candidates: powers tau around 1/D, which turns a product over D features into a geometric mean; powers of ten."""

    @property
    def has_symmetric_classes(self) -> bool:
        """True: exchanging the classes negates f and b, and therefore all scores."""
        return True

    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """Build the program stated in the class docstring."""
        C, bias = check_positive("C", self.C), check_choice("bias", self.bias, ("free", "regularised"))
        program = Program("box-counting SVM")
        kernel = self._build_kernel(bags)
        if isinstance(kernel, ClippedKernel) and kernel.psd_correction.n_negative:
            program.remark(str(kernel.psd_correction))
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
        """Fit with unlabelled bags among the reference bags, and predict their labels.

        The predicted labels are stored in `transduction_`. `predict` also accepts other bags and compares them with the
        same reference bags, which are the training bags and the unlabelled bags. The grid is fitted to the training
        bags only. `scale` is ignored: the features are not scaled.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Training bags, each of shape (n_instances, n_features).
        y : array-like of shape (n_bags,)
            Label of each training bag.
        unlabelled : list of array, 3-D array or Bags
            Bags without labels.
        sample_weight : array-like of shape (n_bags,) or None, default=None
            Weight of each training bag. None means 1 for all.

        Returns
        -------
        Self
            The fitted model.

        Raises
        ------
        ParameterError
            If `gram` is not "empirical", the only choice whose reference bags may include unlabelled bags.
        """
        if self.gram != "empirical":
            raise ParameterError(f'fit_transductive needs the reference bags of gram="empirical", not {self.gram!r}.')
        scale = self.scale
        self._unlabelled, self.scale = as_bags(unlabelled), "none"
        try:
            super().fit(bags, y, sample_weight)
            self.transduction_ = self.predict(self._unlabelled)
        finally:
            self._unlabelled, self.scale = None, scale
        # In the fitted state, `given` must have the hyper-parameters that the user gave. Only `declaring_model`,
        # the copy of the model that declared the program, has scale="none" and the unlabelled bags of this fit.
        self._fitted.given = self._unfitted_copy()
        return self

    @property
    def psd_correction_(self) -> PSDCorrection | None:
        """Change that made the Gram matrix positive semidefinite, for ``gram="clipped"``; otherwise None."""
        kernel = self.results_[0].program.functions["f"].kernel
        return kernel.psd_correction if isinstance(kernel, ClippedKernel) else None

    def count_values_outside_grid(self, bags: object) -> int:
        """Count the feature values that lie outside the grid of the training bags.

        The kernel clips such values to the grid.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        int
            Number of values (one per instance and feature) outside the grid.

        Raises
        ------
        ParameterError
            If the kernel has no grid.
        """
        kernel: Any = vars(self._fitted_state().declaring_model)["kernel"]
        if not isinstance(kernel, GridKernel):
            raise ParameterError(
                f"{kernel!r} has no grid: `count_values_outside_grid` is for kernels with a grid, such as BoxCounting."
            )
        return kernel.count_values_outside_grid(self._scale_new_bags(bags))

    def _build_kernel(self, bags: Bags) -> BagKernel:
        """Return the kernel of f, built as `gram` selects, from the hyper-parameter `kernel` fitted to the bags."""
        check_choice("gram", self.gram, ("empirical", "clipped", "plain"))
        fitted = as_bag_kernel(self.kernel).fitted_to(bags)
        power_kernel = PowerKernel(fitted, resolve_tau(self.tau, bags.dimension), self.normalise)
        if self.gram == "plain":
            return fitted
        # Equal bags give one reference bag, so that giving a bag twice has the same effect as the weight 2.
        if self.gram == "clipped":
            return ClippedKernel(power_kernel, distinct_bags(bags))
        return EmpiricalMap(
            power_kernel,
            distinct_bags(bags if self._unlabelled is None else concatenate_bags([bags, self._unlabelled])),
        )


def resolve_tau(tau: float | str, dimension: int) -> float:
    """Return tau as a number: the number itself, or min(1, 4 / dimension) for the text "4/D"."""
    try:
        if not isinstance(tau, str):
            return check_fraction("tau", tau)
        number, slash, letter = tau.partition("/")
        if not slash or letter.strip() != "D":
            raise ValueError
        return min(1.0, check_positive("tau", float(number)) / dimension)
    except ValueError:
        raise ParameterError(f'tau must be a number above 0 and at most 1, or such as "1/D", not {tau!r}.') from None
