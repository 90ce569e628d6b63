"""A live HiGHS model of a flat program: built once, then edited in place, so that its simplex basis survives.

Rows go in as  -g <= F x <= -g  (zero cone) or  -g <= F x  (non-negative), so `row_dual` is milopt's z as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.compilation.bridges.idle_rows import HUGE_OFFSET
from milopt.compilation.standard_form import StandardForm
from milopt.cones import ZERO
from milopt.errors import ParameterError, SolverError
from milopt.interrupt import Ended, noted_interrupt, run_interruptible
from milopt.solving.engine import Change, What
from milopt.solving.options import Options

DUAL, PRIMAL = 1, 4
"""HiGHS's numbers for its simplex methods."""
PATIENCE = 0.5
"""Seconds for which a warm simplex runs without being asked about Ctrl-C."""
FEW_COEFFICIENTS = 2000
"""Up to so many are changed one by one; more are cheaper to pass anew with the whole model."""


@dataclass(frozen=True)
class Run:
    """What one run left: HiGHS's own status name, the point and row duals where valid, and counts."""

    status: str
    x: Vector | None = None
    z: Vector | None = None
    bound: float = -np.inf
    iterations: int = 0


class HighsModel:
    """One `Highs` object and the edits that milopt makes to it."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        self.options = options
        self.log: list[str] = []
        self._stop = self.interrupted = False
        self._keeps_feasible = False
        """The last change left the basis primal feasible: the primal simplex goes on from it, else the dual one."""
        self.starts_with_hipo = False
        """Its interior-point method has helped out before: programs that come after one another are alike."""
        self._build(form)

    # -- edits ---------------------------------------------------------------------------------------------------

    def apply(self, form: StandardForm, change: Change) -> bool:
        """Become a model of `form`, of which `change` says what is new; False when it had to be built again.

        An edit returns False where it cannot be made in place.
        """
        edit = {
            What.LINEAR: self._linear,
            What.OFFSET: self._offset,
            What.BOUNDS: self._bounds,
            What.ROWS_ADDED: self._add_rows,
            What.ROWS_REPLACED: self._replace_rows,
            What.ROWS_DELETED: self._delete_rows,
            What.COLUMNS_ADDED: self._add_columns,
        }.get(change.what)
        index = np.zeros(0, dtype=np.intp) if change.index is None else change.index
        self._keeps_feasible = change.what in (What.LINEAR, What.COLUMNS_ADDED)
        if edit is not None and edit(form, index):
            self.form = form
            return True
        same_size = (form.n, form.m) == (self.form.n, self.form.m)
        basis = self._highs.getBasis()
        self._build(form)
        if same_size and basis.valid:
            self._set_basis(basis.col_status, basis.row_status)
        return False

    def set_costs(self, q: Vector) -> None:
        """Give the columns these linear costs."""
        self._check(self._highs.changeColsCost(q.size, _first(q.size), q), "costs")

    def _linear(self, form: StandardForm, index: Index) -> bool:
        self.set_costs(form.q)
        return True

    def _offset(self, form: StandardForm, index: Index) -> bool:
        lower, upper = _row_bounds(form, 0)
        self._check(self._highs.changeRowsBounds(form.m, _first(form.m), lower, upper), "row bounds")
        return True

    def _bounds(self, form: StandardForm, index: Index) -> bool:
        at = index.astype(np.int32)
        self._check(self._highs.changeColsBounds(at.size, at, form.lower[index], form.upper[index]), "column bounds")
        return True

    def _add_rows(self, form: StandardForm, index: Index) -> bool:
        start, F = self.form.m, form.F
        lower, upper = _row_bounds(form, start)
        first = F.indptr[start]
        starts, columns, values = F.indptr[start:-1] - first, F.indices[first:], F.data[first:]
        self._check(self._highs.addRows(lower.size, lower, upper, values.size, starts, columns, values), "rows")
        return True

    def _replace_rows(self, form: StandardForm, index: Index) -> bool:
        new = sp.csr_array(form.F[index])
        differs = sp.coo_array(new - self.form.F[index])
        if differs.nnz > FEW_COEFFICIENTS:
            return False
        row, column = differs.coords
        # scipy gives a sparse array, not numbers, for no entries at all.
        values = new[row, column].tolist() if row.size else []
        for i, j, value in zip(index[row].tolist(), column.tolist(), values, strict=True):
            self._check(self._highs.changeCoeff(i, j, value), "coefficients")
        lower, upper = _row_bounds(form, 0)
        i32 = index.astype(np.int32)
        self._check(self._highs.changeRowsBounds(i32.size, i32, lower[index], upper[index]), "row bounds")
        return True

    def _delete_rows(self, form: StandardForm, index: Index) -> bool:
        basis = self._highs.getBasis()
        self._check(self._highs.deleteRows(index.size, np.sort(index).astype(np.int32)), "rows")
        if basis.valid:
            self._set_basis(basis.col_status, _without(basis.row_status, index))
        return True

    def _add_columns(self, form: StandardForm, index: Index) -> bool:
        start = self.form.n
        if start == 0 or not form.P.is_zero:
            return False
        added = sp.csc_array(form.F[:, start:])
        k = form.n - start
        status = self._highs.addCols(
            k,
            form.q[start:],
            form.lower[start:],
            form.upper[start:],
            added.nnz,
            added.indptr[:-1],
            added.indices,
            added.data,
        )
        self._check(status, "columns")
        self._set_integrality(form, start)
        return True

    def _set_basis(self, columns: list[Any], rows: list[Any]) -> None:
        """Start the next run here. Deletions may leave too many or too few basic: HiGHS repairs an alien basis."""
        import highspy

        basis = highspy.HighsBasis()
        basis.valid = basis.alien = True
        basis.col_status, basis.row_status = columns, rows
        self._warm = self._linear_program and self._highs.setBasis(basis) != highspy.HighsStatus.kError

    # -- building ------------------------------------------------------------------------------------------------

    def _build(self, form: StandardForm) -> None:
        import highspy

        self.form = form
        self._highs: Any = highspy.Highs()
        self._linear_program = form.P.is_zero and not form.integer.any()
        self._warm = False
        self._turned: dict[str, object] = {}
        self._incumbent: Run | None = None
        self._set_options()
        n = form.n
        no_entries = np.zeros(n, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)
        self._check(self._highs.addCols(n, form.q, form.lower, form.upper, 0, *no_entries), "columns")
        self._set_integrality(form, 0)
        lower, upper = _row_bounds(form, 0)
        F = form.F
        self._check(self._highs.addRows(form.m, lower, upper, F.nnz, F.indptr[:-1], F.indices, F.data), "rows")
        if not form.P.is_zero:
            starts, rows, values = form.P.lower_triangle()
            kind = int(highspy.HessianFormat.kTriangular)
            status = self._highs.passHessian(n, values.size, kind, starts, rows, values)
            self._check(status, "quadratic objective")

    def _set_integrality(self, form: StandardForm, start: int) -> None:
        integer = start + np.flatnonzero(form.integer[start:]).astype(np.int32)
        if integer.size:
            kinds = np.ones(integer.size, dtype=np.uint8)
            self._check(self._highs.changeColsIntegrality(integer.size, integer, kinds), "integer columns")

    def _set_options(self) -> None:
        options, highs = self.options, self._highs
        feasibility = float(np.clip(1e-3 * options.tolerance, 1e-10, 1e-7))
        for name, value in {
            "output_flag": options.verbose,
            "log_to_console": False,
            "threads": int(options.threads),
            "primal_feasibility_tolerance": feasibility,
            # The quadratic solver breaks down where less is asked of the duals.
            "dual_feasibility_tolerance": feasibility if self.form.P.is_zero else 1e-7,
            **iteration_limits(self.form),
            "mip_feasibility_tolerance": 10 * feasibility,
            "mip_rel_gap": 0.1 * options.tolerance,
            "mip_abs_gap": 0.1 * options.tolerance,
            # Coefficients below it are dropped, and the program solved is then another one.
            "small_matrix_value": 1e-12,
            **options.extra,
        }.items():
            self.set_option(name, value)
        for event in (highs.cbIpmInterrupt, highs.cbMipInterrupt):
            event.subscribe(self._asked)
        if self.form.integer.any():
            highs.cbMipImprovingSolution.subscribe(self._improved)
        self._asks = False
        if options.verbose:
            highs.cbLogging.subscribe(lambda event: self.log.append(event.message))

    def set_option(self, name: str, value: object) -> None:
        """Set an option; `ParameterError` when HiGHS does not take it."""
        _set_option(self._highs, name, value, "HiGHS")

    def can_set(self, name: str, value: object) -> bool:
        """Set an option if HiGHS takes it, and say whether it did."""
        return bool(self._highs.setOptionValue(name, value).name != "kError")

    def _check(self, status: Any, what: str) -> None:
        if status.name == "kError":
            raise SolverError(f"HiGHS did not take the {what} of {self.form.name!r}; look for NaN or huge numbers.")

    # -- running -------------------------------------------------------------------------------------------------

    def run(self, time_limit: float | None) -> Run:
        """Solve within so many seconds; Ctrl-C ends it with the status `kInterrupt`."""
        highs = self._highs
        if self._linear_program and "presolve" not in self.options.extra:
            self._turn("presolve", "off" if self._warm else "choose")
        self._stop = False
        self._ask(not self._warm)
        if self._warm:
            self._run_warm(time_limit)
        else:
            self._limit(time_limit)
            self._incumbent = None
            if run_interruptible(self._run, self._request_stop) is Ended.ABANDONED:
                kept = self._incumbent
                self._build(self.form)
                return kept or Run("kInterrupt")
        info, solution = highs.getInfo(), highs.getSolution()
        self._warm = self._linear_program and info.basis_validity == 1
        counts = info.simplex_iteration_count, info.ipm_iteration_count, info.qp_iteration_count
        status = highs.getModelStatus().name
        if not solution.value_valid and self._incumbent is not None:
            return replace(self._incumbent, status=status, bound=info.mip_dual_bound)
        return Run(
            status=status,
            x=np.array(solution.col_value) if solution.value_valid else None,
            z=np.array(solution.row_dual) if solution.dual_valid else None,
            bound=info.mip_dual_bound,
            iterations=sum(max(0, count) for count in counts),
        )

    def _run_warm(self, time_limit: float | None) -> None:
        """A warm simplex is mostly done before anyone could press Ctrl-C; else it asks back at every iteration."""
        highs = self._highs
        if "simplex_strategy" not in self.options.extra:
            self._turn("simplex_strategy", PRIMAL if self._keeps_feasible else DUAL)
        patient = time_limit is None or time_limit > PATIENCE
        self._limit(PATIENCE if patient else time_limit)
        with noted_interrupt(self._request_stop):
            self._run()
            if not patient or self._stop or highs.getModelStatus().name != "kTimeLimit":
                return
            self._limit(None if time_limit is None else time_limit - PATIENCE)
            self._ask(True)
            self._run()

    def _limit(self, seconds: float | None) -> None:
        """Of the next run alone: HiGHS's clock runs on from run to run."""
        self.set_option("time_limit", np.inf if seconds is None else self._highs.getRunTime() + max(seconds, 0.0))

    def _turn(self, name: str, value: object) -> None:
        """Set an option that is seldom another than before."""
        if self._turned.get(name) != value:
            self.set_option(name, value)
            self._turned[name] = value

    def _run(self) -> None:
        import highspy

        # HiGHS keeps one team of threads a Python thread, and fails when asked for a team of another size.
        if self._highs.run() == highspy.HighsStatus.kError:
            highspy.Highs.resetGlobalScheduler(True)
            self._highs.run()

    def _ask(self, wanted: bool) -> None:
        """Whether the simplex method is to ask at every iteration if it should stop; each question costs."""
        if wanted != self._asks:
            event = self._highs.cbSimplexInterrupt
            (event.subscribe if wanted else event.unsubscribe)(self._asked)
            self._asks = wanted

    def _improved(self, event: Any) -> None:
        """Keep the best point of a search: one that is left behind at Ctrl-C hands over nothing."""
        found = event.data_out
        point = np.array(found.mip_solution, dtype=np.float64)
        if point.size == self.form.n:
            self._incumbent = Run("kInterrupt", x=point, bound=float(found.mip_dual_bound))

    def _request_stop(self) -> None:
        self._stop = self.interrupted = True

    def _asked(self, event: Any) -> None:
        if self._stop:
            event.interrupt()


