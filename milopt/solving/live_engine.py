"""The engine of a session: it is built when it is first needed, and updated when the form changes."""

from __future__ import annotations

from milopt.compilation.features import cones_of, features_of
from milopt.solving.engine import Change, Engine
from milopt.solving.form_engine import FormEngine
from milopt.solving.live_form import LiveForm
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.solver_failure import wrap_solver_errors
from milopt.solving.solver_support import check_supported, supports_features


class LiveEngine:
    """Engine with a solver's own model of a `LiveForm`; it is updated when the form changes."""

    def __init__(self, solver: Solver, options: Options) -> None:
        self.solver = solver
        self.options = options
        self._engine: Engine | None = None
        # A requested flat form is used.
        self.form_engine: FormEngine | None = solver.form_engine(options) if options.form == "auto" else None
        """Engine for evaluation forms; None if there is none."""

    @property
    def has_model(self) -> bool:
        """Whether the solver has a model now."""
        return self._engine is not None

    @property
    def rebuilds(self) -> int:
        """Number of times the solver's own model was built again."""
        return self._engine.rebuilds if self._engine is not None else 0

    def get_engine(self, live: LiveForm) -> Engine:
        """Return the engine; build it from the form if there is none.

        Raises
        ------
        UnsupportedError
            If an engine must be built and the solver does not support the form.
        """
        if self._engine is None:
            form, name = live.compiled.form, live.lowering.program.name
            check_supported(self.solver, live.pattern_form() if self.solver.recognises_patterns else form, name)
            with wrap_solver_errors(self.solver.name):
                self._engine = self.solver.engine(form, self.options)
        return self._engine

    def apply_change(self, live: LiveForm, change: Change | None) -> None:
        """Apply a change of the form to the engine; do nothing if there is no engine or `change` is None.

        Raises
        ------
        UnsupportedError
            If the solver does not support the new form.
        """
        if self._engine is not None and change is not None:
            form = live.compiled.form
            is_supported = supports_features(self.solver, features_of(form), cones_of(form))
            # The active rows alone may not show the pattern. The engine of such a solver checks the pattern itself.
            if is_supported and not self.solver.recognises_patterns:
                is_supported = self.solver.unsupported_reason(form) is None
            if not is_supported:
                check_supported(self.solver, form, live.lowering.program.name)
            with wrap_solver_errors(self.solver.name):
                self._engine.update(form, change)

    def discard(self) -> None:
        """Discard an engine that has failed, because its state is unknown. The next solve builds another one."""
        self._engine = None

    def close(self) -> None:
        """Release the resources of the solver."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
