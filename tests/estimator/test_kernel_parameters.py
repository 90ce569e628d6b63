"""Kernels by name, and parameters of kernels by nested names, as in scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import milopt
from milopt import RBF, Linear, Polynomial, SetKernel
from milopt.errors import ParameterError, UnknownNameError
from milopt.models import MISVM, BoxCountingSVM, SetKernelSVM

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], 8)
BAGS = RNG.normal(size=(16, 3, 2)) + 1.5 * Y[:, None, None]


@pytest.mark.parametrize(("name", "kernel"), [("rbf", RBF()), ("Linear", Linear()), ("polynomial", Polynomial())])
def test_a_name_stands_for_the_kernel_with_its_defaults(name: str, kernel: milopt.Kernel) -> None:
    by_name, by_kernel = SetKernelSVM(kernel=name).fit(BAGS, Y), SetKernelSVM(kernel=kernel).fit(BAGS, Y)
    assert np.array_equal(by_name.decision_function(BAGS), by_kernel.decision_function(BAGS))
    assert by_name.get_params()["kernel"] == name


def test_a_bag_kernel_has_a_name() -> None:
    assert BoxCountingSVM(kernel="minimax").fit(BAGS, Y).score(BAGS, Y) > 0.5


def test_an_unknown_name_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match='No kernel is called "rfb"; did you mean "rbf"'):
        MISVM(kernel="rfb").fit(BAGS, Y)


def test_parameters_of_a_kernel_have_nested_names() -> None:
    model = MISVM(kernel=RBF(s=0.5))
    assert model.get_params()["kernel__s"] == 0.5
    assert "kernel__s" not in model.get_params(deep=False)
    model.set_params(kernel__s=2.0)
    assert model.kernel == RBF(s=2.0)
    assert MISVM.kernel == RBF("median")
    assert clone(model).kernel == RBF(s=2.0)
    assert MISVM(kernel="rbf").set_params(kernel__s=0.25).kernel == RBF(s=0.25)


def test_a_kernel_and_its_parameter_may_be_set_together() -> None:
    assert MISVM().set_params(kernel__degree=2, kernel="polynomial").kernel == Polynomial(degree=2)


def test_parameters_of_a_kernel_inside_a_kernel_have_nested_names() -> None:
    model = BoxCountingSVM(kernel=SetKernel(kernel=RBF(s=1.0)))
    assert model.get_params()["kernel__kernel__s"] == 1.0
    assert model.set_params(kernel__kernel__s=3.0).kernel == SetKernel(kernel=RBF(s=3.0))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kernel__gamma", r"RBF\(s='median'\) has no parameter 'gamma'; it has s"),
        ("C__s", "MISVM has no parameter 'C__s'"),
        ("width__s", "MISVM has no parameter 'width__s'"),
    ],
)
def test_an_unknown_nested_name_changes_nothing(name: str, words: str) -> None:
    model = MISVM(C=3.0)
    with pytest.raises(ParameterError, match=words):
        model.set_params(**{"C": 5.0, name: 1.0})
    assert model.C == 3.0


def test_a_grid_search_selects_a_parameter_of_a_kernel() -> None:
    search = GridSearchCV(SetKernelSVM(kernel="rbf"), {"kernel__s": [1e-6, 1.0]}, cv=2).fit(BAGS, Y)
    assert search.best_params_["kernel__s"] in (1e-6, 1.0)
    assert search.best_estimator_.kernel == RBF(s=search.best_params_["kernel__s"])


def test_a_model_with_a_named_kernel_is_saved(tmp_path) -> None:
    model = SetKernelSVM(kernel="rbf").fit(BAGS, Y)
    model.save(tmp_path / "model")
    loaded = milopt.load_model(tmp_path / "model")
    assert np.allclose(loaded.decision_function(BAGS), model.decision_function(BAGS))
