"""Kernels K(x, z) between instances: `kernel(A, B)` is the Gram matrix of the rows of A and B, dense or sparse.

A kernel may depend on the data (`RBF()` has s = 1/D): `kernel.fitted(instances)` is the same kernel with numbers in it.
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
from milopt.declaration.arrays import numeric
from milopt.declaration.kernels.gram import (
    is_symmetric,
    minus_squared_distances,
    pieces,
    points,
    products,
    squared_norms,
)
from milopt.declaration.kernels.width import inverse_median_distance, is_positive, over_median
from milopt.errors import BagsError, ParameterError

if TYPE_CHECKING:
    from milopt.declaration.bags.bags import Bags


class Kernel(ABC):
    """A symmetric function K(x, z) of two instances."""

    is_semidefinite: ClassVar[bool] = False
    """Whether every Gram matrix is known to be positive semidefinite; where it is not known, solvers look."""
    remedy: ClassVar[str] = "take one that is, such as RBF or GlobalAlignment"
    """What a person can do where a Gram matrix is not."""

    @property
    def takes_points_as_they_are(self) -> bool:
        """Whether it means points in the units that they are given in, so that nobody may scale them."""
        return False

    def __call__(self, A: Any, B: Any) -> Floats:
        """The Gram matrix K(A, B), len(A) x len(B); exactly symmetric where B is A."""
        left = points(A)
        right = left if B is A else points(B)
        if left.shape[1] != right.shape[1]:
            raise BagsError(f"A kernel compares points of equal dimension, not {left.shape[1]} and {right.shape[1]}.")
        return self._gram(left, right)

    def diagonal(self, A: Any) -> Floats:
        """K(x, x) for each row of A, without the Gram matrix."""
        return self._diagonal(points(A))

    def fitted(self, instances: Any) -> Kernel:
        """The kernel with what depends on the data resolved; itself where nothing does."""
        return self

    def fitted_to(self, bags: Bags) -> Kernel:
        """The same, from training bags."""
        return self.fitted(bags.instances)

    def features(self, A: Any) -> Points | None:
        """Return phi(x) for each row of A, where K(x, z) = phi(x)'phi(z); None if phi is not explicit."""
        return None

    @abstractmethod
    def latex(self) -> str:
        """K(x, z) in LaTeX."""

    @abstractmethod
    def _gram(self, A: Points, B: Points) -> Floats:
        """K(A, B) in an array of its own."""

    @abstractmethod
    def _diagonal(self, A: Points) -> Floats: ...


@dataclass(frozen=True, repr=False)
class RBF(Kernel):
    """The Gaussian kernel exp(-s ||x - z||^2).

    `s` is a positive number, None for 1/D, or "median" for 1/median ||x - z||^2 over the pairs of at most 1000
    different instances, drawn with a fixed seed (1/D where all coincide). "4/median" is four times that.
    """

    is_semidefinite: ClassVar[bool] = True
    s: float | str | None = None

    def __post_init__(self) -> None:
        if self.s is not None and over_median(self.s) is None and not is_positive(self.s):
            raise ParameterError(
                f's of RBF must be a positive number, "median", "4/median" or None (for 1/D), not {self.s!r}.'
            )

    @classmethod
    def from_sigma(cls, sigma: float) -> RBF:
        """exp(-||x - z||^2 / sigma^2)."""
        return cls(_inverse_square(sigma))

    @classmethod
    def from_bandwidth(cls, sigma: float) -> RBF:
        """exp(-||x - z||^2 / (2 sigma^2))."""
        return cls(_inverse_square(sigma) / 2)

    def fitted(self, instances: Any) -> RBF:
        """The kernel with a number for s."""
        if is_positive(self.s):
            return self
        rows = points(instances)
        factor = over_median(self.s)
        if factor is None:
            return RBF(1 / rows.shape[1])
        return RBF(factor * inverse_median_distance(rows))

    def latex(self) -> str:
        """K(x, z) in LaTeX."""
        return r"\exp(-s\|x-z\|^2)"

    def _gram(self, A: Points, B: Points) -> Floats:
        if isinstance(self.s, str):
            raise ParameterError(f'RBF(s="{self.s}") has no number yet: call kernel.fitted(instances) first.')
        s = 1 / A.shape[1] if self.s is None else float(self.s)
        gram = minus_squared_distances(A, B)
        for rows in pieces(gram):
            gram[rows] *= s
            np.exp(gram[rows], out=gram[rows])
        return gram

    def _diagonal(self, A: Points) -> Floats:
        return np.ones(A.shape[0])

    def __repr__(self) -> str:
        return "RBF()" if self.s is None else f"RBF(s={self.s!r})"


