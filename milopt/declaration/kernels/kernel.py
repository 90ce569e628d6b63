"""Kernels K(x, z) between instances; `kernel(A, B)` is the Gram matrix of the rows of A and B, dense or sparse.

A kernel may have parameters that depend on the data: `RBF()` has s = 1/D for D features. `kernel.fitted(instances)`
returns the kernel with these parameters replaced by numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Floats, Points
from milopt.declaration.array_conversion import to_float_array
from milopt.declaration.bags.scaled_rows import is_scaled_rows
from milopt.declaration.kernels.gram import (
    as_point_rows,
    cache_sized_slices,
    inner_products,
    is_symmetric,
    negative_squared_distances,
    point_blocks,
    squared_norms,
)
from milopt.declaration.kernels.width import inverse_median_distance, is_positive, median_factor
from milopt.errors import BagsError, ParameterError

if TYPE_CHECKING:
    from milopt.declaration.bags.bags import Bags


class Kernel(ABC):
    """Base class of kernels: symmetric functions K(x, z) of two instances.

    Subclasses implement `latex`, `_gram` and `_diagonal`, and, if the kernel depends on the data, `fitted`.

    Attributes
    ----------
    is_semidefinite : bool
        True if every Gram matrix of the kernel is known to be positive semidefinite. If False, milopt checks the Gram
        matrix before a solver uses it.
    compiles_on_first_use : bool
        True if native code is compiled when the kernel is evaluated for the first time.
    has_features : bool
        True if `features` returns an explicit feature map phi with K(x, z) = phi(x)'phi(z). Linear models are then
        fitted by weights of features, without kernel values.
    requires_unscaled_input : bool
        True if features must not be rescaled before the kernel is evaluated.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> points = np.array([[0.0, 0.0], [1.0, 2.0]])
    >>> kernel = milopt.RBF(s=0.5)
    >>> isinstance(kernel, milopt.Kernel)
    True
    >>> kernel(points, points).round(4)
    array([[1.    , 0.0821],
           [0.0821, 1.    ]])
    """

    is_semidefinite: ClassVar[bool] = False
    """Whether every Gram matrix is known to be positive semidefinite; otherwise milopt checks it."""
    indefinite_remedy: ClassVar[str] = "use a positive semidefinite kernel such as RBF or GlobalAlignment"
    """Advice for error messages if a Gram matrix is not positive semidefinite."""

    compiles_on_first_use: ClassVar[bool] = False
    """Whether native code is compiled at the first evaluation. Lists of models use another kernel in its place."""

    @property
    def requires_unscaled_input(self) -> bool:
        """Whether features must not be rescaled before the kernel is evaluated."""
        return False

    def __call__(self, A: Any, B: Any) -> Floats:
        """Return the Gram matrix K(A, B).

        Parameters
        ----------
        A, B : array-like or sparse matrix of shape (n_points, n_features)
            Points as rows.

        Returns
        -------
        ndarray of shape (len(A), len(B))
            Kernel values. If ``B is A``, the matrix is exactly symmetric.
        """
        left = as_point_rows(A)
        right = left if B is A else as_point_rows(B)
        if left.shape[1] != right.shape[1]:
            raise BagsError(f"A kernel compares points of equal dimension, not {left.shape[1]} and {right.shape[1]}.")
        if right is left and is_scaled_rows(left):
            left = right = np.asarray(left)
        if not is_scaled_rows(left) and not is_scaled_rows(right):
            return self._gram(left, right)
        result = np.empty((left.shape[0], right.shape[0]))
        for columns, others in point_blocks(right):
            for rows, block in point_blocks(left):
                result[rows, columns] = self._gram(block, others)
        return result

    def diagonal(self, A: Any) -> Floats:
        """Return K(x, x) for each row x of A, without computing the Gram matrix.

        Parameters
        ----------
        A : array-like or sparse matrix of shape (n_points, n_features)
            Points as rows.

        Returns
        -------
        ndarray of shape (n_points,)
            Diagonal of K(A, A).
        """
        rows = as_point_rows(A)
        if is_scaled_rows(rows):
            return np.concatenate([self._diagonal(block) for _, block in rows.blocks()])
        return self._diagonal(rows)

    def fitted(self, instances: Any) -> Kernel:
        """Return the kernel with all parameters that depend on the data replaced by numbers.

        Parameters
        ----------
        instances : array-like or sparse matrix of shape (n_instances, n_features)
            Training instances.

        Returns
        -------
        Kernel
            The kernel itself if no parameter depends on the data.
        """
        return self

    def fitted_to(self, bags: Bags) -> Kernel:
        """Return the kernel with all parameters that depend on the training bags replaced by numbers.

        Parameters
        ----------
        bags : Bags
            Training bags.

        Returns
        -------
        Kernel
            The kernel itself if no parameter depends on the data.
        """
        return self.fitted(bags.instances)

    @property
    def has_features(self) -> bool:
        """Whether `features` returns an explicit feature map instead of None; by default, if a subclass defines it."""
        return type(self).features is not Kernel.features

    def features(self, A: Any) -> Points | None:
        """Return the feature map phi(x) of each row x of A, with K(x, z) = phi(x)'phi(z).

        Parameters
        ----------
        A : array-like or sparse matrix of shape (n_points, n_features)
            Points as rows.

        Returns
        -------
        array, csr_array or None
            One row of features per point; None if the kernel has no explicit feature map.
        """
        return None

    @abstractmethod
    def latex(self) -> str:
        """Return K(x, z) as LaTeX.

        Returns
        -------
        str
            Formula in the symbols x and z.
        """

    @abstractmethod
    def _gram(self, A: Points, B: Points) -> Floats:
        """Return the Gram matrix K(A, B) as a new array, with one row per row of A and one column per row of B."""

    @abstractmethod
    def _diagonal(self, A: Points) -> Floats:
        """Return K(x, x) for each row x of A."""


@dataclass(frozen=True, repr=False)
class RBF(Kernel):
    """Gaussian kernel exp(-s ||x - z||^2).

    Parameters
    ----------
    s : float, str or None, default=None
        Factor of the squared distance, called gamma in scikit-learn: the kernel is 1/e at distance 1/sqrt(s), so a
        larger s gives a narrower kernel. None selects 1/D for D features. "median" selects 1/median ||x - z||^2 over
        all pairs of at most 1000 instances, drawn with a fixed seed, repeated ones counted once (1/D if all are equal).
        "4/median" is four times that value; any positive factor is accepted.

    Raises
    ------
    ParameterError
        If `s` is neither None, nor a positive number, nor a multiple of the median such as "4/median".

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> points = np.array([[0.0], [1.0], [3.0]])
    >>> milopt.RBF(s=0.25)(points, points).round(4)
    array([[1.    , 0.7788, 0.1054],
           [0.7788, 1.    , 0.3679],
           [0.1054, 0.3679, 1.    ]])
    >>> milopt.RBF("median").fitted(points)
    RBF(s=0.25)
    """

    is_semidefinite: ClassVar[bool] = True
    s: float | str | None = None

    def __post_init__(self) -> None:
        if self.s is not None and median_factor(self.s) is None and not is_positive(self.s):
            raise ParameterError(
                f's of RBF must be a positive number, "median", "4/median" or None (for 1/D), not {self.s!r}.'
            )

    @classmethod
    def from_sigma(cls, sigma: float) -> RBF:
        """Return the kernel exp(-||x - z||^2 / sigma^2).

        Parameters
        ----------
        sigma : float
            Positive width.

        Returns
        -------
        RBF
            Kernel with s = 1 / sigma^2.
        """
        return cls(_inverse_square(sigma))

    @classmethod
    def from_bandwidth(cls, sigma: float) -> RBF:
        """Return the kernel exp(-||x - z||^2 / (2 sigma^2)).

        Parameters
        ----------
        sigma : float
            Positive bandwidth, the standard deviation of the Gaussian.

        Returns
        -------
        RBF
            Kernel with s = 1 / (2 sigma^2).
        """
        return cls(_inverse_square(sigma) / 2)

    def fitted(self, instances: Any) -> RBF:
        """Return the kernel with a number for s.

        Parameters
        ----------
        instances : array-like or sparse matrix of shape (n_instances, n_features)
            Training instances.

        Returns
        -------
        RBF
            The kernel itself if s is a number already.
        """
        if is_positive(self.s):
            return self
        rows = as_point_rows(instances)
        factor = median_factor(self.s)
        if factor is None:
            return RBF(1 / rows.shape[1])
        return RBF(factor * inverse_median_distance(rows))

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        return r"\exp(-s\|x-z\|^2)"

    def _gram(self, A: Points, B: Points) -> Floats:
        """Return exp(-s ||x - z||^2) for all pairs of rows."""
        if isinstance(self.s, str):
            raise ParameterError(f'RBF(s="{self.s}") depends on the data: call kernel.fitted(instances) first.')
        s = 1 / A.shape[1] if self.s is None else float(self.s)
        gram = negative_squared_distances(A, B)
        for rows in cache_sized_slices(gram):
            gram[rows] *= s
            np.exp(gram[rows], out=gram[rows])
        return gram

    def _diagonal(self, A: Points) -> Floats:
        """Return ones: K(x, x) = 1."""
        return np.ones(A.shape[0])

    def __repr__(self) -> str:
        return "RBF()" if self.s is None else f"RBF(s={self.s!r})"


@dataclass(frozen=True)
class Linear(Kernel):
    """Linear kernel, the inner product <x, z>.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> points = np.array([[1.0, 2.0], [0.0, 3.0]])
    >>> milopt.Linear()(points, points)
    array([[5., 6.],
           [6., 9.]])
    """

    is_semidefinite: ClassVar[bool] = True

    def features(self, A: Any) -> Points:
        """Return the rows of A themselves: the feature map is the identity.

        Parameters
        ----------
        A : array-like or sparse matrix of shape (n_points, n_features)
            Points as rows.

        Returns
        -------
        array or csr_array of shape (n_points, n_features)
            The points.
        """
        return as_point_rows(A)

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        return r"\langle x,z\rangle"

    def _gram(self, A: Points, B: Points) -> Floats:
        """Return the inner products of all pairs of rows."""
        return check_finite(inner_products(A, B))

    def _diagonal(self, A: Points) -> Floats:
        """Return the squared norm of each row."""
        return check_finite(squared_norms(A))


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Polynomial kernel (gamma <x, z> + coef0)^degree.

    The kernel is positive semidefinite, because `coef0` must not be negative.

    Parameters
    ----------
    degree : int, default=3
        Degree, at least 1.
    gamma : float, default=1.0
        Positive factor of the inner product.
    coef0 : float, default=1.0
        Non-negative constant term.

    Raises
    ------
    ParameterError
        If `degree` is not an integer of at least 1, `gamma` is not positive, or `coef0` is negative.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> points = np.array([[1.0, 2.0], [0.0, 3.0]])
    >>> milopt.Polynomial(degree=2)(points, points)
    array([[ 36.,  49.],
           [ 49., 100.]])
    """

    is_semidefinite: ClassVar[bool] = True
    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        if not (isinstance(self.degree, (int, np.integer)) and is_positive(self.degree)):
            raise ParameterError(f"degree of Polynomial must be an integer of at least 1, not {self.degree!r}.")
        if not is_positive(self.gamma):
            raise ParameterError(f"gamma of Polynomial must be a positive number, not {self.gamma!r}.")
        if not (is_positive(self.coef0) or self.coef0 == 0):
            raise ParameterError(f"coef0 of Polynomial must be a number of at least 0, not {self.coef0!r}.")

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        return rf"(\gamma\langle x,z\rangle+c_0)^{{{self.degree}}}"

    def _gram(self, A: Points, B: Points) -> Floats:
        """Return (gamma <x, z> + coef0)^degree for all pairs of rows."""
        gram = inner_products(A, B)
        for rows in cache_sized_slices(gram):
            self._apply_power(gram[rows])
        return check_finite(gram)

    def _diagonal(self, A: Points) -> Floats:
        """Return (gamma ||x||^2 + coef0)^degree for each row."""
        values = squared_norms(A)
        self._apply_power(values)
        return check_finite(values)

    def _apply_power(self, values: Floats) -> None:
        """Replace inner products by kernel values, in place.

        Repeated multiplication is many times faster than `pow`.
        """
        values *= self.gamma
        values += self.coef0
        base = values.copy()
        for _ in range(self.degree - 1):
            values *= base


