"""Atoms of matrices along an axis agree with numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import milopt
from milopt import Program
from milopt.declaration.atoms.atom import Atom
from milopt.errors import DeclarationError
from milopt.testing import check_atom

X = Program("matrices").variable("X", (2, 3, 4))
X_VALUE = np.random.default_rng(0).uniform(0.1, 2.0, (2, 3, 4))
REDUCTIONS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "norm": (lambda e, axis: milopt.norm(e, axis=axis), lambda a, axis: np.sqrt((a**2).sum(axis=axis))),
    "norm1": (lambda e, axis: milopt.norm1(e, axis=axis), lambda a, axis: np.abs(a).sum(axis=axis)),
    "norm_inf": (lambda e, axis: milopt.norm_inf(e, axis=axis), lambda a, axis: np.abs(a).max(axis=axis)),
    "sum_squares": (lambda e, axis: milopt.sum_squares(e, axis=axis), lambda a, axis: (a**2).sum(axis=axis)),
    "largest": (lambda e, axis: milopt.sum_largest(e, 1, axis=axis), lambda a, axis: a.max(axis=axis)),
    "log_sum_exp": (lambda e, axis: milopt.log_sum_exp(e, axis=axis), lambda a, axis: logsumexp(a, axis=axis)),
    "entropy": (lambda e, axis: milopt.entropy(e, axis=axis), lambda a, axis: -(a * np.log(a)).sum(axis=axis)),
}


def value(expression: Any) -> Any:
    """Return the value of an expression at X = X_VALUE."""

    def leaf_value(leaf: Any) -> Any:
        return leaf.value(leaf.argument.evaluate(leaf_value), leaf.segments) if isinstance(leaf, Atom) else X_VALUE

    return expression.evaluate(leaf_value).reshape(expression.shape)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1])
@pytest.mark.parametrize(("atom", "numpy_function"), REDUCTIONS.values(), ids=REDUCTIONS)
def test_an_atom_along_an_axis_has_the_shape_and_the_values_of_numpy(
    atom: Callable[[Any, Any], Any], numpy_function: Callable[[Any, Any], Any], axis: int | None
) -> None:
    expected = numpy_function(X_VALUE, axis)
    assert atom(X, axis).shape == np.shape(expected)
    np.testing.assert_allclose(value(atom(X, axis)), expected)


@pytest.mark.parametrize("atom", [atom for atom, _ in REDUCTIONS.values()], ids=REDUCTIONS)
def test_an_atom_along_an_axis_passes_the_atom_check(atom: Callable[[Any, Any], Any]) -> None:
    leaf = atom(X[0], 0).terms[0][0]
    check_atom(leaf, points=4)


@pytest.mark.parametrize("axis", [3, -4, 1.0, True, (0, 1), "rows"])
def test_an_invalid_axis_raises_an_error(axis: Any) -> None:
    with pytest.raises(DeclarationError, match=r"norm supports one axis of its argument, or None for all entries"):
        milopt.norm(X, axis=axis)


def test_matrices_raise_an_error_if_only_vectors_are_supported() -> None:
    with pytest.raises(DeclarationError, match=r"quad_form needs a vector, not shape \(3, 4\)"):
        milopt.quad_form(X[0], np.eye(12))
    with pytest.raises(DeclarationError, match=r"bag_max needs a vector over instances, not shape \(3, 4\)"):
        milopt.bag_max(X[0], milopt.as_bags([np.ones((6, 1)), np.ones((6, 1))]))
    with pytest.raises(DeclarationError, match="log_sum_exp accepts an axis with one expression only"):
        milopt.log_sum_exp(X, 1.0, axis=0)
