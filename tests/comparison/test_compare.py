"""The comparison: every cell proved on its own, solvers that agree, reasons where a cell cannot be."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import milopt
from milopt.comparison.agreement import agreement
from milopt.comparison.cell import Cell, Sizes
from milopt.comparison.compare import compare
from milopt.comparison.layout import Layout
from milopt.comparison.order import in_good_order
from milopt.comparison.part import Part, Split
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
def here(data: DataSet):
    return compare(data, ["mi-svm", "set-kernel-svm"], SOLVERS, folds=3, n_jobs=1)


def test_there_is_a_cell_for_every_pair_in_order(here) -> None:
    pairs = [(cell.model, cell.solver) for cell in here.cells]
    assert pairs == [(model, solver) for model in ("mi-svm", "set-kernel-svm") for solver in SOLVERS]


def test_a_solver_that_compiles_does_it_first_and_once_while_the_others_work() -> None:
    splits = [Split(fold, np.array([0]), np.array([1])) for fold in range(2)]
    parts = [
        Part(k, "miles", {}, solver, milopt.Options(), 0, split)
        for k, solver in enumerate(("highs", "native", "clarabel"))
        for split in (*splits, None)
    ]
    order = [(part.cell, part.fold) for part in in_good_order(parts)]
    assert order == [(1, 0), (0, 0), (0, 1), (0, -1), (2, 0), (2, 1), (2, -1), (1, 1), (1, -1)]


def test_cells_that_cannot_be_have_the_reason_that_explain_gives(here, data: DataSet) -> None:
    program = milopt.models.MISVM().program(data.bags, data.labels)
    reasons = {one.solver: one.reason for one in milopt.explain(program) if not one.takes}
    refused = {cell.solver: cell.reason for cell in here.cells if cell.model == "mi-svm" and cell.refused}
    assert refused == {solver: reasons[solver] for solver in SOLVERS if solver in reasons}
    assert "libsvm" in refused


def test_every_other_cell_is_certified_and_solved_again_gives_its_objective(here, data: DataSet) -> None:
    ran = [cell for cell in here.cells if not cell.refused]
    assert {("mi-svm", "highs"), ("mi-svm", "clarabel"), ("set-kernel-svm", "libsvm")} <= {
        (cell.model, cell.solver) for cell in ran
    }
    for cell in ran:
        assert cell.certified
        assert cell.certificate is not None
        assert cell.certificate.worst <= 1e-6
        model = milopt.model_registry.get_model(cell.model)(solver=cell.solver, random_state=0)
        assert model.fit(data.bags, data.labels).result_.objective == pytest.approx(cell.objective, rel=1e-9)
    assert [one.agree for one in here.agreements] == [True, True]
    assert here.exit_code == 0


def test_accuracy_is_the_mean_over_stratified_folds(here, data: DataSet) -> None:
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = milopt.models.SetKernelSVM(solver="highs", random_state=0)
    expected = cross_val_score(model, list(data.bags), data.labels, cv=folds)
    cell = next(one for one in here.cells if (one.model, one.solver) == ("set-kernel-svm", "highs"))
    assert cell.accuracies == pytest.approx(expected.tolist())
    assert cell.accuracy == pytest.approx(expected.mean())


def test_two_workers_give_the_numbers_of_one(here, data: DataSet) -> None:
    seen: list[tuple[str, str]] = []
    there = compare(
        data,
        ["mi-svm", "set-kernel-svm"],
        SOLVERS,
        folds=3,
        n_jobs=2,
        on_cell=lambda cell: seen.append((cell.model, cell.solver)),
    )
    assert sorted(seen) == sorted((cell.model, cell.solver) for cell in here.cells)
    for one, two in zip(here.cells, there.cells, strict=True):
        assert (one.objective, one.certificate, one.iterations, one.accuracies) == (
            two.objective,
            two.certificate,
            two.iterations,
            two.accuracies,
        )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_it_with_the_cells_that_are_complete(data: DataSet, n_jobs: int) -> None:
    import signal

    seen: list[Cell] = []

    def interrupt(cell: Cell) -> None:
        seen.append(cell)
        if not cell.refused:
            signal.raise_signal(signal.SIGINT)

    found = compare(data, ["set-kernel-svm"], ["highs", "clarabel", "ecos"], folds=2, n_jobs=n_jobs, on_cell=interrupt)
    assert found.interrupted
    assert found.exit_code == 130
    assert list(found.cells) == seen
    assert len(seen) == 1
    assert "interrupted after 1 of 3 cells" in str(found)


def test_settings_go_to_the_models_that_have_them(data: DataSet) -> None:
    found = compare(data, ["miles", "set-kernel-svm"], ["highs"], folds=2, n_jobs=1, settings={"C": 50.0})
    expected = milopt.models.SetKernelSVM(C=50.0, solver="highs").fit(data.bags, data.labels).result_.objective
    assert found.cells[1].objective == pytest.approx(expected)
    with pytest.raises(ParameterError, match='"nu"'):
        compare(data, ["miles"], ["highs"], folds=2, n_jobs=1, settings={"nu": 0.5})


def test_models_may_be_classes_and_instances(data: DataSet) -> None:
    found = compare(data, [milopt.models.SetKernelSVM(C=5.0)], ["clarabel", "highs"], folds=2, n_jobs=2)
    assert [cell.model for cell in found.cells] == ["set-kernel-svm"] * 2
    assert [cell.reason for cell in found.cells] == [""] * 2


def test_models_of_one_class_are_told_apart(data: DataSet) -> None:
    models = [milopt.models.MILES(lam=0.1), milopt.models.MILES(lam=1.0), "miles", "set-kernel-svm"]
    found = compare(data, models, ["highs", "clarabel"], folds=2, n_jobs=1)
    names = ["miles (lam=0.1)"] * 2 + ["miles (lam=1.0)"] * 2 + ["set-kernel-svm"] * 2
    assert [cell.model for cell in found.cells] == names
    assert found.cells[0].objective != pytest.approx(found.cells[2].objective)
    assert [one.agree for one in found.agreements] == [True] * 3
    assert "miles (lam=1.0)" in str(found)


def test_data_models_and_solvers_may_be_given_as_for_an_evaluation(data: DataSet, tmp_path: Path) -> None:
    expected = compare(data, ["miles"], ["highs", "clarabel"], folds=2, n_jobs=1)
    found = compare((list(data.bags), data.labels), "miles", " highs, clarabel", folds=2, n_jobs=1)
    assert [cell.objective for cell in found.cells] == [cell.objective for cell in expected.cells]
    rows = [f"{k},{data.labels[k]},{x},{y}" for k, bag in enumerate(data.bags) for x, y in bag]
    (path := tmp_path / "small.csv").write_text("\n".join(["bag,label,x,y", *rows]))
    assert compare(path, milopt.models.MILES, "highs", folds=2, n_jobs=1).cells[0].certified


def test_a_killed_process_fails_its_cell_alone(data: DataSet, tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(
        "import os, signal\nfrom milopt.models import SetKernelSVM\n\n\nclass Dying(SetKernelSVM):\n"
        "    def declare(self, bags, y, weight):\n"
        f"        if self.solver == 'highs' and os.getpid() != {os.getpid()}:\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n        return super().declare(bags, y, weight)\n"
    )
    found = compare(data, ["miles", f"{tmp_path}/dying.py:Dying"], "highs,clarabel", folds=2, n_jobs=2)
    assert len(found.cells) == 4
    assert [bool(cell.reason) for cell in found.cells] == [False, False, True, False]
    assert "its process was killed" in str(found)
    assert [cell.certified for cell in found.cells] == [True, True, False, True]
    assert found.exit_code == 1


def test_a_cell_that_fails_leaves_the_others(data: DataSet, monkeypatch) -> None:
    from milopt.solvers.clarabel import Clarabel

    def broken(self: object, form: object, options: object) -> None:
        raise RuntimeError("no luck")

    monkeypatch.setattr(Clarabel, "engine", broken)
    found = compare(data, ["set-kernel-svm"], ["clarabel", "highs"], folds=2, n_jobs=1)
    assert "no luck" in found.cells[0].reason
    assert found.cells[0].objective is None
    assert found.cells[1].certified
    assert found.exit_code == 3
    assert "no luck" in str(found)


def test_a_solver_that_is_not_installed_is_a_cell_that_cannot_be(data: DataSet, monkeypatch) -> None:
    from milopt.solvers.ecos.solver import ECOS
    from milopt.solving.solver import Availability

    monkeypatch.setattr(ECOS, "availability", lambda self: Availability(False, None, "pip install ecos"))
    found = compare(data, ["set-kernel-svm"], ["ecos", "highs"], folds=2, n_jobs=1)
    assert found.cells[0].refused
    assert "pip install ecos" in found.cells[0].reason
    assert found.exit_code == 0


def test_several_classes_are_one_cell(data: DataSet) -> None:
    labels = np.arange(12) % 3
    three = DataSet("three", data.bags, labels, data.ids)
    cell = compare(three, ["set-kernel-svm"], ["highs"], folds=2, n_jobs=1).cells[0]
    model = milopt.models.SetKernelSVM(solver="highs", random_state=0).fit(data.bags, labels)
    assert cell.objective == pytest.approx(sum(one.objective for one in model.results_))
    assert cell.certified


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
        ({"settings": {"solver": "ecos"}}, ParameterError, '"solver" is no hyper-parameter to set.*`solvers`'),
        ({"settings": {"random_state": 3}}, ParameterError, "`seed`"),
        ({"settings": {"options": None}}, ParameterError, "`options`"),
        ({"data": 3}, ParameterError, "pair"),
    ],
)
def test_mistakes_are_told_before_any_work(data: DataSet, arguments, error, words) -> None:
    with pytest.raises(error, match=words):
        compare(**{"data": data, "models": ["set-kernel-svm"], "solvers": ["highs"], "n_jobs": 1, **arguments})


def cell(solver: str, objective: float | None, point: str = "certified", termination: str = "optimal") -> Cell:
    proof = Certificate(1e-9, 2e-9, 3e-9, 0.0, 0.0)
    return Cell("m", solver, Sizes("QP", 3, 4, 0), False, "", termination, point, objective, proof, 5, 0.1, (0.5,))


def test_the_odd_one_out_is_named_and_not_the_others() -> None:
    verdict = agreement("m", [cell("odd", 10.1), cell("a", 10.0), cell("b", 10.0 + 1e-6)])
    assert verdict.agree is False
    assert [solver for solver, _ in verdict.differs] == ["odd"]
    assert verdict.differs[0][1] == pytest.approx(0.01)
    assert "odd by 1.0e-02" in str(verdict)


def test_only_certified_points_have_a_say() -> None:
    verdict = agreement("m", [cell("a", 1.0), cell("b", 5.0, point="feasible", termination="limit")])
    assert verdict.agree is None
    assert agreement("m", []).agree is None
    assert agreement("m", [cell("a", 1e9), cell("b", 1e9 + 100)]).agree is True


def test_stationary_points_may_differ_and_that_is_said() -> None:
    verdict = agreement("m", [cell("a", 1.0, termination="stationary"), cell("b", 2.0, termination="stationary")])
    assert "another stationary point" in str(verdict)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_the_table_fits_the_page(here, width: int) -> None:
    layout = Layout([one.model for one in here.cells], [one.solver for one in here.cells], width)
    lines = layout.header() + [line for one in here.cells for line in layout.row(one)]
    lines += [line for verdict in here.agreements for line in layout.verdict(verdict)]
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for one in here.cells:
        assert one.sizes.width in text
        assert one.refused or f"{one.objective:.8g}" in text


def test_an_unproved_point_is_marked() -> None:
    unproved = cell("a", 1.0, point="feasible", termination="stalled")
    layout = Layout(["m"], ["a"])
    assert "3.0e-09 !" in layout.row(unproved)[0]
    assert any("certificate does not hold" in line for line in layout.remarks([unproved]))
    assert "!" not in "".join(Layout(["m"], ["a"]).row(cell("a", 1.0)))


def test_it_prints_as_the_table(here) -> None:
    text = str(here)
    assert text.splitlines()[0].split()[:3] == ["formulation", "solver", "kind"]
    assert text.count(" solvers agree, to ") == 2
