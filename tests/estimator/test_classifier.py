"""Labels, weights, scaling and hyper-parameters of models, and the errors for invalid ones."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import check_is_fitted

from milopt import RBF, BagClassifier, ConvexConcave, Linear, Options, Precomputed, Program, as_bags, bag_mean, solve
from milopt.errors import BagsError, DeclarationError, MiloptError, MiloptWarning, ParameterError, UncertifiedError
from milopt.models import MILES, MISVM, SetKernelSVM

METHODS = ("predict", "decision_function", "instance_scores", "predict_instances")


def scaled(bags, scaler):
    scaler.fit(np.concatenate(bags))
    return [scaler.transform(bag) for bag in bags]


# -- labels and classes ----------------------------------------------------------------------------------------


def test_two_classes_give_one_result_and_scores_whose_sign_decides(model, data) -> None:
    model.fit(data.bags, data.y)
    scores = model.decision_function(data.bags)
    assert scores.shape == (36,)
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(data.bags), np.where(scores > 0, "yes", "no"))
    assert model.results_ == (model.result_,)
    assert model.score(data.bags, data.y) == np.mean(model.predict(data.bags) == data.y) > 0.8


def test_three_classes_are_each_separated_from_the_rest(model, data) -> None:
    model.fit(data.bags, data.y3)
    scores = model.decision_function(data.bags)
    assert scores.shape == (36, 3)
    for k, label in enumerate(model.classes_):
        apart = type(model)().fit(data.bags, data.y3 == label)
        np.testing.assert_array_equal(apart.classes_, [False, True])
        np.testing.assert_allclose(apart.decision_function(data.bags), scores[:, k], atol=1e-12)
    np.testing.assert_array_equal(model.predict(data.bags), model.classes_[scores.argmax(axis=1)])
    assert [bag_scores.shape[1] for bag_scores in model.instance_scores(data.bags[:2])] == [3, 3]
    with pytest.raises(AttributeError, match="The model has 3 classes and one result per class: use results_"):
        _ = model.result_


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [7.0, -2.0], [True, False], ["x", "y"], np.array(["x", "y"], dtype=object), pd.Series(["p", "q"])],
)
def test_predicted_labels_have_the_type_of_the_given_labels(labels, data) -> None:
    y = np.asarray(labels)[np.arange(12) % 2]
    predicted = SetKernelSVM(C=10.0).fit(data.bags[:12], y).predict(data.bags)
    assert predicted.dtype == y.dtype
    assert set(predicted.tolist()) <= set(y.tolist())


def test_instances_are_scored_and_labelled_bag_by_bag(model, data) -> None:
    model.fit(data.bags, data.y)
    scores, labels = model.instance_scores(data.bags), model.predict_instances(data.bags)
    assert (
        [values.shape for values in scores] == [values.shape for values in labels] == [(len(bag),) for bag in data.bags]
    )
    np.testing.assert_array_equal(labels[4], np.where(scores[4] > 0, "yes", "no"))
    alone = model.decision_function([bag[:1] for bag in data.bags])
    np.testing.assert_allclose([bag_scores[0] for bag_scores in scores], alone, atol=1e-9)


def test_a_model_without_instance_scores_scores_an_instance_as_a_bag_of_one(data) -> None:
    class BagMeansModel(BagClassifier):
        kernel: RBF = RBF()

        def declare(self, bags, y, weight):
            program = Program("means")
            f, slack = program.function("f", self.kernel), program.variable("slack", len(bags), lower=0)
            program.minimize(0.5 * f.norm_squared() + weight @ slack)
            program.subject_to(y * bag_mean(f(bags)) >= 1 - slack)
            program.score(lambda new: bag_mean(f(new)))
            return program

    model = BagMeansModel().fit(data.bags, data.y)
    scores = np.concatenate(model.instance_scores(data.bags))
    alone = model.decision_function([row[None] for bag in data.bags for row in bag])
    np.testing.assert_allclose(scores, alone, atol=1e-12)


# -- weights ---------------------------------------------------------------------------------------------------


def test_a_bag_of_weight_two_counts_as_two_bags_and_one_of_weight_zero_is_ignored(data) -> None:
    weight = np.arange(36) % 3
    weight[5] = 2
    weighted = SetKernelSVM(C=1.0, kernel=RBF()).fit(data.bags, data.y3, sample_weight=weight)
    order = np.repeat(np.arange(36), weight)
    repeated = SetKernelSVM(C=1.0, kernel=RBF()).fit([data.bags[i] for i in order], data.y3[order])
    assert weighted.classes_.tolist() == repeated.classes_.tolist() == ["bee", "cat"]
    np.testing.assert_allclose(
        weighted.decision_function(data.bags), repeated.decision_function(data.bags), rtol=1e-5, atol=1e-7
    )


def test_class_weights_multiply_sample_weights(data) -> None:
    weight = np.linspace(0.5, 2.0, 36)
    by_class = SetKernelSVM(class_weight={"yes": 3.0}).program(data.bags, data.y, weight)
    by_hand = SetKernelSVM().program(data.bags, data.y, weight * np.where(data.y == "yes", 3.0, 1.0))
    assert solve(by_class, "clarabel").objective == pytest.approx(solve(by_hand, "clarabel").objective, rel=1e-9)


def test_balanced_classes_weigh_the_same_in_total(data) -> None:
    seen = {}

    class RecordingModel(SetKernelSVM):
        def declare(self, bags, y, weight):
            seen.update(zip(("bags", "y", "weight"), (bags, y, weight), strict=True))
            return super().declare(bags, y, weight)

    weight = np.linspace(0.5, 2.0, 36)
    RecordingModel(class_weight="balanced").fit(data.bags, data.y, weight)
    totals = [seen["weight"][seen["y"] == sign].sum() for sign in (-1, 1)]
    np.testing.assert_allclose(totals, weight.sum() / 2)
    RecordingModel(class_weight="balanced").fit(data.bags, data.y)
    assert seen["weight"].mean() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("even", "class_weight must be None, \"balanced\" or a dictionary by label, not 'even'."),
        ({"maybe": 1.0}, "class_weight has the label 'maybe', which no bag has; the labels are 'no', 'yes'."),
        ({"yes": 0}, "The class weight of 'yes' must be a positive number, not 0."),
        ({"yes": "2"}, "The class weight of 'yes' must be a positive number, not '2'."),
    ],
)
def test_invalid_class_weights_raise_an_error(given, message, data) -> None:
    with pytest.raises(ParameterError) as caught:
        MILES(class_weight=given).fit(data.bags, data.y)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0] * 35, "There are 35 weights for 36 bags"),
        ([-1.0] + [1.0] * 35, "The weight of bag 0 is -1"),
        ([np.nan] + [1.0] * 35, "The weights have NaN at bag 0"),
        ([0.0] * 36, "All weights are zero"),
        ([0.0, 1.0, 0.0] * 12, "All 12 bags with a positive weight belong to one class, yes"),
    ],
)
def test_invalid_sample_weights_raise_an_error(weight, message, data) -> None:
    with pytest.raises(BagsError, match=message):
        MISVM().fit(data.bags, data.y, sample_weight=weight)


# -- scaling ---------------------------------------------------------------------------------------------------


def test_features_are_scaled_by_the_range_of_the_training_instances(model, data) -> None:
    train, test = data.bags[:24], data.bags[24:]
    scaler = MinMaxScaler()
    by_hand = type(model)(scale="none").fit(scaled(train, scaler), data.y[:24])
    model.fit(train, data.y[:24])
    expected = by_hand.decision_function([scaler.transform(bag) for bag in test])
    np.testing.assert_allclose(model.decision_function(test), expected, rtol=1e-6, atol=1e-8)


def test_program_returns_the_program_that_fit_solves(model, data) -> None:
    program = model.program(data.bags, data.y)
    result = solve(program, scheme=model.scheme)
    assert result.objective == pytest.approx(model.fit(data.bags, data.y).result_.objective, rel=1e-9)
    assert program.to_latex() == model.result_.program.to_latex()


def test_sparse_instances_keep_their_zeros(data) -> None:
    rng = np.random.default_rng(1)
    dense = [np.abs(bag) * (rng.random(bag.shape) < 0.6) for bag in data.bags]
    sparse = [sp.csr_array(bag) for bag in dense]
    model = SetKernelSVM(kernel=RBF()).fit(sparse, data.y)
    assert sp.issparse(model._fitted.training.bags.instances)
    # If the smallest value of each feature is 0, both scalings are equal.
    twin = SetKernelSVM(kernel=RBF()).fit(dense, data.y)
    np.testing.assert_allclose(model.decision_function(sparse), twin.decision_function(dense), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(twin.decision_function(sparse), twin.decision_function(dense), atol=1e-9)


def test_scaling_that_would_make_sparse_instances_dense_raises_an_error(data) -> None:
    sparse = [sp.csr_array(bag) for bag in data.bags]
    with pytest.raises(BagsError, match='scale="zscore" would make sparse instances dense'):
        MISVM(scale="zscore").fit(sparse, data.y)
    with pytest.raises(BagsError, match="fitted on dense instances, and its scaling would make sparse bags dense"):
        SetKernelSVM().fit(data.bags, data.y).predict(sparse)


def test_a_constant_feature_becomes_zero_and_an_overflowing_feature_raises_an_error(data) -> None:
    bags = [np.column_stack([bag, np.full(len(bag), 7.0)]) for bag in data.bags]
    for scale in ("minmax01", "zscore"):
        kept = SetKernelSVM(scale=scale).fit(bags, data.y)._fitted.training.bags
        assert (kept.instances[:, 3] == 0).all()
    with pytest.raises(BagsError, match="Feature 0 has a range that overflows"):
        SetKernelSVM().fit([np.array([[-1.7e308]]), np.array([[1.7e308]])], [0, 1])


def test_row_numbers_of_a_precomputed_kernel_are_not_scaled(data) -> None:
    bags = as_bags(scaled(data.bags, MinMaxScaler()))
    gram = RBF(0.7)(bags.instances, bags.instances)
    rows = np.split(np.arange(len(gram), dtype=float)[:, None], bags.offsets[1:-1])
    given = SetKernelSVM(kernel=Precomputed(gram)).fit(rows, data.y)
    computed = SetKernelSVM(kernel=RBF(0.7)).fit(data.bags, data.y)
    np.testing.assert_allclose(
        given.decision_function(rows), computed.decision_function(data.bags), rtol=1e-6, atol=1e-8
    )


# -- bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_every_method_raises_an_error_for_invalid_new_bags(method, data) -> None:
    model = SetKernelSVM().fit(data.bags, data.y)
    call = getattr(model, method)
    wrong = data.bags[0].copy()
    wrong[0, 1] = np.nan
    for bags, message in (
        ([bag[:, :2] for bag in data.bags], "The bags have 2 features, but SetKernelSVM is expecting 3 features"),
        ([data.bags[0], wrong], "Bag 1 of bags has NaN in instance 0, feature 1"),
        ([data.bags[0], np.empty((0, 3))], "Bag 1 of bags is empty"),
        ([data.bags[0], data.bags[1][:, :2]], "Bag 1 of bags has 2 features, but bag 0 has 3"),
        ([], "There are no bags"),
        (np.arange(3.0), "Reshape your data"),
        ("musk1", "str is not bags"),
    ):
        with pytest.raises(BagsError, match=message):
            call(bags)


@pytest.mark.parametrize("method", [*METHODS, "explain", "report", "score", "save"])
def test_an_unfitted_model_raises_the_error_of_scikit_learn(method, data) -> None:
    arguments = {"report": (), "score": (data.bags, data.y), "save": ("nowhere",)}.get(method, (data.bags,))
    with pytest.raises(NotFittedError, match="This MISVM is not fitted yet; call fit first") as caught:
        getattr(MISVM(), method)(*arguments)
    assert isinstance(caught.value, MiloptError)
    with pytest.raises(NotFittedError):
        check_is_fitted(MISVM())
    assert not hasattr(MISVM(), "results_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scale": "log"}, 'scale must be one of "minmax01", "zscore", "none"'),
        ({"scale": None}, "scale must be one of"),
        ({"random_state": "seed"}, "random_state must be an integer, None or a RandomState"),
        ({"random_state": -1}, r"random_state must lie between 0 and 2\*\*32 - 1, not at -1"),
        ({"random_state": 2**32}, "random_state must lie between 0 and"),
        ({"solver": "ecso"}, "ecos"),
        ({"scheme": "cpp"}, "ccp"),
        ({"kernel": "rfb"}, "rbf"),
        ({"options": 3}, "options must be an Options object"),
    ],
)
def test_invalid_hyper_parameters_raise_an_error_in_fit(parameters, message, data) -> None:
    with pytest.raises(MiloptError, match=message):
        MISVM(**parameters).fit(data.bags, data.y)


class ShiftedModel(MISVM):
    """Model with a boolean field, and a field that may have other types too."""

    shifted: bool = False
    wide: bool | str = False


@pytest.mark.parametrize("wrong", ["yes", "", None, 2, 0, 1.0, []])
def test_boolean_fields_of_every_model_accept_only_booleans(wrong: object, data) -> None:
    with pytest.raises(ParameterError, match="shifted must be True or False, not "):
        ShiftedModel(shifted=wrong).fit(data.bags, data.y)
    with pytest.raises(ParameterError, match="shifted must be True or False, not "):
        ShiftedModel(shifted=wrong).program(data.bags, data.y)


def test_booleans_of_numpy_are_accepted(data) -> None:
    seen = []

    class FlagModel(ShiftedModel):
        def declare(self, bags, y, weight):
            seen.append(self.shifted)
            return super().declare(bags, y, weight)

    for value in (True, np.True_, np.False_):
        FlagModel(shifted=value, wide="much").fit(data.bags, data.y)
    assert [seen[0] is True, seen[1] is True, seen[2] is False] == [True] * 3


def test_kernel_fields_of_every_model_accept_only_kernels_and_functions(data) -> None:
    with pytest.raises(ParameterError, match="A kernel is RBF"):
        MILES(kernel=3.0).fit(data.bags, data.y)
    own = MILES(kernel=lambda a, b: a @ b.T).fit(data.bags, data.y)
    linear = MILES(kernel=Linear()).fit(data.bags, data.y)
    assert own.result_.objective == pytest.approx(linear.result_.objective)


def test_labels_of_two_types_raise_an_error(model, data) -> None:
    with pytest.raises(BagsError, match="mix strings and numbers"):
        model.fit(data.bags, np.array([1, "a"] * 18, dtype=object))


def test_a_fit_without_a_point_raises_an_uncertified_error(data) -> None:
    class UnboundedModel(BagClassifier):
        def declare(self, bags, y, weight):
            program = Program("bottomless")
            b = program.variable("b")
            program.minimize(b)
            program.score(lambda new: 0 * bag_mean(new.instances[:, 0]) + b)
            return program

    with pytest.raises(UncertifiedError, match="bottomless ended without a point") as refusal:
        UnboundedModel().fit(data.bags, data.y)
    assert refusal.value.exit_code == 3


def test_a_single_class_raises_an_error(model, data) -> None:
    with pytest.raises(BagsError, match="All 36 bags belong to one class, a: at least two classes are needed"):
        model.fit(data.bags, ["a"] * 36)


def test_a_failed_fit_leaves_the_previous_fit_unchanged(data) -> None:
    frame = pd.DataFrame(np.concatenate(data.bags)[:36], columns=["a", "b", "c"])
    model = SetKernelSVM()
    with pytest.warns(MiloptWarning, match="each of its 36 rows becomes a bag of one instance"):
        model.fit(frame, data.y)
    before, result, names = dict(vars(model)), model.result_, model.feature_names_in_.tolist()
    model.set_params(solver="native", form="primal")
    with pytest.raises(MiloptError, match="native cannot solve"):
        model.fit([bag[:, :2] for bag in data.bags], data.y3)
    assert vars(model) == before | {"solver": "native", "form": "primal"}
    assert model.result_ is result
    assert names == ["a", "b", "c"]
    model.set_params(solver="auto", form=None).fit([bag[:, :2] for bag in data.bags], data.y3)
    assert model.n_features_in_ == 2
    assert not hasattr(model, "feature_names_in_")


def test_a_point_without_a_certificate_gives_a_warning(data) -> None:
    with pytest.warns(MiloptWarning, match="MI-SVM by clarabel ended as limit"):
        model = MISVM(solver="clarabel", options=Options(time_limit=60.0), scheme=ConvexConcave(max_steps=1)).fit(
            data.bags, data.y
        )
    assert model.result_.exit_code == 3


def test_a_list_of_rows_means_bags_of_one_instance(data) -> None:
    rows = np.concatenate(data.bags)[:36]
    with pytest.warns(MiloptWarning, match="36 rows"):
        model = SetKernelSVM().fit(rows.tolist(), data.y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin = SetKernelSVM().fit([row[None] for row in rows], data.y)
    np.testing.assert_allclose(
        model._fitted.scores(as_bags(rows[:, None])), twin._fitted.scores(as_bags(rows[:, None]))
    )


# -- fields ----------------------------------------------------------------------------------------------------


def test_fields_of_a_model_come_before_the_shared_fields() -> None:
    common = ["solver", "scheme", "form", "options", "scale", "class_weight", "positive", "random_state", "verbose"]
    assert list(MISVM._fields) == ["C", "kernel", *common]
    with pytest.raises(TypeError, match="MISVM has no parameter 'c'; it has C, kernel"):
        MISVM(c=1)

    class WiderModel(MISVM):
        """Model that changes an inherited default and adds a field; its class variable is not a field."""

        kernel = Linear()
        width: int = 3

    assert list(WiderModel._fields) == ["width", "C", "kernel", *common]
    assert WiderModel().get_params()["kernel"] == Linear()
    assert WiderModel.grid is MISVM.grid


def test_a_field_without_a_default_and_a_model_with_init_raise_an_error() -> None:
    with pytest.raises(TypeError, match=r"Bare\.D needs a default"):
        type("Bare", (MISVM,), {"__annotations__": {"D": "float"}})
    with pytest.raises(TypeError, match="Own defines __init__"):
        type("Own", (MISVM,), {"__init__": lambda self: None})


def test_random_choices_of_a_model_depend_only_on_its_seed(data) -> None:
    seen = []

    class RandomModel(SetKernelSVM):
        def declare(self, bags, y, weight):
            seen.append(self.random_state)
            return super().declare(bags, y, weight)

    RandomModel(random_state=5).fit(data.bags, data.y3)
    RandomModel(random_state=np.random.RandomState(1)).fit(data.bags, data.y)
    RandomModel(random_state=np.random.RandomState(1)).program(data.bags, data.y)
    assert seen[:3] == [5, 5, 5]
    assert isinstance(seen[3], int)
    assert seen[3] == seen[4]


def test_a_score_per_instance_instead_of_per_bag_raises_an_error_at_the_fit(data) -> None:
    class InstanceScored(MISVM):
        def declare(self, bags, y, weight):
            program = super().declare(bags, y, weight)
            f = program.functions["f"]
            program.score(lambda new: f(new))
            return program

    with pytest.raises(DeclarationError, match=r"The score of program .* has shape .* return one score per bag"):
        InstanceScored().fit(data.bags, data.y)
