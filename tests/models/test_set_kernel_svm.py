"""The set-kernel SVM: its dual is the C-SVM on the set kernel, for all solvers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from milopt import RBF, Linear, as_bags, solve
from milopt.compilation.features import Feature
from milopt.compilation.status import PointStatus
from milopt.cones import ZERO
from milopt.errors import ParameterError
from milopt.models.set_kernel_svm import SetKernelSVM
from tests.models.general_solvers import general_solvers

K = RBF(0.5)
SOLVERS = [*general_solvers(Feature.QUADRATIC, but=("cvxpy:SCS",)), "libsvm"]
NORMALISATIONS = ("mean", "sum", "feature")


def set_gram(kernel, bags, normalise):
    """Compute J'KJ, divided by c_i c_j, bag by bag from the definition."""
    gram = np.array([[kernel(a, b).sum() for b in bags] for a in bags])
    sizes = np.array([len(bag) for bag in bags], dtype=float)
    c = {"sum": np.ones(len(sizes)), "mean": sizes, "feature": np.sqrt(gram.diagonal())}[normalise]
    return gram / np.outer(c, c)


def svc_optimum(gram, y, C, weight=None):
    """Return the optimal value of the C-SVM on a Gram matrix, and scikit-learn's SVC."""
    svc = SVC(kernel="precomputed", C=C, tol=1e-10).fit(gram, y, sample_weight=weight)
    a = np.zeros(len(y))
    a[svc.support_] = svc.dual_coef_[0]
    return np.abs(a).sum() - 0.5 * a @ gram @ a, svc


def random_bags(seed, m=12, D=2):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(m) % 2, -1.0, 1.0)
    return [rng.normal(0.4 * sign, 1.0, size=(rng.integers(1, 5), D)) for sign in y], y


def test_the_set_gram_has_the_golden_row(golden_bags):
    bags, _ = golden_bags
    expected = [2.036631, 1.377231, 1.296650, 1.760936, 0.608034, 0.982651]
    np.testing.assert_allclose(set_gram(K, list(bags), "sum")[0], expected, atol=1e-5)


@pytest.mark.parametrize("normalise", NORMALISATIONS)
def test_derived_dual_is_the_textbook_svm_on_the_set_gram(normalise, golden_bags):
    bags, y = golden_bags
    weight = np.array([0.5, 1.5, 1.0, 1.0, 1.2, 0.8])
    program = SetKernelSVM(C=2.0, kernel=K, scale="none", normalise=normalise).program(bags, y, weight)
    form = program.to_standard_form("dual")
    gram = set_gram(K, list(bags), normalise)
    np.testing.assert_allclose(form.P.sparse.toarray(), np.outer(y, y) * gram, atol=1e-12)
    np.testing.assert_allclose(form.q, -np.ones(6))
    np.testing.assert_allclose(form.lower, np.zeros(6))
    np.testing.assert_allclose(form.upper, 2.0 * weight)
    assert [block.cone for block in form.rows] == [ZERO]
    row = form.F.toarray()[0]
    np.testing.assert_allclose(row * np.sign(row[0]), y * y[0])
    np.testing.assert_allclose(form.g, [0.0])
    assert form.constant == 0.0


@pytest.mark.parametrize("normalise", NORMALISATIONS)
@pytest.mark.parametrize("name", SOLVERS)
def test_the_optimum_equals_that_of_svc_on_the_set_gram_matrix(name, normalise):
    bags, y = random_bags(0)
    weight = np.linspace(0.5, 1.5, len(y))
    result = solve(SetKernelSVM(C=3.0, kernel=K, scale="none", normalise=normalise).program(bags, y, weight), name)
    assert result.point is PointStatus.CERTIFIED
    expected, _ = svc_optimum(set_gram(K, bags, normalise), y, 3.0, weight)
    assert result.objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("normalise", NORMALISATIONS)
def test_scores_of_new_bags_equal_those_of_svc(normalise):
    bags, y = random_bags(1)
    new, _ = random_bags(2)
    model = SetKernelSVM(C=3.0, kernel=K, scale="none", normalise=normalise, solver="clarabel").fit(bags, y)
    _, svc = svc_optimum(set_gram(K, bags, normalise), y, 3.0)
    between = set_gram(K, [*new, *bags], normalise)[: len(new), len(new) :]
    np.testing.assert_allclose(model.decision_function(new), svc.decision_function(between), atol=1e-4)


@pytest.mark.parametrize("normalise", NORMALISATIONS)
def test_bags_of_one_instance_give_the_plain_svm(normalise):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(14, 2))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=14) > 0, 1.0, -1.0)
    result = solve(
        SetKernelSVM(C=2.0, kernel=K, scale="none", normalise=normalise).program(list(x[:, None]), y), "highs"
    )
    expected, _ = svc_optimum(K(x, x), y, 2.0)
    assert result.objective == pytest.approx(expected, rel=1e-7)


def test_mean_of_linear_functions_is_the_function_of_the_mean():
    bags, y = random_bags(4)
    means = [bag.mean(axis=0, keepdims=True) for bag in bags]
    model = SetKernelSVM(C=1.0, kernel=Linear(), scale="none", solver="highs").fit(bags, y)
    other = SetKernelSVM(C=1.0, kernel=Linear(), scale="none", solver="highs").fit(means, y)
    assert model.result_.objective == pytest.approx(other.result_.objective, rel=1e-9)


def test_a_bag_with_sum_zero_has_the_bias_as_score_under_feature_normalisation():
    bags, y = random_bags(5)
    model = SetKernelSVM(kernel=Linear(), scale="none", normalise="feature").fit(bags, y)
    b = float(model.result_.values["b"])
    assert model.decision_function([np.array([[1.0, 2.0], [-1.0, -2.0]])]) == pytest.approx([b])


@pytest.mark.parametrize("normalise", NORMALISATIONS)
def test_scores_do_not_depend_on_the_order_of_bags_and_instances(normalise):
    bags, y = random_bags(6)
    new, _ = random_bags(7)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(bags))
    shuffled = [bags[i][rng.permutation(len(bags[i]))] for i in order]
    make = SetKernelSVM(kernel=K, scale="none", normalise=normalise, solver="clarabel")
    scores = make.fit(bags, y).decision_function(new)
    others = make.fit(shuffled, y[order]).decision_function([bag[::-1] for bag in new])
    np.testing.assert_allclose(scores, others, atol=1e-6)


@pytest.mark.thorough(unless={"name": ["highs", "clarabel", "libsvm"]})
@pytest.mark.parametrize("normalise", ["mean", "feature"])
@pytest.mark.parametrize("name", SOLVERS)
def test_the_optimum_on_musk1_equals_that_of_svc(name, normalise, data_set):
    bags, y = data_set("musk1")
    result = solve(SetKernelSVM(C=10.0, kernel=RBF(), normalise=normalise).program(bags, y), name)
    assert result.certificate.worst <= 1e-6
    kernel = RBF().fitted(as_bags(bags).instances)
    expected, _ = svc_optimum(set_gram(kernel, bags, normalise), y, 10.0)
    assert result.objective == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"C": -1.0}, "C must be a positive number, not -1.0."),
        ({"C": True}, "C must be a positive number, not True."),
        ({"normalise": "median"}, 'normalise must be one of "mean", "sum", "feature", not \'median\'.'),
    ],
)
def test_a_parameter_out_of_range_raises_an_error_of_one_sentence(wrong, message, golden_bags):
    with pytest.raises(ParameterError) as caught:
        SetKernelSVM(**wrong).fit(*golden_bags)
    assert str(caught.value) == message