@dataclass(frozen=True, eq=False, repr=False)
class Precomputed(Kernel):
    """Kernel given by a precomputed Gram matrix.

    The points are row numbers of the matrix, as an array of shape (n, 1).

    Parameters
    ----------
    gram : array of shape (n, n)
        Symmetric Gram matrix of finite numbers. The kernel keeps a view of it, not a copy: do not write to the matrix
        afterwards.

    Raises
    ------
    ParameterError
        If `gram` is not a symmetric square matrix of finite numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> kernel = milopt.Precomputed(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]))
    >>> kernel([[0], [2]], [[1]])
    array([[1.],
           [1.]])
    """

    gram: Floats

    def __post_init__(self) -> None:
        gram = to_float_array(self.gram, "The Gram matrix")
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or gram.size == 0:
            raise ParameterError(f"A precomputed Gram matrix must be square, not of shape {gram.shape}.")
        if not np.isfinite(gram).all():
            raise ParameterError("The precomputed Gram matrix has entries that are NaN or infinite.")
        if not is_symmetric(gram):
            raise ParameterError("The precomputed Gram matrix is not symmetric: pass (K + K.T) / 2 to symmetrise it.")
        view = gram.view()
        view.flags.writeable = False
        object.__setattr__(self, "gram", view)

    @property
    def requires_unscaled_input(self) -> bool:
        """Always True: row numbers must not be rescaled."""
        return True

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        return "K_{xz}"

    def _gram(self, A: Points, B: Points) -> Floats:
        """Return the submatrix of the given Gram matrix at the row numbers in A and B."""
        return self.gram[np.ix_(self._row_numbers(A), self._row_numbers(B))]

    def _diagonal(self, A: Points) -> Floats:
        """Return the diagonal entries of the given Gram matrix at the row numbers in A."""
        return np.array(self.gram.diagonal()[self._row_numbers(A)])

    def _row_numbers(self, chosen: Points) -> npt.NDArray[np.intp]:
        """Return points as row numbers; raise `BagsError` if one is not a row of the matrix."""
        numbers = chosen.toarray() if isinstance(chosen, sp.csr_array) else chosen
        size = self.gram.shape[0]
        if numbers.shape[1] != 1:
            expected = "row numbers in an n x 1 array"
            raise BagsError(f"The points of a precomputed kernel must be {expected}, not of shape {numbers.shape}.")
        wrong = (numbers != np.floor(numbers)) | (numbers < 0) | (numbers >= size)
        if wrong.any():
            raise BagsError(f"{numbers[wrong][0]:g} is not a row of the precomputed Gram matrix: give 0 to {size - 1}.")
        return numbers[:, 0].astype(np.intp)

    def __repr__(self) -> str:
        return f"Precomputed({self.gram.shape[0]} x {self.gram.shape[1]})"


