"""A session: one program compiled for one solver, kept alive while it changes, solved as often as wanted.

All verbs speak the program's own expressions. Each lowers only what it touches and tells the engine what changed; a
persistent engine applies just that, another rebuilds and counts (`rebuilds`). Every `solve` recomputes the certificate
on the whole program, lazy rows included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.compilation.compiled import Compiled, Point
from milopt.compilation.coordinates import Coordinates
from milopt.compilation.curvature import curvature
from milopt.compilation.dual import Dual, dual_refusal
from milopt.compilation.evaluation_form import Block, EvaluationForm
from milopt.compilation.kernel_space import KernelSpace, Whitening
from milopt.compilation.lowering import Lowering
from milopt.declaration.expression import Constraint, Expression
from milopt.declaration.leaves import BagMax, Parameter
from milopt.declaration.program import Program, leaves
from milopt.errors import ConvexityError, DeclarationError
from milopt.outcome.certificate import Evaluated, certify, certify_integer, evaluate, primal_scale
from milopt.outcome.outcome import Outcome
from milopt.outcome.polish import polish
from milopt.outcome.status import Termination
from milopt.solving.clock import Clock
from milopt.solving.diagnosis import infeasible_blocks, unbounded_blocks
from milopt.solving.engine import Answer, Change, Engine, What
from milopt.solving.lazy import LazyRows
from milopt.solving.options import Options
from milopt.solving.refusal import check
from milopt.solving.solver import Feature, Solver


class Session:
    """A compiled program inside a solver."""

    def __init__(
        self,
        program: Program,
        solver: Solver,
        options: Options | None = None,
        *,
        witnesses: Mapping[BagMax, sp.csr_array] | None = None,
        both_sides: bool = False,
    ) -> None:
        began = perf_counter()
        self.program = program
        self.solver = solver
        self.options = options or Options()
        self.lowering = Lowering(program, witnesses, both_sides)
        self._objective = self.lowering.objective()
        self._blocks: dict[str, list[Block]] = {
            name: self.lowering.block(name, constraint) for name, constraint in program.constraints.items()
        }
        self.form = self._assembled()
        self.spaces = [KernelSpace(space) for space in self.form.spaces]
        self.whitenings = [Whitening(space) for space in self.spaces]
        self.rows = LazyRows(self.form, self.options.lazy)
        self._compiled: Compiled | None = None
        self._engine: Engine | None = None
        self._uses_dual = self._wants_dual()
        self._build_seconds = perf_counter() - began

    # -- verbs -------------------------------------------------------------------------------------------------

    def set_parameter(self, parameter: Parameter, value: npt.ArrayLike) -> None:
        """Give a parameter new numbers."""
        parameter.value = value
        if parameter in leaves(self.program.objective):
            self._refresh_objective()
        for name, constraint in self.program.constraints.items():
            if parameter in leaves(constraint.expression):
                self._refresh_block(name, constraint)

    def set_witnesses(self, witnesses: Mapping[BagMax, sp.csr_array]) -> None:
        """Choose the witnesses of the maxima on their other side."""
        self.lowering.witnesses.update(witnesses)
        touched = set(witnesses)
        if touched & set(leaves(self.program.objective)):
            self._refresh_objective()
        for name, constraint in self.program.constraints.items():
            if touched & set(leaves(constraint.expression)):
                self._refresh_block(name, constraint)

    def set_objective(self, objective: Expression, *, maximize: bool = False) -> None:
        """Another objective for the same constraints."""
        (self.program.maximize if maximize else self.program.minimize)(objective)
        self.lowering.linear.register(objective)
        self._refresh_objective()

    def add_rows(self, constraint: Constraint, name: str | None = None) -> str:
        """Add a constraint block; returns its name."""
        self.program.subject_to(constraint, name)
        chosen = next(reversed(self.program.constraints))
        self.lowering.linear.register(constraint.expression)
        self._blocks[chosen] = self.lowering.block(chosen, constraint)
        before = self.form
        self.form = self._assembled()
        simple = self._is_flat and not self.rows.lazy and not self.lowering.has_auxiliary and self.form.n == before.n
        if simple and isinstance(self._compiled, Coordinates) and self._engine is not None:
            new = np.arange(before.rows.count, self.form.rows.count)
            self.rows.add(new)
            self._append(new)
        else:
            self._restart()
        return chosen

    def replace_rows(self, name: str, constraint: Constraint) -> None:
        """Put another constraint in a block's place."""
        self.program.block(name)
        del self.program.constraints[name]
        order = list(self._blocks)
        self.program.subject_to(constraint, name)
        self.program.constraints = {k: self.program.constraints[k] for k in order}
        self.lowering.linear.register(constraint.expression)
        self._refresh_block(name, constraint)

    def add_columns(
        self,
        name: str,
        count: int,
        rows: Mapping[str, npt.ArrayLike | sp.sparray],
        cost: npt.ArrayLike = 0.0,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
    ) -> None:
        """Add a variable block with its cost and, by constraint name, the matrix with which it enters `expression`."""
        for block in rows:
            self.program.block(block)
        variable = self.program.variable(name, count, lower=lower, upper=upper)
        self.lowering.linear.add_variable(variable)
        weights = np.broadcast_to(np.asarray(cost, dtype=float), (count,))
        self.program.objective = self.program.objective + weights @ variable
        for block, matrix in rows.items():
            constraint = self.program.constraints[block]
            entered = constraint.expression + matrix @ variable
            self.program.constraints[block] = Constraint(entered, constraint.equality)
        self._objective = self.lowering.objective()
        for block in rows:
            self._blocks[block] = self.lowering.block(block, self.program.constraints[block])
        before = self.form
        self.form = self._assembled()
        if self._is_flat and isinstance(self._compiled, Coordinates) and self._engine is not None:
            self._compiled = Coordinates(self.form, self.whitenings, self._compiled.active)
            self._engine.update(self._compiled.form, Change(What.COLUMNS_ADDED, np.arange(before.n, self.form.n)))
        else:
            self._restart()

    def delete(self, name: str) -> None:
        """Delete a constraint block."""
        self.program.block(name)
        del self.program.constraints[name]
        del self._blocks[name]
        before = self.form
        self.form = self._assembled()
        if self._is_flat and not self.rows.lazy and isinstance(self._compiled, Coordinates) and self._engine is not None:
            names = np.array([before.blocks[b].name for b in self._block_of(before, self._compiled.active)])
            gone = np.flatnonzero(names == name)
            self.rows.everything(self.form)
            kept = np.delete(self._compiled.active, gone)
            # The engine keeps its own order of rows; name each remaining one by its place in the new form.
            place = np.searchsorted(np.sort(kept), kept)
            self.rows.active = place.astype(np.intp)
            self._compiled = Coordinates(self.form, self.whitenings, self.rows.active)
            self._engine.update(self._compiled.form, Change(What.ROWS_DELETED, gone))
        else:
            self._restart()

    def close(self) -> None:
        """Give back what the solver holds."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    @property
    def rebuilds(self) -> int:
        """How often the solver's own model was built again."""
        return self._engine.rebuilds if self._engine is not None else 0

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- solving -----------------------------------------------------------------------------------------------

    def solve(self, clock: Clock | None = None) -> Outcome:
        """Solve the current program within the time that is left, and prove the answer."""
        clock = clock or Clock(self.options.time_limit)
        build, self._build_seconds = self._build_seconds, 0.0
        solving, iterations, log = 0.0, 0, ""
        threshold = 1e-2 * self.options.tolerance * (1.0 + primal_scale(self.form))
        while True:
            began = perf_counter()
            engine = self._ready()
            middle = perf_counter()
            answer = engine.solve(clock.left())
            solving += perf_counter() - middle
            iterations += answer.iterations
            log += answer.log
            if self.rows.lazy and answer.termination is Termination.UNBOUNDED:
                self.rows.everything(self.form)
                self._restart(keep_rows=True)
                build += middle - began
                continue
            point = None if answer.x is None else self._compiled_now.recover(answer.x, answer.z)
            worth = None if point is None else evaluate(self.form, self.spaces, point)
            violated = self.rows.violated(self.form, worth.rows, threshold) if worth is not None else np.zeros(0)
            build += perf_counter() - began - (perf_counter() - middle) + 0.0
            if not violated.size or clock.is_over():
                break
            self.rows.add(violated.astype(np.intp))
            if self._is_flat and isinstance(self._compiled, Coordinates):
                self._append(violated.astype(np.intp))
            else:
                self._recompile(What.EVERYTHING)
        outcome = self._proved(answer, point, worth)
        return replace(
            outcome, iterations=iterations, build_seconds=build, solve_seconds=solving, log=log, rebuilds=self.rebuilds
        )

    def _proved(self, answer: Answer, point: Point | None, worth: Evaluated | None) -> Outcome:
        """Certify, polish if that is needed and helps, and say how it ended."""
        tolerance = self.options.tolerance
        form = self._compiled_now.form
        if point is None or worth is None or answer.x is None:
            return self._without_point(answer)
        if self.form.integer.any():
            certificate = certify_integer(self.form, point, worth, answer.bound)
            return Outcome.judged(self.form, answer, point, worth, certificate, tolerance)
        certificate = certify(self.form, self.spaces, point, worth)
        before = None
        smooth = not form.second_order and answer.z is not None
        if self.options.polish and smooth and not certificate.holds(tolerance) and answer.z is not None:
            x, z = answer.x, answer.z
            for _ in range(3):
                x, z = polish(form, x, z)
                better = self._compiled_now.recover(x, z)
                better_worth = evaluate(self.form, self.spaces, better)
                proof = certify(self.form, self.spaces, better, better_worth)
                if proof.worst < certificate.worst:
                    before = before or certificate
                    point, worth, certificate = better, better_worth, proof
                if certificate.holds(tolerance):
                    break
        return replace(Outcome.judged(self.form, answer, point, worth, certificate, tolerance), polished=before)

    def _without_point(self, answer: Answer) -> Outcome:
        termination, message = answer.termination, ""
        if self._uses_dual and termination in (Termination.INFEASIBLE, Termination.UNBOUNDED):
            # The dual's infeasibility leaves two possibilities for the primal; its own form decides.
            if Feature.LINEAR in self.solver.features and self.solver.refusal(self._coordinates().form) is None:
                self._uses_dual = False
                self._restart()
                return self.solve()
            infeasible = termination is Termination.UNBOUNDED
            termination = Termination.INFEASIBLE if infeasible else Termination.UNBOUNDED
        elif termination is Termination.INFEASIBLE:
            message = infeasible_blocks(self._compiled_now.form, self.solver, self.options)
        elif termination is Termination.UNBOUNDED:
            message = unbounded_blocks(self._compiled_now.form, self.solver, self.options)
        return Outcome.without_point(self.form, termination, answer.raw_status, message)

    # -- keeping forms and engine in step ------------------------------------------------------------------------

    @property
    def compiled(self) -> Compiled:
        """The flat program as the solver has it (or would get it)."""
        self._compile()
        return self._compiled_now

    @property
    def _compiled_now(self) -> Compiled:
        assert self._compiled is not None
        return self._compiled

    @property
    def _is_flat(self) -> bool:
        """No function of a kernel's space: rows can be appended without new coordinates."""
        return not self.spaces

    def _wants_dual(self) -> bool:
        wish = self.options.form if self.options.form != "auto" else self.solver.prefers
        if wish != "dual":
            return False
        reason = dual_refusal(self.form)
        if reason is not None and self.options.form == "dual":
            raise ConvexityError(reason)
        return reason is None and (bool(self.form.spaces) or self.options.form == "dual")

    def _assembled(self) -> EvaluationForm:
        return self.lowering.assemble(self._objective, [b for blocks in self._blocks.values() for b in blocks])

    def _coordinates(self) -> Coordinates:
        return Coordinates(self.form, self.whitenings, self.rows.active)

    def _compile(self) -> None:
        if self._compiled is None:
            self._compiled = Dual(self.form, self.spaces, self.rows.active) if self._uses_dual else self._coordinates()

    def _ready(self) -> Engine:
        if self._engine is None:
            self._compile()
            self._check_convex()
            check(self.solver, self._compiled_now.form, self.program.name)
            self._engine = self.solver.engine(self._compiled_now.form, self.options)
        return self._engine

    def _check_convex(self) -> None:
        if self._uses_dual or Feature.NONCONVEX in self.solver.features:
            return
        verdict = curvature(self.form, self._compiled_now.form)
        if not verdict.convex:
            raise ConvexityError(f"{verdict.reason()} {self.solver.name} takes convex programs only.")

    def _restart(self, keep_rows: bool = False) -> None:
        """Everything may be different: compile again, and tell the engine so."""
        if len(self.spaces) != len(self.form.spaces) or any(
            known.count != space.count for known, space in zip(self.spaces, self.form.spaces, strict=True)
        ):
            self.spaces = [KernelSpace(space) for space in self.form.spaces]
            self.whitenings = [Whitening(space) for space in self.spaces]
        if not keep_rows:
            self.rows = LazyRows(self.form, self.options.lazy)
        self._recompile(What.EVERYTHING)

    def _recompile(self, what: What) -> None:
        self._compiled = None
        if self._engine is not None:
            self._compile()
            self._engine.update(self._compiled_now.form, Change(what))

    def _append(self, rows: npt.NDArray[np.intp]) -> None:
        compiled = self._compiled_now
        if not isinstance(compiled, Coordinates) or self._engine is None:
            raise DeclarationError("Rows can be appended to a compiled flat program only.")
        compiled.append(self.form, rows)
        self._engine.update(compiled.form, Change(What.ROWS_ADDED))

    def _refresh_objective(self) -> None:
        self._objective = self.lowering.objective()
        before = self.form
        if self.lowering.linear.width != before.n or self.lowering.linear.point_counts != before.point_counts:
            self.form = self._assembled()
            self._restart()
            return
        self.form = before.with_objective(self.lowering.assemble(self._objective, []).objective)
        same_squares = all(
            a is b or (a.rows is b.rows and np.array_equal(a.weight, b.weight))
            for a, b in zip(before.objective.squares, self.form.objective.squares, strict=False)
        ) and before.objective.ridge == self.form.objective.ridge
        compiled = self._compiled
        touched = all(
            (w.place[np.flatnonzero(p)] >= 0).all()
            for w, p in zip(self.whitenings, self.form.objective.p, strict=True)
        )
        if isinstance(compiled, Coordinates) and same_squares and touched and self._engine is not None:
            compiled.change_objective(self.form)
            self._engine.update(compiled.form, Change(What.LINEAR))
        else:
            self._recompile(What.EVERYTHING)

    def _refresh_block(self, name: str, constraint: Constraint) -> None:
        self._blocks[name] = self.lowering.block(name, constraint)
        before = self.form
        self.form = self._assembled()
        same_rows = self.form.rows.count == before.rows.count and self.form.n == before.n
        same_rows = same_rows and np.array_equal(self.form.group, before.group)
        if not same_rows or self.form.point_counts != before.point_counts:
            self._restart()
        elif self._is_flat and isinstance(self._compiled, Coordinates) and self._engine is not None:
            changed = np.isin(self._block_of(self.form, self._compiled.active), [
                k for k, block in enumerate(self.form.blocks) if block.name == name
            ])
            self._compiled = Coordinates(self.form, self.whitenings, self._compiled.active)
            self._engine.update(self._compiled.form, Change(What.ROWS_REPLACED, np.flatnonzero(changed)))
        else:
            self._recompile(What.EVERYTHING)

    @staticmethod
    def _block_of(form: EvaluationForm, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        return np.searchsorted(form.starts, rows, side="right") - 1
