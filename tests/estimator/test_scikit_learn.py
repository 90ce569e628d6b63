"""Use of models with the tools of scikit-learn, on ragged lists of arrays."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from milopt import RBF, BagFeatures, Bags, InstanceTransformer, Linear, Options, RandomBoxes, as_bags
from milopt.errors import BagsError, ParameterError
from milopt.models import MISVM, BoxCountingSVM, SetKernelSVM


def test_cross_validation_accepts_lists_object_arrays_and_bags(model, data) -> None:
    ragged = np.empty(len(data.bags), dtype=object)
    ragged[:] = data.bags
    scores = [cross_val_score(model, bags, data.y, cv=3) for bags in (data.bags, ragged, as_bags(data.bags))]
    assert scores[0].mean() > 0.7
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def test_grid_search_over_solvers_hyper_parameters_and_kernels(data) -> None:
    grid = {"solver": ["highs", "clarabel"], "C": [0.01, 10.0], "kernel": [RBF("median"), Linear()]}
    search = GridSearchCV(SetKernelSVM(), grid, cv=3).fit(data.bags, data.y)
    scores = dict(zip(map(repr, search.cv_results_["params"]), search.cv_results_["mean_test_score"], strict=True))
    assert len(scores) == 8
    for C, kernel in product(grid["C"], grid["kernel"]):
        both = [scores[repr({"C": C, "kernel": kernel, "solver": solver})] for solver in grid["solver"]]
        assert both[0] == pytest.approx(both[1])
    assert search.best_score_ > 0.8
    assert search.best_estimator_.predict(data.bags[:3]).tolist() == ["no", "yes", "no"]


def test_a_models_own_grid_is_moderate_and_every_candidate_fits(model, data) -> None:
    candidates = [dict(zip(model.grid, values, strict=True)) for values in product(*model.grid.values())]
    assert 4 <= len(candidates) <= 27
    for candidate in candidates:
        clone(model).set_params(**candidate).fit(data.bags[:12], data.y[:12])


def test_a_pipeline_scales_instances_as_the_model_itself_does(model, data) -> None:
    pipeline = make_pipeline(InstanceTransformer(StandardScaler()), clone(model).set_params(scale="none"))
    pipeline.fit(data.bags, data.y)
    alone = clone(model).set_params(scale="zscore").fit(data.bags, data.y)
    np.testing.assert_allclose(
        pipeline.decision_function(data.bags), alone.decision_function(data.bags), rtol=1e-6, atol=1e-8
    )
    assert cross_val_score(pipeline, data.bags, data.y, cv=3).mean() > 0.7


def test_a_transformer_that_uses_labels_gets_the_labels_of_the_bags(data) -> None:
    chosen = InstanceTransformer(SelectKBest(k=1)).fit(data.bags, data.y)
    assert chosen.transformer_.get_support().tolist() == [True, False, False]
    moved = chosen.transform(data.bags)
    assert isinstance(moved, Bags)
    np.testing.assert_array_equal(moved[3], data.bags[3][:, :1])
    assert clone(chosen).get_params()["transformer__k"] == 1


def test_a_transformer_that_removes_instances_raises_an_error(data) -> None:
    lossy = InstanceTransformer(FunctionTransformer(lambda rows: rows[1:])).fit(data.bags)
    with pytest.raises(
        BagsError, match=r"FunctionTransformer returned .* rows for .* instances: it must return one row per instance"
    ):
        lossy.transform(data.bags)
    with pytest.raises(BagsError, match="2 features, but InstanceTransformer is expecting 3"):
        lossy.transform([bag[:, :2] for bag in data.bags])
    with pytest.raises(BagsError, match="2 labels for 36 bags"):
        lossy.fit(data.bags, [0, 1])


def test_a_linear_svm_on_box_features_equals_the_svm_of_their_kernel(data) -> None:
    boxes = RandomBoxes(count=300, bins=20, seed=1)
    pipeline = make_pipeline(BagFeatures(boxes), SVC(kernel="linear", C=10.0)).fit(data.bags[:24], data.y[:24])
    kernel = BoxCountingSVM(kernel=boxes, gram="plain", C=10.0, scale="none").fit(data.bags[:24], data.y[:24])
    np.testing.assert_allclose(pipeline.decision_function(data.bags), kernel.decision_function(data.bags), atol=1e-2)
    assert cross_val_score(make_pipeline(BagFeatures(boxes), LinearSVC()), data.bags, data.y, cv=3).mean() > 0.7
    rows = pipeline[0].set_output(transform="pandas").transform(data.bags)
    assert (list(rows.columns[:2]), rows.shape) == (["box0", "box1"], (len(data.bags), 300))


def test_bag_features_need_random_boxes_and_the_features_of_the_fit(data) -> None:
    with pytest.raises(ParameterError, match=r"kernel must be RandomBoxes, whose features are explicit, not RBF\("):
        BagFeatures(RBF()).fit(data.bags)
    with pytest.raises(NotFittedError, match="This BagFeatures is not fitted yet; call fit first"):
        BagFeatures().transform(data.bags)
    with pytest.raises(BagsError, match="2 features, but BagFeatures is expecting 3"):
        BagFeatures().fit(data.bags).transform([bag[:, :2] for bag in data.bags])
    with pytest.raises(BagsError, match="3 labels for 36 bags"):
        BagFeatures().fit(data.bags, data.y[:3])
    with pytest.raises(NotFittedError, match="This BagFeatures is not fitted yet"):
        BagFeatures().get_feature_names_out()
    fitted = BagFeatures(RandomBoxes(count=50)).set_output(transform="pandas").fit(data.bags)
    assert fitted.set_params(kernel=RandomBoxes(count=7)).transform(data.bags).shape == (36, 50)


def test_groups_stay_together(data) -> None:
    groups = np.arange(len(data.bags)) // 3
    folds = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(SetKernelSVM(), data.bags, data.y, groups=groups, cv=folds)
    assert scores.shape == (3,)
    assert scores.mean() > 0.7


@pytest.mark.parametrize("target", ["y", "y3"])
@pytest.mark.parametrize("ensemble", [True, False])
def test_scores_can_be_calibrated(target, ensemble, data) -> None:
    y = getattr(data, target)
    calibrated = CalibratedClassifierCV(SetKernelSVM(C=10.0), cv=3, ensemble=ensemble).fit(data.bags, y)
    chances = calibrated.predict_proba(data.bags)
    assert chances.shape == (36, np.unique(y).size)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert np.mean(calibrated.predict(data.bags) == y) > 0.8


def test_worker_processes_give_the_scores_of_one_process(model, data) -> None:
    folds = StratifiedKFold(2)
    apart = cross_val_predict(model, data.bags, data.y3, cv=folds, n_jobs=2, method="decision_function")
    here = cross_val_predict(model, data.bags, data.y3, cv=folds, method="decision_function")
    np.testing.assert_allclose(apart, here, atol=1e-12)


@pytest.mark.parametrize("target", ["y", "y3"])
def test_a_fitted_model_is_pickled_without_its_functions(model, target, data) -> None:
    model.fit(data.bags, getattr(data, target))
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.decision_function(data.bags), model.decision_function(data.bags))
    assert str(twin.report()) == str(model.report())
    assert twin.results_[0].program.kind == model.results_[0].program.kind


def test_later_changes_do_not_affect_a_pickled_fit(data) -> None:
    model = SetKernelSVM(C=1.0).fit(data.bags, data.y)
    scores = model.decision_function(data.bags)
    model.set_params(kernel=Linear(), C=7.0)
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.decision_function(data.bags), scores)
    assert twin.C == 7.0
    assert twin.report().as_dict()["parameters"]["C"] == 1.0


def test_a_clone_has_the_parameters_and_is_not_fitted(model, data) -> None:
    chosen = model.set_params(solver="highs", options=Options(time_limit=9.0), class_weight={"no": 2.0})
    copy = clone(chosen.fit(data.bags, data.y))
    assert copy.get_params() == chosen.get_params()
    assert copy.options.time_limit == 9.0
    assert not hasattr(copy, "result_")
    assert not hasattr(copy, "n_features_in_")
    assert is_classifier(copy)


def test_the_html_of_a_model_shows_its_parameters(model, data) -> None:
    for estimator in (
        model,
        clone(model).fit(data.bags, data.y),
        make_pipeline(InstanceTransformer(StandardScaler()), model),
    ):
        page = estimator._repr_html_()
        assert type(model).__name__ in page
        assert "minmax01" in page


def test_bags_are_not_routed_as_metadata() -> None:
    request = MISVM().get_metadata_routing()
    lifted = InstanceTransformer(StandardScaler()).get_metadata_routing()
    assert not lifted.fit.requests
    assert not lifted.transform.requests
    assert set(request.fit.requests) == {"sample_weight"}
    assert set(request.score.requests) == {"sample_weight"}
    assert not request.predict.requests