@dataclass(frozen=True, repr=False)
class CallableKernel(Kernel):
    """Kernel given by a function of two arrays, `function(A, B) -> array of shape (len(A), len(B))`."""

    function: Callable[[Any, Any], npt.ArrayLike]

    def latex(self) -> str:
        """Return K(x, z) as LaTeX."""
        return "k(x,z)"

    def _gram(self, A: Points, B: Points) -> Floats:
        """Return the values of the function; raise `ParameterError` if their shape is wrong or one is not finite.

        If ``B is A``, the values must be symmetric up to rounding, and are made exactly symmetric.
        """
        gram = np.array(self.function(A, B), dtype=np.float64)
        expected = (A.shape[0], B.shape[0])
        if gram.shape != expected:
            raise ParameterError(f"The kernel {self._name} returned shape {gram.shape} instead of {expected}.")
        if not np.isfinite(gram).all():
            raise ParameterError(f"The kernel {self._name} returned values that are NaN or infinite.")
        if B is A:
            if not is_symmetric(gram):
                raise ParameterError(f"The kernel {self._name} is not symmetric: K(x, z) must equal K(z, x).")
            gram += gram.T.copy()
            gram *= 0.5
        return gram

    def _diagonal(self, A: Points) -> Floats:
        """Return K(x, x) for each row x of A, from Gram matrices of 16 rows."""
        # Evaluate 16 rows at a time: fewer calls than one per row, and few values that are not on the diagonal.
        parts = [A[start : start + 16] for start in range(0, A.shape[0], 16)]
        return np.concatenate([self._gram(part, part).diagonal() for part in parts] or [np.empty(0)])

    @property
    def _name(self) -> str:
        """Name of the function, for messages."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __repr__(self) -> str:
        return f"CallableKernel({self._name})"


def as_kernel(kernel: object) -> Kernel:
    """Return a kernel unchanged, and any other function of two arrays as a `CallableKernel`.

    `ParameterError` is raised for a kernel class and for objects that cannot be called.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise ParameterError(f"{kernel.__name__} is a class, not a kernel: write {kernel.__name__}(...).")
    if callable(kernel):
        return CallableKernel(kernel)
    hint = "; for a Gram matrix, use Precomputed(gram)" if isinstance(kernel, np.ndarray) else ""
    shown = type(kernel).__name__ if hint else repr(kernel)
    raise ParameterError(f"A kernel is RBF(), Linear(), Polynomial() or a function of two arrays, not {shown}{hint}.")


def _inverse_square(sigma: float) -> float:
    """Return 1 / sigma^2; raise `ParameterError` if sigma is not a positive number."""
    if not is_positive(sigma):
        raise ParameterError(f"sigma must be a positive number, not {sigma!r}.")
    inverse = 1 / float(sigma)
    return inverse * inverse


def check_finite(values: Floats) -> Floats:
    """Return kernel values unchanged; raise `BagsError` if a value is infinite or NaN, because it has overflowed."""
    # If an entry is infinite or NaN, so is the sum of all entries. The sum needs one pass and no mask.
    with np.errstate(invalid="ignore", over="ignore"):
        total = float(values.sum())
    if not np.isfinite(total):
        raise BagsError("Kernel values overflow because features are very large: scale the features.")
    return values
