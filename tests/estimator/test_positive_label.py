"""The user names the positive class, or gets a warning: it is never silently chosen by alphabetical order."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score

from milopt import BagClassifier, Program, load_model
from milopt.archive import pack_archive
from milopt.errors import MiloptWarning, ParameterError, PositiveLabelWarning
from milopt.models import GMIL1, MIORDM, MIRSVM, MISVM, SetKernelSVM, ShapeletBoost

WITNESS_MODELS = (MISVM, MIORDM, MIRSVM)


def separable(count: int = 40, seed: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
    """Bags of five instances around the origin; one instance of every bag labelled 1 is near (3, 3)."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    bags = [np.clip(rng.normal(size=(5, 2)), -1.5, 1.5) for _ in y]
    for bag, label in zip(bags, y, strict=True):
        if label:
            bag[rng.integers(5)] = 3 + 0.1 * rng.normal(size=2)
    return bags, y


BAGS, Y = separable()
NAMES = np.where(Y == 1, "active", "inactive")


@pytest.mark.filterwarnings("ignore::milopt.errors.MiloptWarning")
@pytest.mark.parametrize("cls", WITNESS_MODELS)
def test_naming_the_positive_class_gives_the_classifier_of_the_labels_0_and_1(cls) -> None:
    numbered = cls().fit(BAGS, Y)
    assert numbered.score(BAGS, Y) == 1.0
    assert cls().fit(BAGS, NAMES).score(BAGS, NAMES) < 0.9
    named = cls(positive="active").fit(BAGS, NAMES)
    assert named.score(BAGS, NAMES) == 1.0
    assert named.result_.objective == numbered.result_.objective
    assert (named.predict(BAGS) == np.where(numbered.predict(BAGS) == 1, "active", "inactive")).all()


def test_scores_follow_the_order_of_classes_as_scikit_learn_expects() -> None:
    numbered, named = MISVM().fit(BAGS, Y), MISVM(positive="active").fit(BAGS, NAMES)
    assert named.classes_.tolist() == ["active", "inactive"]
    np.testing.assert_array_equal(named.decision_function(BAGS), -numbered.decision_function(BAGS))
    for scores, other in zip(named.instance_scores(BAGS), numbered.instance_scores(BAGS), strict=True):
        np.testing.assert_array_equal(scores, -other)
    assert cross_val_score(named, BAGS, NAMES, cv=3, scoring="roc_auc").min() == 1.0
    calibrated = CalibratedClassifierCV(MISVM(positive="active"), cv=3).fit(BAGS, NAMES)
    assert calibrated.score(BAGS, NAMES) == 1.0


def test_positive_scores_of_explanations_and_reports_mean_the_positive_class() -> None:
    numbered, named = MISVM().fit(BAGS, Y), MISVM(positive="active").fit(BAGS, NAMES)
    assert (numbered.positive_label_, named.positive_label_) == (1, "active")
    by_name, by_number = named.explain(BAGS[1]), numbered.explain(BAGS[1])
    assert (by_name.label, by_name.positive_label) == ("active", "active")
    assert (by_name.score, by_name.witness) == (by_number.score, by_number.witness)
    assert "positive scores mean class active" in str(by_name)
    report = named.report()
    assert report.as_dict()["positive_label"] == "active"
    assert report.as_dict()["programs"][0]["class"] == "active"
    assert report.as_dict()["train_accuracy"] == 1.0
    assert "\npositive    class active\n" in str(report)


def test_positive_scores_of_an_ensemble_mean_the_positive_class() -> None:
    model = ShapeletBoost(positive="active", ball="one-hot", atoms=10).fit(BAGS, NAMES)
    shown = model.maximisers(BAGS[0])
    assert shown.positive_label == shown.as_dict()["positive_label"] == "active"
    assert shown.score == pytest.approx(-model.decision_function(BAGS[:1])[0])
    assert model.patterns().as_dict()["positive_label"] == "active"
    with pytest.raises(ParameterError, match="positive scores mean active"):
        model.patterns(label="inactive")


@pytest.mark.parametrize("cls", [*WITNESS_MODELS, GMIL1])
def test_the_alphabetically_last_label_is_positive_by_default_with_a_warning(cls) -> None:
    with pytest.warns(PositiveLabelWarning) as caught:
        model = cls().fit(BAGS, NAMES)
    assert model.positive_label_ == "inactive"
    label_warnings = [warning for warning in caught if warning.category is PositiveLabelWarning]
    assert len(label_warnings) == 1
    assert label_warnings[0].filename == __file__
    assert str(label_warnings[0].message) == (
        f"{cls.__name__} does not treat the two classes alike, and no positive class was named: 'inactive' is used, "
        "the alphabetically last label. Give positive='inactive' or positive='active' (--positive on the command line)."
    )
    assert issubclass(PositiveLabelWarning, MiloptWarning)


