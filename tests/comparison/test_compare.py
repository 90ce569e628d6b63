"""Comparison of models and solvers: certified cells, agreement of the solvers, reasons why a cell is not run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import milopt
from milopt.comparison.agreement import compare_objectives
from milopt.comparison.cell import ComparisonCell, ProgramSizes
from milopt.comparison.compare import compare
from milopt.comparison.comparison import Comparison
from milopt.comparison.fit_task import FitTask, FoldSplit
from milopt.comparison.layout import ComparisonLayout
from milopt.comparison.task_order import order_tasks
from milopt.data import DataSet
from milopt.errors import ParameterError, UnknownNameError
from milopt.outcome.certificate import Certificate


@pytest.fixture(scope="module")
def data() -> DataSet:
    """Twelve small bags in the plane."""
    rng = np.random.default_rng(3)
    labels = np.arange(12) % 2
    bags = milopt.as_bags([rng.normal(1.5 * label, 1.0, (3, 2)) for label in labels])
    return DataSet("small", bags, labels, tuple(map(str, range(12))))


SOLVERS = ("highs", "clarabel", "libsvm", "native")


@pytest.fixture(scope="module")
def comparison(data: DataSet):
    return compare(data, ["mi-svm", "set-kernel-svm"], SOLVERS, folds=3, n_jobs=1)


def test_there_is_one_cell_per_model_and_solver_in_order(comparison) -> None:
    pairs = [(cell.model, cell.solver) for cell in comparison.cells]
    assert pairs == [(model, solver) for model in ("mi-svm", "set-kernel-svm") for solver in SOLVERS]


def test_compilation_starts_after_the_first_cell_and_once_per_compiling_cell() -> None:
    splits = [FoldSplit(fold, np.array([0]), np.array([1])) for fold in range(2)]
    tasks = [
        FitTask(k, "miles", {}, solver, milopt.Options(), 0, split)
        for k, solver in enumerate(("highs", "native", "clarabel"))
        for split in (*splits, None)
    ]
    order = [(task.cell, task.fold) for task in order_tasks(tasks)]
    assert order == [(0, 0), (0, 1), (0, -1), (1, 0), (2, 0), (2, 1), (2, -1), (1, 1), (1, -1)]


def test_unsupported_cells_have_the_reason_of_explain(comparison, data: DataSet) -> None:
    program = milopt.models.MISVM().program(data.bags, data.labels)
    reasons = {row.solver: row.reason for row in milopt.explain(program) if not row.supports}
    not_run = {cell.solver: cell.reason for cell in comparison.cells if cell.model == "mi-svm" and cell.is_not_run}
    assert not_run == {solver: reasons[solver] for solver in SOLVERS if solver in reasons}
    assert "libsvm" in not_run


def test_supported_cells_are_certified_and_refitting_gives_the_same_objective(comparison, data: DataSet) -> None:
    completed = [cell for cell in comparison.cells if not cell.is_not_run]
    assert {("mi-svm", "highs"), ("mi-svm", "clarabel"), ("set-kernel-svm", "libsvm")} <= {
        (cell.model, cell.solver) for cell in completed
    }
    for cell in completed:
        assert cell.is_certified
        assert cell.certificate is not None
        assert cell.certificate.worst <= 1e-6
        model = milopt.model_registry.get_model(cell.model)(solver=cell.solver, random_state=0)
        assert model.fit(data.bags, data.labels).result_.objective == pytest.approx(cell.objective, rel=1e-9)
    assert [agreement.agree for agreement in comparison.agreements] == [True, True]
    assert comparison.exit_code == 0


def test_accuracy_is_the_mean_over_stratified_folds(comparison, data: DataSet) -> None:
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = milopt.models.SetKernelSVM(solver="highs", random_state=0)
    expected = cross_val_score(model, list(data.bags), data.labels, cv=folds)
    cell = next(cell for cell in comparison.cells if (cell.model, cell.solver) == ("set-kernel-svm", "highs"))
    assert cell.accuracies == pytest.approx(expected.tolist())
    assert cell.accuracy == pytest.approx(expected.mean())


def test_two_processes_give_the_same_numbers_as_one(comparison, data: DataSet) -> None:
    seen: list[tuple[str, str]] = []
    parallel = compare(
        data,
        ["mi-svm", "set-kernel-svm"],
        SOLVERS,
        folds=3,
        n_jobs=2,
        on_cell=lambda cell: seen.append((cell.model, cell.solver)),
    )
    assert sorted(seen) == sorted((cell.model, cell.solver) for cell in comparison.cells)
    for first, second in zip(comparison.cells, parallel.cells, strict=True):
        assert (first.objective, first.certificate, first.iterations, first.accuracies) == (
            second.objective,
            second.certificate,
            second.iterations,
            second.accuracies,
        )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_the_finished_cells(data: DataSet, n_jobs: int) -> None:
    import signal

    seen: list[ComparisonCell] = []

    def interrupt(cell: ComparisonCell) -> None:
        seen.append(cell)
        if not cell.is_not_run:
            signal.raise_signal(signal.SIGINT)

    comparison = compare(
        data, ["set-kernel-svm"], ["highs", "clarabel", "ecos"], folds=2, n_jobs=n_jobs, on_cell=interrupt
    )
    assert comparison.interrupted
    assert comparison.exit_code == 130
    assert list(comparison.cells) == seen
    assert len(seen) == 1
    assert "interrupted after 1 of 3 cells" in str(comparison)


def test_settings_apply_to_the_models_that_have_them(data: DataSet) -> None:
    comparison = compare(data, ["miles", "set-kernel-svm"], ["highs"], folds=2, n_jobs=1, settings={"C": 50.0})
    expected = milopt.models.SetKernelSVM(C=50.0, solver="highs").fit(data.bags, data.labels).result_.objective
    assert comparison.cells[1].objective == pytest.approx(expected)
    with pytest.raises(ParameterError, match='"nu"'):
        compare(data, ["miles"], ["highs"], folds=2, n_jobs=1, settings={"nu": 0.5})


def test_models_may_be_classes_and_instances(data: DataSet) -> None:
    comparison = compare(data, [milopt.models.SetKernelSVM(C=5.0)], ["clarabel", "highs"], folds=2, n_jobs=2)
    assert [cell.model for cell in comparison.cells] == ["set-kernel-svm"] * 2
    assert [cell.reason for cell in comparison.cells] == [""] * 2


def test_models_of_one_class_get_unique_names(data: DataSet) -> None:
    models = [milopt.models.MILES(lam=0.1), milopt.models.MILES(lam=1.0), "miles", "set-kernel-svm"]
    comparison = compare(data, models, ["highs", "clarabel"], folds=2, n_jobs=1)
    names = ["miles (lam=0.1)"] * 2 + ["miles (lam=1.0)"] * 2 + ["set-kernel-svm"] * 2
    assert [cell.model for cell in comparison.cells] == names
    assert comparison.cells[0].objective != pytest.approx(comparison.cells[2].objective)
    assert [agreement.agree for agreement in comparison.agreements] == [True] * 3
    assert "miles (lam=1.0)" in str(comparison)


def test_data_models_and_solvers_have_the_same_forms_as_in_evaluate(data: DataSet, tmp_path: Path) -> None:
    expected = compare(data, ["miles"], ["highs", "clarabel"], folds=2, n_jobs=1)
    comparison = compare((list(data.bags), data.labels), "miles", " highs, clarabel", folds=2, n_jobs=1)
    assert [cell.objective for cell in comparison.cells] == [cell.objective for cell in expected.cells]
    rows = [f"{k},{data.labels[k]},{x},{y}" for k, bag in enumerate(data.bags) for x, y in bag]
    (path := tmp_path / "small.csv").write_text("\n".join(["bag,label,x,y", *rows]))
    assert compare(path, milopt.models.MILES, "highs", folds=2, n_jobs=1).cells[0].is_certified


def test_a_killed_process_fails_only_its_cell(data: DataSet, tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(
        "import os, signal\nfrom milopt.models import SetKernelSVM\n\n\nclass Dying(SetKernelSVM):\n"
        "    def declare(self, bags, y, weight):\n"
        f"        if self.solver == 'highs' and os.getpid() != {os.getpid()}:\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n        return super().declare(bags, y, weight)\n"
    )
    comparison = compare(data, ["miles", f"{tmp_path}/dying.py:Dying"], "highs,clarabel", folds=2, n_jobs=2)
    assert len(comparison.cells) == 4
    assert [bool(cell.reason) for cell in comparison.cells] == [False, False, True, False]
    assert "the worker process was killed" in str(comparison)
    assert [cell.is_certified for cell in comparison.cells] == [True, True, False, True]
    assert comparison.exit_code == 1


def test_a_failed_cell_does_not_affect_the_others(data: DataSet, monkeypatch) -> None:
    from milopt.solvers.clarabel import Clarabel

    def broken(self: object, form: object, options: object) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr(Clarabel, "engine", broken)
    comparison = compare(data, ["set-kernel-svm"], ["clarabel", "highs"], folds=2, n_jobs=1)
    assert "no luck" in comparison.cells[0].reason
    assert comparison.cells[0].objective is None
    assert comparison.cells[1].is_certified
    assert comparison.exit_code == 3
    assert "no luck" in str(comparison)


def test_a_solver_that_is_not_installed_is_not_run(data: DataSet, monkeypatch) -> None:
    from milopt.solvers.ecos.solver import ECOS
    from milopt.solving.solver import Availability

    monkeypatch.setattr(ECOS, "availability", lambda self: Availability(False, None, "pip install ecos"))
    comparison = compare(data, ["set-kernel-svm"], ["ecos", "highs"], folds=2, n_jobs=1)
    assert comparison.cells[0].is_not_run
    assert "pip install ecos" in comparison.cells[0].reason
    assert comparison.exit_code == 0


def test_several_classes_are_one_cell(data: DataSet) -> None:
    labels = np.arange(12) % 3
    three = DataSet("three", data.bags, labels, data.ids)
    cell = compare(three, ["set-kernel-svm"], ["highs"], folds=2, n_jobs=1).cells[0]
    model = milopt.models.SetKernelSVM(solver="highs", random_state=0).fit(data.bags, labels)
    assert cell.objective == pytest.approx(sum(result.objective for result in model.results_))
    assert cell.is_certified


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"folds": 1}, ParameterError, "folds"),
        ({"folds": 7}, ParameterError, "class"),
        ({"n_jobs": 0}, ParameterError, "n_jobs"),
        ({"solvers": []}, ParameterError, "no solver"),
        ({"solvers": ["hihgs"]}, UnknownNameError, "highs"),
        ({"models": ["milse"]}, UnknownNameError, "miles"),
        ({"models": []}, ParameterError, "no model"),
        ({"seed": -1}, ParameterError, "seed must be an integer of at least 0"),
        ({"settings": {"solver": "ecos"}}, ParameterError, '"solver" cannot be set in `settings`.*`solvers`'),
        ({"settings": {"random_state": 3}}, ParameterError, "`seed`"),
        ({"settings": {"options": None}}, ParameterError, "`options`"),
        ({"data": 3}, ParameterError, "pair"),
    ],
)
def test_mistakes_raise_errors_before_any_fit(data: DataSet, arguments, error, words) -> None:
    with pytest.raises(error, match=words):
        compare(**{"data": data, "models": ["set-kernel-svm"], "solvers": ["highs"], "n_jobs": 1, **arguments})


def cell(
    solver: str, objective: float | None, point: str = "certified", termination: str = "optimal"
) -> ComparisonCell:
    proof = Certificate(1e-9, 2e-9, 3e-9, 0.0, 0.0)
    sizes = ProgramSizes("QP", 3, 4, 0)
    return ComparisonCell("m", solver, sizes, False, "", termination, point, objective, proof, 5, 0.1, (0.5,))


def test_the_solver_that_differs_from_most_others_is_reported() -> None:
    agreement = compare_objectives("m", [cell("odd", 10.1), cell("a", 10.0), cell("b", 10.0 + 1e-6)])
    assert agreement.agree is False
    assert [solver for solver, _ in agreement.differs] == ["odd"]
    assert agreement.differs[0][1] == pytest.approx(0.01)
    assert "odd by 1.0e-02" in str(agreement)


def test_only_certified_points_are_compared() -> None:
    agreement = compare_objectives("m", [cell("a", 1.0), cell("b", 5.0, point="feasible", termination="limit")])
    assert agreement.agree is None
    assert compare_objectives("m", []).agree is None
    assert compare_objectives("m", [cell("a", 1e9), cell("b", 1e9 + 100)]).agree is True


def test_different_stationary_points_are_reported() -> None:
    agreement = compare_objectives(
        "m", [cell("a", 1.0, termination="stationary"), cell("b", 2.0, termination="stationary")]
    )
    assert "b and a found different stationary points" in str(agreement)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_the_table_fits_the_page(comparison, width: int) -> None:
    layout = ComparisonLayout(
        [cell.model for cell in comparison.cells], [cell.solver for cell in comparison.cells], width
    )
    lines = layout.header() + [line for cell in comparison.cells for line in layout.row(cell)]
    lines += [line for agreement in comparison.agreements for line in layout.summary(agreement)]
    lines += layout.notes(comparison.cells)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for cell in comparison.cells:
        assert cell.sizes.columns_text in text
        assert cell.is_not_run or f"{cell.objective:.8g}" in text


def test_an_uncertified_point_is_marked() -> None:
    uncertified = cell("a", 1.0, point="feasible", termination="stalled")
    layout = ComparisonLayout(["m"], ["a"])
    assert "3.0e-09 !" in layout.row(uncertified)[0]
    assert any("certificate does not hold" in line for line in layout.notes([uncertified]))
    assert "!" not in "".join(ComparisonLayout(["m"], ["a"]).row(cell("a", 1.0)))


def test_a_comparison_prints_as_a_table(comparison) -> None:
    text = str(comparison)
    assert text.splitlines()[0].split()[:3] == ["formulation", "solver", "kind"]
    assert text.count(" solvers agree: relative difference at most ") == 2


def test_reasons_are_numbered_notes_of_one_line(comparison) -> None:
    lines = str(comparison).splitlines()
    rows = [line for line in lines if "not supported [" in line]
    notes = [line for line in lines if line.startswith("[")]
    assert len(rows) == sum(cell.is_not_run for cell in comparison.cells)
    assert [note.split()[0] for note in notes] == [f"[{k + 1}]" for k in range(len(notes))]
    assert all(row.rsplit(maxsplit=1)[1] in {note.split()[0] for note in notes} for row in rows)
    assert max(map(len, lines)) <= 120


def test_a_long_reason_is_cut_after_a_clause_on_a_wide_page_and_wrapped_on_a_narrow_one() -> None:
    reason = "; ".join(["the first clause of the reason has fifty characters"] * 3)
    not_run = ComparisonCell("m", "a", ProgramSizes("QP", 3, 4, 0), True, reason)
    wide, narrow = ComparisonLayout(["m"], ["a"], 120), ComparisonLayout(["m"], ["a"], 80)
    assert wide.row(not_run)[-1].endswith("not supported [1]")
    assert wide.notes([not_run])[0] == f"[1] a: {'; '.join(reason.split('; ')[:2])} ..."
    narrow.row(not_run)
    assert " ".join(" ".join(narrow.notes([not_run])).split()) == f"[1] a: {reason}"


def test_slow_solvers_are_skipped_unless_they_are_named(data: DataSet) -> None:
    skipped = {cell.solver for cell in compare(data, "mi-svm", folds=2, n_jobs=1).cells if cell.skipped}
    assert skipped == {"ecos"}
    (cell,) = compare(data, "mi-svm", "ecos", folds=2, n_jobs=1).cells
    assert cell.is_certified
    assert not cell.skipped


def test_compilation_is_shown_and_not_part_of_the_seconds() -> None:
    compiled = replace(cell("native", 1.0), jit_seconds=12.3)
    table = Comparison("small", "", 2, 0, {}, (cell("highs", 1.0), compiled), 2, False, 20.0)
    assert "compilation of native code: 12.3 s" in str(table)
    assert table.as_dict()["jit_seconds"] == 12.3
    assert "compilation" not in str(replace(table, cells=table.cells[:1]))
