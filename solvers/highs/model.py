"""A HiGHS model of a `StandardForm` that is built once and then edited in place, so that HiGHS keeps its basis.

Rows are passed as  -g <= F x <= -g  (zero cone) or  -g <= F x  (non-negative cone), so `row_dual` equals milopt's z.
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
from milopt.interrupt import CallEnd, call_on_interrupt, run_interruptible
from milopt.solving.engine import Change, ChangeKind
from milopt.solving.options import Options

DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4
"""Values of HiGHS's option `simplex_strategy`."""
MAX_SECONDS_WITHOUT_POLLING = 0.5
"""Seconds for which a warm-started simplex method runs without polling for Ctrl-C."""
MAX_COEFFICIENT_EDITS = 2000
"""Maximum number of coefficients that are changed one by one. For more, the whole model is built again."""


@dataclass(frozen=True)
class HighsRun:
    """Result of one run: HiGHS's status name, the point x, the row duals z and the number of iterations.

    x or z is None if HiGHS has no valid point or no valid duals. `bound` is the dual bound of a mixed-integer search.
    """

    status: str
    x: Vector | None = None
    z: Vector | None = None
    bound: float = -np.inf
    iterations: int = 0


class HighsModel:
    """Wrapper of one `Highs` object with methods that edit its model in place and run it."""

    def __init__(self, form: StandardForm, options: Options) -> None:
        self.options = options
        self.log: list[str] = []
        self._stop = self.interrupted = False
        self._is_primal_feasible = False
        """Whether the last change kept the basis primal feasible, so that the primal simplex method is used."""
        self.starts_with_hipo = False
        """Whether the interior-point method HiPO is tried first, because it solved the previous, similar program."""
        self._build_model(form)

    # -- edits ---------------------------------------------------------------------------------------------------

    def apply(self, form: StandardForm, change: Change) -> bool:
        """Update the model to `form`, which differs from the current form by `change`.

        Each edit method returns False if the change cannot be made in place. The model is then built again, with the
        old simplex basis if the size is unchanged.

        Returns
        -------
        bool
            False if the model had to be built again.
        """
        edit = {
            ChangeKind.LINEAR: self._set_linear_costs,
            ChangeKind.OFFSET: self._set_offsets,
            ChangeKind.BOUNDS: self._set_bounds,
            ChangeKind.ROWS_ADDED: self._add_rows,
            ChangeKind.ROWS_REPLACED: self._replace_rows,
            ChangeKind.ROWS_DELETED: self._delete_rows,
            ChangeKind.COLUMNS_ADDED: self._add_columns,
        }.get(change.kind)
        index = np.zeros(0, dtype=np.intp) if change.index is None else change.index
        self._is_primal_feasible = change.kind in (ChangeKind.LINEAR, ChangeKind.COLUMNS_ADDED)
        if edit is not None and edit(form, index):
            self.form = form
            return True
        same_size = (form.n, form.m) == (self.form.n, self.form.m)
        basis = self._highs.getBasis()
        self._build_model(form)
        if same_size and basis.valid:
            self._set_basis(basis.col_status, basis.row_status)
        return False

    def set_costs(self, q: Vector) -> None:
        """Set the linear costs of the columns."""
        self._raise_if_rejected(self._highs.changeColsCost(q.size, _first_indices(q.size), q), "costs")

    def _set_linear_costs(self, form: StandardForm, index: Index) -> bool:
        """Change the linear costs to those of `form` in place, and return True."""
        self.set_costs(form.q)
        return True

    def _set_offsets(self, form: StandardForm, index: Index) -> bool:
        """Set the bounds of all rows from the offsets g of `form`, in place, and return True."""
        lower, upper = _row_bounds(form, 0)
        self._raise_if_rejected(
            self._highs.changeRowsBounds(form.m, _first_indices(form.m), lower, upper), "row bounds"
        )
        return True

    def _set_bounds(self, form: StandardForm, index: Index) -> bool:
        """Change the bounds of the columns in `index` in place, and return True."""
        at = index.astype(np.int32)
        self._raise_if_rejected(
            self._highs.changeColsBounds(at.size, at, form.lower[index], form.upper[index]), "column bounds"
        )
        return True

    def _add_rows(self, form: StandardForm, index: Index) -> bool:
        """Append the new rows of `form` in place, and return True."""
        start, F = self.form.m, form.F
        lower, upper = _row_bounds(form, start)
        first = F.indptr[start]
        starts, columns, values = F.indptr[start:-1] - first, F.indices[first:], F.data[first:]
        self._raise_if_rejected(
            self._highs.addRows(lower.size, lower, upper, values.size, starts, columns, values), "rows"
        )
        return True

    def _replace_rows(self, form: StandardForm, index: Index) -> bool:
        """Change the coefficients and bounds of the rows in `index` in place, and return True.

        Returns False, without a change, if more than MAX_COEFFICIENT_EDITS coefficients differ.
        """
        new = sp.csr_array(form.F[index])
        differs = sp.coo_array(new - self.form.F[index])
        if differs.nnz > MAX_COEFFICIENT_EDITS:
            return False
        row, column = differs.coords
        # For an empty index, scipy returns a sparse array instead of numbers.
        values = new[row, column].tolist() if row.size else []
        for i, j, value in zip(index[row].tolist(), column.tolist(), values, strict=True):
            self._raise_if_rejected(self._highs.changeCoeff(i, j, value), "coefficients")
        lower, upper = _row_bounds(form, 0)
        i32 = index.astype(np.int32)
        self._raise_if_rejected(self._highs.changeRowsBounds(i32.size, i32, lower[index], upper[index]), "row bounds")
        return True

    def _delete_rows(self, form: StandardForm, index: Index) -> bool:
        """Delete the rows in `index` in place, keep the basis of the remaining rows, and return True."""
        basis = self._highs.getBasis()
        self._raise_if_rejected(self._highs.deleteRows(index.size, np.sort(index).astype(np.int32)), "rows")
        if basis.valid:
            self._set_basis(basis.col_status, _remove_entries(basis.row_status, index))
        return True

    def _add_columns(self, form: StandardForm, index: Index) -> bool:
        """Append the new columns of `form` in place, and return True.

        Returns False, without a change, if the form is quadratic or the model has no columns yet.
        """
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
        self._raise_if_rejected(status, "columns")
        self._set_integrality(form, start)
        return True

    def _set_basis(self, columns: list[Any], rows: list[Any]) -> None:
        """Set the starting basis of the next run, if the program is linear.

        After deletions, the number of basic variables may be wrong. HiGHS repairs a basis that is marked as alien.
        """
        import highspy

        basis = highspy.HighsBasis()
        basis.valid = basis.alien = True
        basis.col_status, basis.row_status = columns, rows
        self._warm = self._linear_program and self._highs.setBasis(basis) != highspy.HighsStatus.kError

    # -- building ------------------------------------------------------------------------------------------------

    def _build_model(self, form: StandardForm) -> None:
        """Build a new HiGHS model of the form."""
        import highspy

        self.form = form
        self._highs: Any = highspy.Highs()
        self._linear_program = form.P.is_zero and not form.integer.any()
        self._warm = False
        self._current_options: dict[str, object] = {}
        self._incumbent: HighsRun | None = None
        self._set_options()
        n = form.n
        no_entries = np.zeros(n, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)
        self._raise_if_rejected(self._highs.addCols(n, form.q, form.lower, form.upper, 0, *no_entries), "columns")
        self._set_integrality(form, 0)
        lower, upper = _row_bounds(form, 0)
        F = form.F
        self._raise_if_rejected(
            self._highs.addRows(form.m, lower, upper, F.nnz, F.indptr[:-1], F.indices, F.data), "rows"
        )
        if not form.P.is_zero:
            starts, rows, values = form.P.lower_triangle()
            kind = int(highspy.HessianFormat.kTriangular)
            status = self._highs.passHessian(n, values.size, kind, starts, rows, values)
            self._raise_if_rejected(status, "quadratic objective")

    def _set_integrality(self, form: StandardForm, start: int) -> None:
        """Mark the integer columns of `form`, from column `start` on, as integer in the HiGHS model."""
        integer = start + np.flatnonzero(form.integer[start:]).astype(np.int32)
        if integer.size:
            kinds = np.ones(integer.size, dtype=np.uint8)
            self._raise_if_rejected(self._highs.changeColsIntegrality(integer.size, integer, kinds), "integer columns")

    def _set_options(self) -> None:
        """Set HiGHS's options and subscribe to its callbacks."""
        options, highs = self.options, self._highs
        feasibility = float(np.clip(1e-3 * options.tolerance, 1e-10, 1e-7))
        for name, value in {
            "output_flag": options.verbose,
            "log_to_console": False,
            "threads": int(options.threads),
            "primal_feasibility_tolerance": feasibility,
            # HiGHS's quadratic solver breaks down with smaller dual tolerances.
            "dual_feasibility_tolerance": feasibility if self.form.P.is_zero else 1e-7,
            **iteration_limits(self.form),
            "mip_feasibility_tolerance": 10 * feasibility,
            "mip_rel_gap": 0.1 * options.tolerance,
            "mip_abs_gap": 0.1 * options.tolerance,
            # HiGHS drops coefficients below this value; its larger default could change the program.
            "small_matrix_value": 1e-12,
            **options.extra,
        }.items():
            self.set_option(name, value)
        for event in (highs.cbIpmInterrupt, highs.cbMipInterrupt):
            event.subscribe(self._on_interrupt_poll)
        if self.form.integer.any():
            highs.cbMipImprovingSolution.subscribe(self._on_improved_solution)
        self._polls_interrupts = False
        if options.verbose:
            highs.cbLogging.subscribe(lambda event: self.log.append(event.message))

    def set_option(self, name: str, value: object) -> None:
        """Set an option; raise `ParameterError` if HiGHS does not support it."""
        _set_option(self._highs, name, value, "HiGHS")

    def try_option(self, name: str, value: object) -> bool:
        """Try to set an option; return True if HiGHS accepts it, else False."""
        return bool(self._highs.setOptionValue(name, value).name != "kError")

    def _raise_if_rejected(self, status: Any, part: str) -> None:
        """Raise `SolverError` if HiGHS returned an error for this part of the model."""
        if status.name == "kError":
            raise SolverError(f"HiGHS rejected the {part} of {self.form.name!r}; check for NaN or huge numbers.")

    # -- running -------------------------------------------------------------------------------------------------

    def run(self, time_limit: float | None) -> HighsRun:
        """Run HiGHS for at most `time_limit` seconds (None: no limit). Ctrl-C ends it with the status `kInterrupt`."""
        highs = self._highs
        if self._linear_program and "presolve" not in self.options.extra:
            self._set_if_changed("presolve", "off" if self._warm else "choose")
        self._stop = False
        self._set_interrupt_polling(not self._warm)
        if self._warm:
            self._run_warm_simplex(time_limit)
        else:
            self._set_time_limit(time_limit)
            self._incumbent = None
            if run_interruptible(self._run_with_retry, self._request_stop) is CallEnd.ABANDONED:
                incumbent = self._incumbent
                self._build_model(self.form)
                return incumbent or HighsRun("kInterrupt")
        info, solution = highs.getInfo(), highs.getSolution()
        self._warm = self._linear_program and info.basis_validity == 1
        counts = info.simplex_iteration_count, info.ipm_iteration_count, info.qp_iteration_count
        status = highs.getModelStatus().name
        if not solution.value_valid and self._incumbent is not None:
            return replace(self._incumbent, status=status, bound=info.mip_dual_bound)
        return HighsRun(
            status=status,
            x=np.array(solution.col_value) if solution.value_valid else None,
            z=np.array(solution.row_dual) if solution.dual_valid else None,
            bound=info.mip_dual_bound,
            iterations=sum(max(0, count) for count in counts),
        )

    def _run_warm_simplex(self, time_limit: float | None) -> None:
        """Run the simplex method from the last basis, at first without polling for Ctrl-C.

        Most warm-started runs end within `MAX_SECONDS_WITHOUT_POLLING`. Only longer ones poll at every iteration.
        """
        highs = self._highs
        if "simplex_strategy" not in self.options.extra:
            self._set_if_changed("simplex_strategy", PRIMAL_SIMPLEX if self._is_primal_feasible else DUAL_SIMPLEX)
        has_polling_phase = time_limit is None or time_limit > MAX_SECONDS_WITHOUT_POLLING
        self._set_time_limit(MAX_SECONDS_WITHOUT_POLLING if has_polling_phase else time_limit)
        with call_on_interrupt(self._request_stop):
            self._run_with_retry()
            if not has_polling_phase or self._stop or highs.getModelStatus().name != "kTimeLimit":
                return
            self._set_time_limit(None if time_limit is None else time_limit - MAX_SECONDS_WITHOUT_POLLING)
            self._set_interrupt_polling(True)
            self._run_with_retry()

    def _set_time_limit(self, seconds: float | None) -> None:
        """Limit the next run to `seconds` (None: no limit). HiGHS's clock is not reset between runs."""
        self.set_option("time_limit", np.inf if seconds is None else self._highs.getRunTime() + max(seconds, 0.0))

    def _set_if_changed(self, name: str, value: object) -> None:
        """Set an option unless it already has this value."""
        if self._current_options.get(name) != value:
            self.set_option(name, value)
            self._current_options[name] = value

    def _run_with_retry(self) -> None:
        """Run HiGHS, and once more with a new thread pool if the first run returns an error."""
        import highspy

        # HiGHS keeps one thread pool per Python thread, and fails if another number of threads is requested.
        if self._highs.run() == highspy.HighsStatus.kError:
            highspy.Highs.resetGlobalScheduler(True)
            self._highs.run()

    def _set_interrupt_polling(self, enabled: bool) -> None:
        """Enable or disable polling for Ctrl-C at every simplex iteration, which costs time."""
        if enabled != self._polls_interrupts:
            event = self._highs.cbSimplexInterrupt
            (event.subscribe if enabled else event.unsubscribe)(self._on_interrupt_poll)
            self._polls_interrupts = enabled

    def _on_improved_solution(self, event: Any) -> None:
        """Store the new best point of a mixed-integer search, because an abandoned search returns no point."""
        solution = event.data_out
        point = np.array(solution.mip_solution, dtype=np.float64)
        if point.size == self.form.n:
            self._incumbent = HighsRun("kInterrupt", x=point, bound=float(solution.mip_dual_bound))

    def _request_stop(self) -> None:
        """Request the running solve to stop."""
        self._stop = self.interrupted = True

    def _on_interrupt_poll(self, event: Any) -> None:
        """Interrupt the run if a stop was requested."""
        if self._stop:
            event.interrupt()


