"""The engine of a session: built when it is first needed, and told what changed in the form that it has."""

from __future__ import annotations

from milopt.compilation.features import cones_of, features_of
from milopt.solving.engine import Change, Engine
from milopt.solving.live_form import LiveForm
from milopt.solving.options import Options
from milopt.solving.refusal import check, takes_all
from milopt.solving.solver import Solver
from milopt.solving.solver_failure import solver_errors


class LiveEngine:
    """A solver's own model of a live form, kept in step with it."""

    def __init__(self, solver: Solver, options: Options) -> None:
        self.solver = solver
        self.options = options
        self._engine: Engine | None = None

    @property
    def is_built(self) -> bool:
        """Whether the solver has a model now."""
        return self._engine is not None

    @property
    def rebuilds(self) -> int:
        """How often the solver's own model was built again."""
        return self._engine.rebuilds if self._engine is not None else 0

    def ready(self, live: LiveForm) -> Engine:
        """Return the engine, built from the form if there is none."""
        if self._engine is None:
            form, name = live.compiled.form, live.lowering.program.name
            check(self.solver, live.pattern() if self.solver.recognises_patterns else form, name)
            with solver_errors(self.solver.name):
                self._engine = self.solver.engine(form, self.options)
        return self._engine

    def tell(self, live: LiveForm, change: Change | None) -> None:
        """Apply a change of the form to the engine, if there is one; raise an error if the solver does not take it."""
        if self._engine is not None and change is not None:
            form = live.compiled.form
            taken = takes_all(self.solver, features_of(form), cones_of(form))
            # Patterns may be hidden by rows that are not handed over yet; the engine looks for them itself.
            if not taken or (not self.solver.recognises_patterns and self.solver.refusal(form) is not None):
                check(self.solver, form, live.lowering.program.name)
            with solver_errors(self.solver.name):
                self._engine.update(form, change)

    def forget(self) -> None:
        """Leave an engine that failed, whose state is unknown: the next solve builds another one."""
        self._engine = None

    def close(self) -> None:
        """Give back what the solver holds."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
