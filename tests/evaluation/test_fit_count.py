"""An evaluation counts its fits, in this process and in others, also if candidates are rejected or tasks fail."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from milopt.data.data_set import DataSet
from milopt.evaluation.evaluate import evaluate

GRID = {"C": (1.0, 10.0)}


def counts(data: object, models: object, protocol: str, **keywords: object) -> list[tuple[int, int]]:
    """Return the pairs (done, total) with which `on_fit` is called."""
    seen: list[tuple[int, int]] = []
    evaluate(data, models, protocol, on_fit=lambda done, total: seen.append((done, total)), **keywords)
    return seen


def test_every_fit_of_the_selection_and_every_last_fit_is_counted(toy: DataSet) -> None:
    report = evaluate(toy, "set-kernel-svm", "2", grid=GRID)
    seen = counts(toy, "set-kernel-svm", "2", grid=GRID)
    total = report.table[0].fits
    assert total == 2 * (2 * 5 + 1)
    assert seen == [(done, total) for done in range(total + 1)]


def test_without_a_grid_there_is_one_fit_per_task(toy: DataSet) -> None:
    assert counts(toy, "set-kernel-svm", "3", grid={}) == [(done, 3) for done in range(4)]


def test_repetitions_of_the_inner_folds_and_several_models_are_counted(toy: DataSet) -> None:
    seen = counts(toy, "set-kernel-svm,mi-svm", "2", grid=GRID, inner_repeats=2)
    assert seen[-1] == (total := 2 * 2 * (2 * 5 * 2 + 1), total)


def test_fits_of_a_rejected_candidate_and_of_a_failed_task_count_as_done(toy: DataSet, own_file: Path) -> None:
    seen = counts(toy, f"{own_file}:FailingModel", "6", grid=GRID)
    assert seen[-1][0] == seen[-1][1] == 6 * (2 * 5 + 1)
    assert all(before[0] < after[0] for before, after in pairwise(seen))


def test_fits_in_other_processes_are_counted_while_tasks_run(toy: DataSet, own_file: Path) -> None:
    seen = counts(toy, f"{own_file}:SlowModel", "2", grid=GRID, settings={"pause": 0.1}, n_jobs=2)
    assert seen[0] == (0, 22)
    assert seen[-1] == (22, 22)
    assert any(0 < done < 11 for done, _ in seen), "no fit was counted before the first task ended"


def test_stored_tasks_are_done_at_the_start(toy: DataSet, tmp_path: Path) -> None:
    evaluate(toy, "set-kernel-svm", "2", grid=GRID, store=tmp_path)
    assert counts(toy, "set-kernel-svm", "2", grid=GRID, store=tmp_path) == [(22, 22)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_several_data_sets_are_counted_together(toy: DataSet, jobs: int) -> None:
    other = DataSet("other", toy.bags, toy.labels, toy.ids)
    seen = counts([toy, other], "set-kernel-svm", "2", grid={}, n_jobs=jobs)
    assert (seen[0], seen[-1]) == ((0, 4), (4, 4))