def iteration_limits(form: StandardForm) -> dict[str, int]:
    """Return options that limit the iterations of HiGHS's methods, far above the needs of any normal run.

    The simplex method is not limited if the form has integers. HiGHS itself sets no limits by default, although its
    active-set method for quadratic programs sometimes cycles, and its interior-point method HiPO may not terminate on
    badly scaled programs.
    """
    size = form.n + form.m
    limits = {"qp_iteration_limit": 10_000 + 20 * size, "ipm_iteration_limit": 1000}
    if not form.integer.any():
        limits["simplex_iteration_limit"] = 100_000 + 100 * size
    return limits


def check_options(options: Mapping[str, object], solver: str) -> None:
    """Raise `ParameterError` unless HiGHS supports all these options; `solver` is the solver's name for the message."""
    if options:
        import highspy

        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        for name, value in options.items():
            _set_option(highs, name, value, solver)


def _set_option(highs: Any, name: str, value: object, solver: str) -> None:
    """Set an option; raise `ParameterError` if HiGHS rejects it. `solver` is the solver's name for the message."""
    import highspy

    try:
        status = highs.setOptionValue(name, value)
    except TypeError:
        status = highspy.HighsStatus.kError
    if status == highspy.HighsStatus.kError:
        if highs.getOptionType(name)[0] == highspy.HighsStatus.kError:
            raise ParameterError(f"{solver} has no option named {name!r}; see HiGHS's list of options for `extra`.")
        raise ParameterError(f"{solver} does not support the value {value!r} for its option {name!r}.")


def _first_indices(count: int) -> npt.NDArray[np.int32]:
    """Return the indices 0, ..., count - 1."""
    return np.arange(count, dtype=np.int32)


def _remove_entries(statuses: list[Any], index: Index) -> list[Any]:
    """Return the statuses without the entries at `index`."""
    removed = set(index.tolist())
    return [status for i, status in enumerate(statuses) if i not in removed]


def _row_bounds(form: StandardForm, start: int) -> tuple[Vector, Vector]:
    """Return the lower and upper bounds of F x for the rows from `start` on.

    The lower bound of an inequality with an offset of at least HUGE_OFFSET is -infinity.
    """
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