@dataclass(frozen=True)
class Linear(Kernel):
    """The inner product <x, z>."""

    is_semidefinite: ClassVar[bool] = True

    def features(self, A: Any) -> Points:
        """Return the rows of A themselves."""
        return points(A)

    def latex(self) -> str:
        """K(x, z) in LaTeX."""
        return r"\langle x,z\rangle"

    def _gram(self, A: Points, B: Points) -> Floats:
        return finite(products(A, B))

    def _diagonal(self, A: Points) -> Floats:
        return finite(squared_norms(A))


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(gamma <x, z> + coef0)^degree; positive semidefinite for coef0 >= 0."""

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
        """K(x, z) in LaTeX."""
        return rf"(\gamma\langle x,z\rangle+c_0)^{{{self.degree}}}"

    def _gram(self, A: Points, B: Points) -> Floats:
        gram = products(A, B)
        for rows in pieces(gram):
            self._powers(gram[rows])
        return finite(gram)

    def _diagonal(self, A: Points) -> Floats:
        values = squared_norms(A)
        self._powers(values)
        return finite(values)

    def _powers(self, values: Floats) -> None:
        """From inner products to kernel values, in place; products are many times faster than `pow`."""
        values *= self.gamma
        values += self.coef0
        base = values.copy()
        for _ in range(self.degree - 1):
            values *= base


@dataclass(frozen=True, eq=False, repr=False)
class Precomputed(Kernel):
    """A symmetric Gram matrix given as such: points are its row numbers, as an n x 1 array.

    The matrix is held, not copied: do not write to it afterwards.
    """

    gram: Floats

    def __post_init__(self) -> None:
        gram = numeric(self.gram, "The Gram matrix")
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or gram.size == 0:
            raise ParameterError(f"A precomputed Gram matrix must be square, not of shape {gram.shape}.")
        if not np.isfinite(gram).all():
            raise ParameterError("The precomputed Gram matrix has entries that are NaN or infinite.")
        if not is_symmetric(gram):
            raise ParameterError("The precomputed Gram matrix is not symmetric: give (K + K.T) / 2 if that is meant.")
        held = gram.view()
        held.flags.writeable = False
        object.__setattr__(self, "gram", held)

    @property
    def takes_points_as_they_are(self) -> bool:
        """Row numbers have no scale."""
        return True

    def latex(self) -> str:
        """K(x, z) in LaTeX."""
        return "K_{xz}"

    def _gram(self, A: Points, B: Points) -> Floats:
        return self.gram[np.ix_(self._places(A), self._places(B))]

    def _diagonal(self, A: Points) -> Floats:
        return np.array(self.gram.diagonal()[self._places(A)])

    def _places(self, chosen: Points) -> npt.NDArray[np.intp]:
        numbers = chosen.toarray() if isinstance(chosen, sp.csr_array) else chosen
        size = self.gram.shape[0]
        if numbers.shape[1] != 1:
            raise BagsError(f"A precomputed kernel takes row numbers as an n x 1 array, not of shape {numbers.shape}.")
        wrong = (numbers != np.floor(numbers)) | (numbers < 0) | (numbers >= size)
        if wrong.any():
            raise BagsError(f"{numbers[wrong][0]:g} is not a row of the precomputed Gram matrix: give 0 to {size - 1}.")
        return numbers[:, 0].astype(np.intp)

    def __repr__(self) -> str:
        return f"Precomputed({self.gram.shape[0]} x {self.gram.shape[1]})"


@dataclass(frozen=True, repr=False)
class CallableKernel(Kernel):
    """A person's own function of two arrays, `function(A, B) -> len(A) x len(B)`."""

    function: Callable[[Any, Any], npt.ArrayLike]

    def latex(self) -> str:
        """K(x, z) in LaTeX."""
        return "k(x,z)"

    def _gram(self, A: Points, B: Points) -> Floats:
        gram = np.array(self.function(A, B), dtype=np.float64)
        expected = (A.shape[0], B.shape[0])
        if gram.shape != expected:
            raise ParameterError(f"The kernel {self._name} returned shape {gram.shape} where {expected} is due.")
        if not np.isfinite(gram).all():
            raise ParameterError(f"The kernel {self._name} returned values that are NaN or infinite.")
        if B is A:
            if not is_symmetric(gram):
                raise ParameterError(f"The kernel {self._name} is not symmetric: K(x, z) must equal K(z, x).")
            gram += gram.T.copy()
            gram *= 0.5
        return gram

    def _diagonal(self, A: Points) -> Floats:
        # A few rows at a time: fewer calls than one a row, and little that is computed in vain.
        parts = [A[start : start + 16] for start in range(0, A.shape[0], 16)]
        return np.concatenate([self._gram(part, part).diagonal() for part in parts] or [np.empty(0)])

    @property
    def _name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __repr__(self) -> str:
        return f"CallableKernel({self._name})"


def as_kernel(kernel: object) -> Kernel:
    """A kernel as it is, or a plain function of two arrays as a `CallableKernel`."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise ParameterError(f"{kernel.__name__} is a class of kernels: write {kernel.__name__}(...).")
    if callable(kernel):
        return CallableKernel(kernel)
    hint = "; a Gram matrix goes into Precomputed(gram)" if isinstance(kernel, np.ndarray) else ""
    shown = type(kernel).__name__ if hint else repr(kernel)
    raise ParameterError(f"A kernel is RBF(), Linear(), Polynomial() or a function of two arrays, not {shown}{hint}.")


def _inverse_square(sigma: float) -> float:
    if not is_positive(sigma):
        raise ParameterError(f"sigma must be a positive number, not {sigma!r}.")
    inverse = 1 / float(sigma)
    return inverse * inverse


def finite(values: Floats) -> Floats:
    """Kernel values that no number was too large for."""
    # What overflows is infinite, or not a number, and so is its sum: one pass, and no mask of all entries.
    with np.errstate(invalid="ignore", over="ignore"):
        total = float(values.sum())
    if not np.isfinite(total):
        raise BagsError("Features are so large that kernel values overflow: scale them.")
    return values
