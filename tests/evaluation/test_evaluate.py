"""Evaluations report the accuracy of models on unseen bags, and how it was obtained."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from milopt import RBF, as_bags
from milopt.data.data_set import DataSet
from milopt.errors import MiloptError, ParameterError, UnknownNameError
from milopt.evaluation.evaluate import evaluate
from milopt.evaluation.record import Failure, Record
from milopt.evaluation.selection import grid_combinations, select_candidate
from milopt.model_registry import format_settings, get_model
from milopt.models import SetKernelSVM

from .compared import numbers
from .conftest import toy_data

FIXED = {"C": 10.0}


class TestTheTable:
    def test_means_are_over_folds_then_repeats_and_the_error_over_repeats(self, toy: DataSet) -> None:
        report = evaluate(toy, "set-kernel-svm", "3x4", settings=FIXED, grid={})
        (row,) = report.table
        repeats = [fmean(r.accuracy for r in report.records if r.repeat == k) for k in range(3)]
        assert row.accuracy == pytest.approx(fmean(repeats), rel=1e-15)
        assert row.standard_error == pytest.approx(stdev(repeats) / 3**0.5, rel=1e-12)
        assert (row.error_over, row.tasks, row.expected, row.fits) == ("repeats", 12, 12, 12)

    def test_with_one_repeat_the_error_is_over_folds(self, toy: DataSet) -> None:
        report = evaluate(toy, "set-kernel-svm", "4", settings=FIXED, grid={})
        (row,) = report.table
        assert row.error_over == "folds"
        assert row.standard_error == pytest.approx(stdev(r.accuracy for r in report.records) / 2, rel=1e-12)
        assert "standard error over folds" in str(report)

    def test_each_random_split_is_a_repeat(self, toy: DataSet) -> None:
        assert evaluate(toy, "set-kernel-svm", "3x75/25", settings=FIXED, grid={}).table[0].error_over == "repeats"

    def test_measures_are_those_of_the_test_bags(self, toy: DataSet) -> None:
        for record in evaluate(toy, "set-kernel-svm", "3", settings=FIXED, grid={}).records:
            labels = toy.labels[list(record.test)]
            assert record.accuracy == np.mean(labels == record.predicted)
            assert record.balanced_accuracy == balanced_accuracy_score(labels, record.predicted)
            assert record.auc == roc_auc_score(labels, record.scores)
            assert np.array_equal(np.asarray(record.scores) > 0, np.asarray(record.predicted) == 1)

    def test_a_fold_equals_a_fit_and_prediction_by_hand(self, toy: DataSet) -> None:
        for record in evaluate(toy, "set-kernel-svm", "3", settings=FIXED, grid={}).records:
            test = list(record.test)
            train = [i for i in range(len(toy.bags)) if i not in test]
            model = SetKernelSVM(C=10.0).fit(toy.bags[train], toy.labels[train])
            assert np.allclose(model.decision_function(toy.bags[test]), record.scores, rtol=1e-9, atol=1e-12)

    def test_the_official_parts_make_one_task(self) -> None:
        data = toy_data(count=16, test=8)
        report = evaluate(data, "set-kernel-svm", "train/test", settings=FIXED, grid={})
        assert data.test is not None
        model = SetKernelSVM(C=10.0).fit(data.bags, data.labels)
        assert report.table[0].accuracy == model.score(data.test.bags, data.test.labels)
        assert report.table[0].standard_error is None
        assert report.records[0].test == tuple(range(16, 24))

    def test_three_classes_have_no_area_under_the_curve(self) -> None:
        report = evaluate(toy_data(classes=3), "set-kernel-svm", "2", settings=FIXED, grid={})
        assert report.table[0].auc is None
        assert np.shape(report.records[0].scores) == (12, 3)
        assert len(report.records[0].fits) == 1

    def test_labels_may_be_strings(self, toy: DataSet) -> None:
        words = np.array(["no", "yes"])[toy.labels]
        report = evaluate((toy.bags, words), "set-kernel-svm", "3", settings=FIXED, grid={})
        plain = evaluate(toy, "set-kernel-svm", "3", settings=FIXED, grid={})
        assert report.table[0].accuracy == plain.table[0].accuracy
        assert set(report.records[0].predicted) <= {"no", "yes"}

    def test_the_report_is_json_data_and_text(self, toy: DataSet) -> None:
        report = evaluate(toy, ["set-kernel-svm", "miles"], "2", grid={"kernel": [RBF(), RBF("median")]})
        plain = json.loads(json.dumps(report.as_dict(), allow_nan=False))
        assert [row["model"] for row in plain["table"]] == ["set-kernel-svm", "miles"]
        assert plain["records"][0]["candidates"][1]["settings"] == ["kernel=rbf(s=median)"]
        assert {fit["point"] for record in plain["records"] for fit in record["fits"]} == {"certified"}
        text = str(report)
        assert "toy, protocol 1x2, seed 0" in text
        assert f"{report.table[0].accuracy:.3f} ± {report.table[0].standard_error:.3f}" in text
        assert report.exit_code == 0


class TestSelection:
    def test_the_chosen_candidate_is_the_clearest_of_the_best(self, toy: DataSet) -> None:
        report = evaluate(toy, "set-kernel-svm", "3", grid={"C": (0.01, 1, 100), "normalise": ("mean", "sum")})
        for record in report.records:
            ranks = [(candidate.correct, candidate.clarity) for candidate in record.candidates]
            assert record.chosen == ranks.index(max(ranks))
            assert len(ranks) == 6
            assert len(record.fits) == 6 * 5 + 1
        assert report.records[0].candidates[1].settings == ("C=0.01", "normalise=sum")

    def test_the_last_name_of_a_grid_varies_fastest(self) -> None:
        assert grid_combinations({"a": (1, 2), "b": (3, 4)})[:2] == [{"a": 1, "b": 3}, {"a": 1, "b": 4}]
        assert grid_combinations({}) == [{}]

    def test_ties_are_broken_by_larger_margins(self) -> None:
        rng, labels = np.random.default_rng(0), np.arange(30) % 2
        bags = as_bags([rng.normal(6 * label, 1, size=(3, 2)) for label in labels])
        weak, strong = {"C": 1.0}, {"C": 100.0}
        selections = [
            select_candidate(SetKernelSVM, {}, grid, bags, labels, 0) for grid in ([weak, strong], [strong, weak])
        ]
        assert [selection.candidates[0].correct for selection in selections] == [30, 30]
        assert selections[0].candidates[selections[0].chosen] == selections[1].candidates[selections[1].chosen]
        clarity = [candidate.clarity for candidate in selections[0].candidates]
        assert selections[0].chosen == int(np.argmax(clarity))

    def test_there_are_fewer_inner_folds_if_a_class_is_small(self) -> None:
        bags = toy_data(count=12).bags
        labels = np.array([0] * 9 + [1] * 3)
        selection = select_candidate(SetKernelSVM, {}, [{"C": 1.0}, {"C": 10.0}], bags, labels, 0)
        assert [fit.fold for fit in selection.fits] == [0, 1, 2, 0, 1, 2]
        with pytest.raises(ParameterError, match="Class 1 has one bag in a training part"):
            select_candidate(SetKernelSVM, {}, [{"C": 1.0}, {"C": 10.0}], bags, np.array([0] * 11 + [1]), 0)

    def test_inner_folds_can_be_drawn_several_times(self, toy: DataSet) -> None:
        report = evaluate(toy, "set-kernel-svm", "2", grid={"C": (1, 10)}, inner_repeats=3)
        record = report.records[0]
        assert len(record.fits) == 2 * 3 * 5 + 1
        assert {candidate.total for candidate in record.candidates} == {3 * (toy.labels.size - len(record.test))}
        with pytest.raises(ParameterError, match="inner_repeats"):
            evaluate(toy, "set-kernel-svm", "2", inner_repeats=0)

    def test_a_candidate_that_cannot_be_fitted_is_rejected_with_the_reason(self, toy: DataSet) -> None:
        report = evaluate(toy, "set-kernel-svm", "2", grid={"C": (-1, 1)})
        for record in report.records:
            assert record.chosen == 1
            assert record.candidates[0].correct is None
            assert record.candidates[0].reason == "C must be a positive number, not -1.0."
        assert "set-kernel-svm: 2 of 4 candidates were rejected; the first, C=-1.0: C must be a" in str(report)

    def test_a_candidate_may_be_the_string_none(self, toy: DataSet) -> None:
        report = evaluate(toy, "set-kernel-svm", "2", grid={"scale": ("none", "minmax01")})
        assert [candidate.reason for candidate in report.records[0].candidates] == ["", ""]
        assert "left out" not in str(report)

    def test_the_task_fails_if_no_candidate_can_be_fitted(self, toy: DataSet) -> None:
        with pytest.raises(ParameterError, match="No candidate of the grid could be fitted; the first one: C must be"):
            evaluate(toy, "set-kernel-svm", "2", grid={"C": (-1, -2)})

    def test_an_empty_grid_selects_nothing(self, toy: DataSet) -> None:
        report = evaluate(toy, "mi-svm", "2", settings=FIXED, grid={})
        assert [len(record.fits) for record in report.records] == [1, 1]

    def test_fixed_settings_are_removed_from_the_grid(self, toy: DataSet) -> None:
        report = evaluate(toy, "set-kernel-svm", "2", settings=FIXED)
        kernels = get_model("set-kernel-svm").grid["kernel"]
        expected = [format_settings({"kernel": kernel}) for kernel in kernels]
        assert [candidate.settings for candidate in report.records[0].candidates] == expected

    def test_settings_are_used_together_with_a_grid(self, toy: DataSet) -> None:
        both = evaluate(toy, "set-kernel-svm", "2", settings={"normalise": "sum"}, grid={"C": (5, 50)})
        of_one_model = evaluate(toy, "set-kernel-svm", "2", grid={"C": (5, 50), "normalise": ("sum",)})
        assert [r.scores for r in both.records] == [r.scores for r in of_one_model.records]
        assert both.records[0].candidates[0].settings == ("C=5.0",)

    def test_by_default_the_models_own_grid_is_searched(self, toy: DataSet) -> None:
        report = evaluate(toy, "set-kernel-svm", "80/20")
        expected = len(grid_combinations(get_model("set-kernel-svm").grid))
        assert len(report.records[0].candidates) == expected


class TestMistakes:
    @pytest.mark.parametrize(
        ("models", "keywords", "message"),
        [
            ("mi-svn", {}, 'No model is called "mi-svn"; did you mean "mi-svm"'),
            ("", {}, "No model is called"),
            ([], {}, "No model was named"),
            ("mi-svm", {"protocol": "ten"}, "is not a protocol"),
            ("mi-svm", {"solver": "ecso"}, 'did you mean "ecos"'),
            ("mi-svm", {"settings": {"c": 1}}, 'No hyper-parameter is called "c" in mi-svm'),
            ("mi-svm", {"grid": {"kernal": [1]}}, 'did you mean "kernel"'),
            ("mi-svm", {"grid": {"C": 3}}, 'The grid of "C" must list at least one value, not 3'),
            ("mi-svm", {"grid": {"C": []}}, 'The grid of "C" must list at least one value'),
            ("mi-svm", {"grid": {"C": "1"}}, 'The grid of "C" must list at least one value'),
            ("mi-svm", {"settings": {"C": 1}, "grid": {"C": [1]}}, '"C" is both in the settings and in the grid'),
            ("mi-svm", {"settings": {"solver": "highs"}}, "give it as `solver`"),
            ("mi-svm", {"settings": {"kernel": np.dot}}, "cannot be written as text"),
            ("mi-svm", {"seed": -1}, "seed must be an integer of at least 0"),
            ("mi-svm", {"n_jobs": 0}, "n_jobs must be"),
            ("mi-svm", {"settings": {"C": -1}}, "C must be a positive number"),
            ("mi-svm", {"settings": {"scale": "big"}}, "scale must be one of"),
            ("miles", {"solver": "libsvm"}, "libsvm cannot solve miles: libsvm only solves C-SVM duals"),
            (SetKernelSVM(C=3.0), {}, r"SetKernelSVM\(...\) is a model object, .* give the class"),
        ],
    )
    def test_mistakes_raise_an_error_before_any_task(
        self, toy: DataSet, models: object, keywords: dict, message: str
    ) -> None:
        called: list[object] = []
        with pytest.raises(MiloptError, match=message):
            evaluate(toy, models, **({"protocol": "2", "progress": lambda *a: called.append(a)} | keywords))
        assert not called

    def test_invalid_data_raise_an_error(self, toy: DataSet) -> None:
        with pytest.raises(ParameterError, match=r"a pair \(bags, labels\), not 3"):
            evaluate(3, "mi-svm")  # type: ignore[arg-type]  # that is the mistake
        with pytest.raises(MiloptError, match="There are 2 labels for 24 bags"):
            evaluate((toy.bags, [0, 1]), "mi-svm")

    def test_a_failed_task_is_reported_and_the_others_finish(self, toy: DataSet, own_file: Path) -> None:
        name = f"{own_file}:FailingModel"
        report = evaluate(toy, name, "6", settings=FIXED, grid={})
        assert 0 < len(report.failures) < 6
        assert len(report.records) == 6 - len(report.failures)
        first = report.failures[0]
        assert str(first) == f"{name}, repeat 1, fold {first.fold + 1} failed: these bags are odd."
        assert str(report).count("these bags are odd") == 1
        assert f"{first} {len(report.failures) - 1} more failed for the same reason." in str(report)
        assert report.exit_code == 2
        assert f"{len(report.records)} of 6" in str(report)

    def test_an_exception_in_a_users_model_is_reported_with_its_line(self, toy: DataSet, own_file: Path) -> None:
        report = evaluate(toy, [f"{own_file}:BrokenModel", "set-kernel-svm"], "2", settings=FIXED, grid={})
        line = own_file.read_text().splitlines().index("        return self.absent") + 1
        assert len(report.failures) == 2
        assert "has no attribute 'absent'" in report.failures[0].reason
        assert f"(own_models.py, line {line})" in report.failures[0].reason
        assert report.table[1].accuracy is not None


class TestTheRest:
    def test_progress_counts_up_to_the_total(self, toy: DataSet, own_file: Path) -> None:
        seen: list[tuple[int, int, object]] = []
        evaluate(
            toy, f"{own_file}:FailingModel", "6", settings=FIXED, grid={}, progress=lambda *values: seen.append(values)
        )
        assert [(done, total) for done, total, _ in seen] == [(k + 1, 6) for k in range(6)]
        assert {type(outcome) for *_, outcome in seen} == {Record, Failure}

    def test_classes_and_names_are_both_models(self, toy: DataSet) -> None:
        by_class = evaluate(toy, [SetKernelSVM, "miles"], "2", settings={"scale": "zscore"}, grid={})
        by_name = evaluate(toy, "set-kernel-svm,miles", "2", settings={"scale": "zscore"}, grid={})
        assert numbers(by_class) == numbers(by_name)

    def test_a_solver_is_checked_for_all_candidates_and_classes(self, toy: DataSet) -> None:
        report = evaluate(toy_data(classes=3), "set-kernel-svm", "2", solver="libsvm", settings=FIXED, grid={})
        assert not report.failures
        assert not evaluate(toy, "miles", "2", solver=("libsvm", "highs"), grid={}).failures

    def test_the_given_solver_is_used(self, toy: DataSet) -> None:
        report = evaluate(toy, "set-kernel-svm", "2", solver="highs", settings=FIXED, grid={})
        assert report.table[0].solvers == ("highs",)
        assert evaluate(toy, "set-kernel-svm", "2", settings=FIXED, grid={}).table[0].solver == "auto"
        fallback = evaluate(toy, "set-kernel-svm", "2", solver=("native", "highs"), settings=FIXED, grid={})
        assert fallback.table[0].solver == "native,highs"

    def test_seeds_make_other_splits_and_the_same_seed_the_same_numbers(self, toy: DataSet) -> None:
        first, again, other = (evaluate(toy, "set-kernel-svm", "3", seed=s, settings=FIXED, grid={}) for s in (0, 0, 1))
        assert numbers(first) == numbers(again)
        assert [r.test for r in first.records] != [r.test for r in other.records]

    def test_the_command_gives_the_same_table(self, toy: DataSet) -> None:
        known = DataSet("musk1", toy.bags, toy.labels, toy.ids, source="embedded")
        report = evaluate(
            known,
            ["set-kernel-svm"],
            "2",
            seed=3,
            solver=("native", "highs"),
            settings={"normalise": "sum"},
            grid={"kernel": [RBF("median"), RBF(0.5)]},
        )
        assert shlex.split(report.command) == [
            *["milopt", "evaluate", "musk1", "--model", "set-kernel-svm", "--protocol", "1x2", "--seed", "3"],
            *["--solver", "native,highs", "--set", "normalise=sum", "--grid", "kernel=rbf(s=median),rbf(s=0.5)"],
        ]
        assert report.command in str(report)
        assert evaluate(known, "miles", "2", grid={}).command == "", "the command line has no empty grid"
        assert evaluate((toy.bags, toy.labels), "miles", "2", settings={"lam": 1.0}, grid={}).command == ""

    def test_an_unknown_data_set_raises_an_error_with_similar_names(self) -> None:
        with pytest.raises((UnknownNameError, MiloptError), match="musk1"):
            evaluate("musk11", "mi-svm")


def test_fits_that_end_in_a_cycle_are_uncertified_but_successful() -> None:
    """The algorithm of the papers may end in a cycle, which is neither certified nor a failure."""
    fixed = {"scheme": "representatives", "kernel": RBF(2.0), "lam": 512.0}
    report = evaluate(toy_data(), "miordm", "4-fold", settings=fixed, grid={})
    fits = [fit for record in report.records for fit in record.fits]
    cycles = sum(fit.termination == "cycle" for fit in fits)
    assert 0 < cycles == report.table[0].uncertified
    assert report.exit_code == 0
    assert f"miordm: {cycles} of the {cycles} uncertified fits ended in a cycle" in str(report)


def test_candidates_with_a_saddle_point_are_rejected_unless_allowed() -> None:
    data = toy_data()
    grid = {"gamma": (0.0, 1000.0), "rho": (1.0,), "kernel": (RBF(1.0),)}
    report = evaluate(data, "safe", "1x2", grid=grid)
    reasons = [candidate.reason for record in report.records for candidate in record.candidates]
    assert reasons[0] == reasons[2] == ""
    assert all("is not convex, and its solution is a saddle" in reason for reason in reasons[1::2])
    assert "safe: 2 of 4 candidates were rejected; the first, gamma=1000" in str(report)
    allowed = evaluate(data, "safe", "1x2", grid=grid, settings={"on_nonconvex": "allow"})
    assert not any(candidate.reason for record in allowed.records for candidate in record.candidates)
    alone = select_candidate(
        get_model("safe"), {}, grid_combinations({"gamma": (1000.0,)}), data.bags, data.labels, seed=0
    )
    assert alone.chosen == 0