@pytest.mark.parametrize(
    "y",
    [Y, Y.astype(float), Y == 1, np.where(Y == 1, 1, -1), Y.astype(object), np.where(Y == 1, "1", "0").astype(int)],
    ids=["integers", "floats", "booleans", "signs", "objects", "read integers"],
)
def test_the_larger_number_or_true_is_positive_without_a_warning(y) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", PositiveLabelWarning)
        model = MISVM().fit(BAGS, y)
    assert model.positive_label_ == max(y.tolist())
    assert model.score(BAGS, y) == 1.0


@pytest.mark.parametrize(
    ("y", "positive"), [(Y, 0), (Y, np.int64(0)), (Y, False), (Y == 1, 0), (NAMES, np.str_("active"))]
)
def test_any_label_can_be_the_positive_class(y, positive) -> None:
    model = SetKernelSVM(positive=positive).fit(BAGS, y)
    assert model.positive_label_ == positive
    np.testing.assert_allclose(
        model.decision_function(BAGS), SetKernelSVM().fit(BAGS, y).decision_function(BAGS), atol=1e-6
    )


@pytest.mark.parametrize("cls", [MISVM, SetKernelSVM, GMIL1])
@pytest.mark.parametrize("positive", ["activ", 1, ["active"], np.array(["active"])])
def test_a_positive_label_that_no_bag_has_raises_an_error(cls, positive) -> None:
    with pytest.raises(ParameterError, match="is not a label of the training bags: give 'active' or 'inactive'"):
        cls(positive=positive).fit(BAGS, NAMES)


def test_more_than_two_classes_need_no_positive_class() -> None:
    three = np.array(["a", "b", "c"])[np.arange(len(BAGS)) % 3]
    with warnings.catch_warnings():
        warnings.simplefilter("error", PositiveLabelWarning)
        model = SetKernelSVM().fit(BAGS, three)
        MISVM(C=0.01).fit(BAGS, three)
    assert model.positive_label_ is None
    assert model.report().as_dict()["positive_label"] is None
    with pytest.raises(ParameterError, match="positive='a' is for two classes, but there are 3: each class is sep"):
        MISVM(positive="a").fit(BAGS, three)


def test_clone_and_grid_search_keep_the_positive_class() -> None:
    assert clone(MISVM(positive="active")).positive == "active"
    with warnings.catch_warnings():
        warnings.simplefilter("error", PositiveLabelWarning)
        search = GridSearchCV(MISVM(positive="active"), {"C": [1.0, 10.0]}, cv=2).fit(BAGS, NAMES)
    assert search.best_estimator_.positive_label_ == "active"
    assert search.best_score_ == 1.0
    chosen = GridSearchCV(MISVM(), {"positive": ["active", "inactive"]}, cv=2).fit(BAGS, NAMES)
    assert chosen.best_params_ == {"positive": "active"}


def test_a_saved_model_keeps_its_positive_class(tmp_path: Path) -> None:
    model = MISVM(positive="active").fit(BAGS, NAMES)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.positive_label_ == "active"
    np.testing.assert_array_equal(loaded.decision_function(BAGS), model.decision_function(BAGS))


def test_an_old_file_without_a_positive_class_is_read(tmp_path: Path) -> None:
    model = MISVM().fit(BAGS, Y)
    model.save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        header = json.loads(archive.read("header.json"))
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        arrays = {name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name))) for name in names}
    del header["parameters"]["positive"], header["declared with"]["positive"]
    older = tmp_path / "older"
    older.write_bytes(pack_archive(json.dumps(header).encode(), arrays))
    loaded = load_model(older)
    assert loaded.positive_label_ == 1
    np.testing.assert_array_equal(loaded.decision_function(BAGS), model.decision_function(BAGS))


def test_a_model_of_another_package_warns_unless_its_classes_are_symmetric() -> None:
    class MeanClassifier(BagClassifier):
        def declare(self, bags, y, weight):
            program = Program("own")
            w, b = program.variable("w", bags.dimension, lower=-1, upper=1), program.variable("b")
            slack = program.variable("slack", len(bags), lower=0)
            program.minimize(weight @ slack)
            program.subject_to(y * (bags.mean(bags.instances) @ w + b) >= 1 - slack)
            program.score(lambda new: new.mean(new.instances) @ w + b)
            return program

    class SymmetricMeanClassifier(MeanClassifier):
        has_symmetric_classes = True

    with pytest.warns(PositiveLabelWarning):
        MeanClassifier().fit(BAGS, NAMES)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PositiveLabelWarning)
        SymmetricMeanClassifier().fit(BAGS, NAMES)