def iteration_limits(form: StandardForm) -> dict[str, int]:
    """Options that end each of HiGHS's methods, with far more iterations than any sound run took.

    By default there is no limit: the active-set method for quadratic programs cycles now and then, and the
    interior-point method HiPO may go on for ever on badly scaled ones.
    """
    size = form.n + form.m
    limits = {"qp_iteration_limit": 10_000 + 20 * size, "ipm_iteration_limit": 1000}
    if not form.integer.any():
        limits["simplex_iteration_limit"] = 100_000 + 100 * size
    return limits


def check_options(options: Mapping[str, object], solver: str) -> None:
    """Raise `ParameterError` in the name of `solver` unless HiGHS takes all these options."""
    if options:
        import highspy

        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        for name, value in options.items():
            _set_option(highs, name, value, solver)


def _set_option(highs: Any, name: str, value: object, solver: str) -> None:
    """Set an option; `setOptionValue` returns an error rather than raise it."""
    import highspy

    try:
        status = highs.setOptionValue(name, value)
    except TypeError:
        status = highspy.HighsStatus.kError
    if status == highspy.HighsStatus.kError:
        if highs.getOptionType(name)[0] == highspy.HighsStatus.kError:
            raise ParameterError(f"{solver} has no option named {name!r}; see HiGHS's list of options for `extra`.")
        raise ParameterError(f"{solver} does not take {value!r} for its option {name!r}.")


def _first(count: int) -> npt.NDArray[np.int32]:
    return np.arange(count, dtype=np.int32)


def _without(statuses: list[Any], index: Index) -> list[Any]:
    gone = set(index.tolist())
    return [status for i, status in enumerate(statuses) if i not in gone]


def _row_bounds(form: StandardForm, start: int) -> tuple[Vector, Vector]:
    """Lower and upper bounds of F x, from row `start` on."""
    lower = -form.g[start:]
    upper = np.full(lower.size, np.inf)
    for block in reversed(form.rows):
        if block.stop <= start:
            break
        if block.cone is ZERO:
            part = slice(max(block.start - start, 0), block.stop - start)
            upper[part] = lower[part]
    lower[(lower <= -HUGE_OFFSET) & (upper == np.inf)] = -np.inf
    return lower, upper
