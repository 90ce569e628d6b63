"""The box-counting SVM: its dual is a C-SVM for all solvers, and unlabelled bags are only used transductively."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

import milopt
from milopt import RBF, Linear, Program, as_bags, solve
from milopt.bag_kernels import exact
from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.derived import ClippedKernel, EmpiricalMap, PowerKernel
from milopt.bag_kernels.set_kernels import SetKernel
from milopt.compilation.features import Feature
from milopt.compilation.status import PointStatus
from milopt.errors import BagsError, ConvexityError, DeclarationError, ParameterError
from milopt.models import MISVM, SAFE, BoxCountingSVM, SetKernelSVM
from tests.bag_kernels.test_box_counting import FIVE
from tests.models.general_solvers import general_solvers
from tests.models.test_set_kernel_svm import random_bags, svc_optimum

SOLVERS = [*general_solvers(Feature.QUADRATIC, but=("cvxpy:SCS",)), "libsvm"]


def svm(f, at, y, C):
    """Build a C-SVM with a function of a program, evaluated at given points."""
    program = f.program
    slack, b = program.variable("slack", len(y), lower=0), program.variable("b")
    program.minimize(0.5 * f.function.norm_squared() + C * slack.sum())
    program.subject_to(y * (f.function(at) + b) >= 1 - slack)
    return program


class FunctionInProgram:
    """Function in a separate program."""

    def __init__(self, kernel):
        self.program = Program("svm")
        self.function = self.program.function("f", kernel)


@pytest.mark.parametrize("name", SOLVERS)
def test_kernel_and_explicit_boxes_have_the_same_optimum(name, golden_bags):
    """Compare 225 features, one per box of the 5 x 5 grid, with the kernel that counts them."""
    bags, y = golden_bags
    points = [exact.as_grid_points(np.asarray(bag) + 1) for bag in bags]
    features = np.array([[exact.box_meets(P, *box) for box in exact.all_boxes((4, 4))] for P in points], dtype=float)
    counting = solve(svm(FunctionInProgram(BoxCounting(grid=FIVE)), bags, y, 0.05), name)
    explicit = solve(svm(FunctionInProgram(Linear()), features, y, 0.05), name)
    expected, _ = svc_optimum(features @ features.T, y, 0.05)
    assert counting.point is PointStatus.CERTIFIED
    assert explicit.point is PointStatus.CERTIFIED
    # Within the gaps of the certificates, which are relative to 1 + the objective.
    assert counting.objective == pytest.approx(expected, abs=1e-6)
    assert explicit.objective == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("gram", ["empirical", "clipped"])
@pytest.mark.parametrize("name", SOLVERS)
def test_the_optimum_equals_that_of_svc_on_the_gram_matrix(name, gram):
    bags, y = random_bags(0)
    weight = np.linspace(0.5, 1.5, len(y))
    model = BoxCountingSVM(C=3.0, gram=gram, scale="none")
    result = solve(model.program(bags, y, weight), name)
    kernel = model._build_kernel(as_bags(bags))
    expected, _ = svc_optimum(kernel(bags, bags), y, 3.0, weight)
    assert result.point is PointStatus.CERTIFIED
    assert result.objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("gram", ["empirical", "clipped"])
def test_scores_of_new_bags_equal_those_of_svc(gram):
    bags, y = random_bags(1)
    new, _ = random_bags(2)
    model = BoxCountingSVM(C=3.0, gram=gram, scale="none", solver="clarabel").fit(bags, y)
    kernel = model._build_kernel(as_bags(bags))
    _, svc = svc_optimum(kernel(bags, bags), y, 3.0)
    np.testing.assert_allclose(model.decision_function(new), svc.decision_function(kernel(new, bags)), atol=1e-4)


@pytest.mark.parametrize("name", ["native", "highs", "clarabel", "ecos"])
def test_with_a_regularised_bias_native_solves_the_dual_box_qp(name):
    bags, y = random_bags(3)
    model = BoxCountingSVM(C=3.0, bias="regularised", scale="none")
    program = model.program(bags, y)
    form = program.to_standard_form("dual")
    assert form.m == 0
    gram = model._build_kernel(as_bags(bags))(bags, bags)
    np.testing.assert_allclose(form.P.sparse.toarray(), np.outer(y, y) * (gram + 1.0), atol=1e-10)
    result = solve(program, name)
    assert result.point is PointStatus.CERTIFIED
    assert result.objective == pytest.approx(solve(program, "cvxpy:CLARABEL").objective, rel=1e-6)


def test_native_finds_the_optimum_of_other_solvers():
    program = BoxCountingSVM().program(*random_bags(3))
    native = solve(program, "native").require_certified()
    assert native.objective == pytest.approx(solve(program, "clarabel").objective, rel=1e-6)


def test_the_exact_gram_and_both_feature_maps_are_positive_semidefinite(golden_bags):
    bags, _ = golden_bags
    counting = BoxCounting(grid=FIVE)
    for kernel in (
        counting,
        EmpiricalMap(PowerKernel(counting, 0.3), bags),
        ClippedKernel(PowerKernel(counting, 0.3), bags),
    ):
        gram = kernel(bags, bags)
        assert np.linalg.eigvalsh(gram)[0] >= -1e-10 * np.abs(gram).max()


def test_a_perturbed_gram_is_no_more_indefinite_than_weyl_allows():
    bags = as_bags(random_bags(5, m=16)[0])
    kernel = BoxCounting(bins=6).fitted_to(bags)
    rough = BoxCounting(bins=6, exact_below=0, epsilon=0.3, delta=0.05, grid=kernel.grid)
    gram, estimated = kernel(bags, bags), rough(bags, bags)
    epsilon = float(np.abs(estimated / gram - 1).max())
    assert 0 < epsilon < 0.3
    values = np.linalg.eigvalsh(gram)
    assert np.linalg.eigvalsh(estimated)[0] >= values[0] - epsilon * values[-1]


def test_clipping_sets_negative_eigenvalues_to_zero_and_reports_it():
    bags, y = random_bags(4, m=30)
    damped = PowerKernel(BoxCounting(bins=5).fitted_to(as_bags(bags)), 0.02)
    gram = damped(bags, bags)
    values, vectors = np.linalg.eigh(gram)
    assert values[0] < -1e-6 * values[-1]
    centring = np.eye(30) - 1 / 30
    clipped = centring @ (vectors * np.maximum(values, 0)) @ vectors.T @ centring
    kernel = ClippedKernel(damped, as_bags(bags))
    np.testing.assert_allclose(kernel(bags, bags), clipped / (np.trace(clipped) / 30), atol=1e-8)
    model = BoxCountingSVM(gram="clipped", kernel=BoxCounting(bins=5), tau=0.02, normalise="constant").fit(bags, y)
    correction = model.psd_correction_
    assert correction.n_negative == int((values < -1e-12 * values[-1]).sum())
    assert correction.smallest == pytest.approx(values[0], rel=1e-6)
    assert str(correction) in str(model.report())
    assert f"{correction.n_negative} negative eigenvalues" in model.report().as_dict()["message"]
    assert BoxCountingSVM().fit(bags, y).psd_correction_ is None


def test_an_indefinite_kernel_of_bags_raises_an_error_without_a_correction():
    bags, y = random_bags(4, m=30)
    damped = PowerKernel(BoxCounting(bins=5).fitted_to(as_bags(bags)), 0.02)
    pattern = 'not positive semidefinite.*use ClippedKernel or EmpiricalMap .*gram="clipped" or "empirical"'
    with pytest.raises(ConvexityError, match=pattern):
        solve(svm(FunctionInProgram(damped), as_bags(bags), y, 1.0), "highs")
    with pytest.raises(ConvexityError, match=pattern):
        BoxCountingSVM(kernel=damped, gram="plain").fit(bags, y)


def test_the_score_of_a_bag_does_not_depend_on_other_bags():
    bags, y = random_bags(6)
    new, _ = random_bags(7)
    model = BoxCountingSVM().fit(bags, y)
    together = model.decision_function(new)
    np.testing.assert_allclose([model.decision_function([bag])[0] for bag in new], together, atol=1e-12)


def test_unlabelled_bags_are_used_by_fit_transductive_only(tmp_path):
    bags, y = random_bags(8)
    new, _ = random_bags(9)
    model = BoxCountingSVM(C=1.0)
    inductive = model.fit(bags, y).decision_function(new)
    transductive = model.fit_transductive(bags, y, new).decision_function(new)
    assert np.abs(inductive - transductive).max() > 1e-6
    np.testing.assert_array_equal(model.transduction_, np.where(transductive > 0, 1.0, -1.0))
    assert "unlabelled" not in model.get_params()
    model.save(tmp_path / "model")
    np.testing.assert_allclose(milopt.load_model(tmp_path / "model").decision_function(new), transductive, atol=1e-12)
    kernel = model.result_.program.functions["f"].kernel
    reference = [*bags, *new]
    rows = kernel.kernel(reference, reference)
    features = (rows - rows.mean(axis=0)) / np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean())
    np.testing.assert_allclose(kernel(reference, reference), features @ features.T, atol=1e-9)
    # The grid is that of the labelled bags, and the next fit is inductive.
    train = as_bags(bags).instances
    np.testing.assert_array_equal(kernel.kernel.kernel.grid.high, train.max(axis=0))
    np.testing.assert_allclose(model.fit(bags, y).decision_function(new), inductive, atol=1e-9)
    with pytest.raises(ParameterError, match="needs the reference bags of gram=\"empirical\", not 'clipped'"):
        BoxCountingSVM(gram="clipped").fit_transductive(bags, y, new)
    with pytest.raises(BagsError, match="have the same number of features, not 1 and "):
        BoxCountingSVM().fit_transductive(bags, y, [np.zeros((1, 1))])


def test_unlabelled_bags_are_not_a_hyper_parameter(tmp_path):
    bags, y = random_bags(8)
    new = as_bags(random_bags(9)[0])
    with pytest.raises(TypeError, match="BoxCountingSVM has no parameter 'unlabelled'"):
        BoxCountingSVM(unlabelled=new)
    with pytest.raises(ParameterError, match="BoxCountingSVM has no parameter 'unlabelled'"):
        BoxCountingSVM().set_params(unlabelled=new)
    # A model that was saved after a transductive fit has the hyper-parameters of the user, and can be fitted again.
    BoxCountingSVM(C=1.0).fit_transductive(bags, y, new).save(tmp_path / "model")
    loaded = milopt.load_model(tmp_path / "model")
    assert loaded.get_params() == BoxCountingSVM(C=1.0).get_params()
    np.testing.assert_allclose(
        loaded.fit(bags, y).decision_function(new), BoxCountingSVM(C=1.0).fit(bags, y).decision_function(new)
    )


def test_a_file_has_the_unlabelled_bags_of_a_transductive_fit(tmp_path):
    bags, y = random_bags(8)
    new = as_bags(random_bags(9)[0])
    model = BoxCountingSVM(C=1.0).fit_transductive(bags, y, new)
    model.save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        header = json.loads(archive.read("header.json"))
    assert header["parameters"]["unlabelled"] is None
    assert "bags" in header["declared with"]["unlabelled"]


def test_scaling_only_changes_rounding_errors():
    bags, y = random_bags(10)
    new, _ = random_bags(11)
    models = [BoxCountingSVM(scale=scale, solver="highs").fit(bags, y) for scale in ("none", "zscore")]
    np.testing.assert_allclose(*(model.decision_function(new) for model in models), atol=1e-6)


def test_scores_do_not_depend_on_the_order_of_bags_and_instances():
    bags, y = random_bags(12)
    new, _ = random_bags(13)
    order = np.random.default_rng(0).permutation(len(bags))
    model = BoxCountingSVM(scale="none", solver="highs")
    scores = model.fit(bags, y).decision_function(new)
    others = model.fit([bags[i][::-1] for i in order], y[order]).decision_function([bag[::-1] for bag in new])
    np.testing.assert_allclose(scores, others, atol=1e-7)


def test_a_kernel_of_instances_means_its_mean_set_kernel():
    bags, y = random_bags(14)
    make = {"tau": 1.0, "normalise": "constant", "gram": "clipped", "C": 2.0, "scale": "none", "solver": "highs"}
    model = BoxCountingSVM(kernel=RBF(0.5), **make).fit(bags, y)
    other = BoxCountingSVM(kernel=SetKernel(RBF(0.5), "mean"), **make).fit(bags, y)
    assert model.result_.objective == pytest.approx(other.result_.objective, rel=1e-9)
    with pytest.raises(ParameterError, match="has no grid: `count_values_outside_grid` is for kernels with a grid"):
        model.count_values_outside_grid(bags)


@pytest.mark.filterwarnings("ignore:A 2-D array was given")
def test_models_of_instances_raise_an_error_for_a_kernel_of_bags(golden_bags):
    bags, y = golden_bags
    for model in (MISVM, SetKernelSVM):
        with pytest.raises(DeclarationError, match="one value per bag already, so use a kernel of instances"):
            model(kernel=BoxCounting()).fit(bags, y)
    with pytest.raises(DeclarationError, match=r"with a kernel of bags, f\(bags\) has one value per bag already"):
        SAFE(kernel=BoxCounting()).fit(bags, y)


def test_values_outside_the_grid_are_clipped_and_counted():
    bags, y = random_bags(15)
    model = BoxCountingSVM().fit(bags, y)
    assert model.count_values_outside_grid(bags) == 0
    far = [bag + 100.0 for bag in bags]
    assert model.count_values_outside_grid(far) == sum(bag.size for bag in bags)
    corner = [np.tile(as_bags(bags).instances.max(axis=0), (2, 1))]
    np.testing.assert_allclose(model.decision_function(far), np.full(len(far), model.decision_function(corner)[0]))


def test_solvers_agree_on_musk1(data_set):
    bags, y = data_set("musk1")
    program = BoxCountingSVM(C=10.0).program(bags, y)
    values = [solve(program, name).require_certified().objective for name in ("highs", "clarabel", "ecos", "libsvm")]
    np.testing.assert_allclose(values, values[0], rtol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"C": 0.0}, "C must be a positive number, not 0.0."),
        ({"tau": 1.5}, 'tau must be a number above 0 and at most 1, or such as "1/D", not 1.5.'),
        ({"tau": "1/n"}, "tau must be a number above 0 and at most 1, or such as \"1/D\", not '1/n'."),
        ({"tau": "x/D"}, "tau must be a number above 0 and at most 1, or such as \"1/D\", not 'x/D'."),
        ({"gram": "raw"}, 'gram must be one of "empirical", "clipped", "plain", not \'raw\'.'),
        ({"bias": "none"}, 'bias must be one of "free", "regularised", not \'none\'.'),
        ({"normalise": "sum"}, 'normalise must be one of "constant", "cosine", not \'sum\'.'),
        (
            {"kernel": Linear(), "tau": 0.5},
            "PowerKernel needs a kernel with nonnegative values, and this kernel has negative values.",
        ),
    ],
)
def test_a_parameter_out_of_range_raises_an_error_of_one_sentence(wrong, message, golden_bags):
    bags, y = golden_bags
    with pytest.raises(ParameterError) as caught:
        BoxCountingSVM(**{"scale": "zscore", **wrong}).fit(bags, y)
    assert str(caught.value) == message
