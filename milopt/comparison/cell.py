"""One cell of a comparison: the result of fitting one model with one solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from milopt.compilation.status import PointStatus, Termination, is_successful
from milopt.outcome.certificate import Certificate


@dataclass(frozen=True)
class ProgramSizes:
    """Kind and size of a program, which do not depend on the solver."""

    kind: str
    """LP, QP, SOCP, ...; `DC (QP)` if each convex step is a QP, SILP if columns of an LP are generated."""
    rows: int | None
    """Number of constraint rows, including those of epigraphs; None if counting them is too expensive."""
    columns: int | None
    """Number of scalar variables, without functions; None if counting them is too expensive."""
    evaluations: int | None
    """Number of points at which functions are evaluated: at most this many columns are added for a solver.

    None if counting them is too expensive.
    """

    @property
    def columns_text(self) -> str:
        """Columns and evaluations as text, such as `93+476`; a question mark if they are unknown."""
        if self.columns is None:
            return "?"
        return f"{self.columns}+{self.evaluations}" if self.evaluations else str(self.columns)


@dataclass(frozen=True)
class ComparisonCell:
    """Result of one model with one solver: the optimum on all bags and the accuracy of every fold.

    Attributes
    ----------
    model, solver : str
        Names of the model (or program) and of the solver.
    sizes : ProgramSizes
        Kind and size of the program.
    is_not_run : bool
        True if the cell is not run: the solver does not support the program, is not installed, or is skipped.
    reason : str
        Why the cell was not run, or what went wrong; empty if it succeeded.
    termination, point : str or None
        Termination and point status of the fit to all bags; None if that fit was not run or raised an error.
    objective : float or None
        Objective value at the point.
    certificate : Certificate or None
        Residuals that milopt computed at the point.
    iterations : int or None
        Number of iterations of the solver.
    seconds : float or None
        Time of the fit to all bags, without just-in-time compilation.
    accuracies : tuple of float
        Accuracy on the test bags of each fold; empty if a fit failed.
    killed : bool
        True if a worker process was killed while it ran this cell.
    positive_label : str, float or None
        Positive class; None if there are more than two classes.
    skipped : bool
        True if the cell is not run because the solver, which supports the program, is too slow to be run by default.
    jit_seconds : float
        Time of just-in-time compilation in all fits of the cell.
    """

    model: str
    solver: str
    sizes: ProgramSizes
    is_not_run: bool = False
    reason: str = ""
    termination: str | None = None
    point: str | None = None
    objective: float | None = None
    certificate: Certificate | None = None
    iterations: int | None = None
    seconds: float | None = None
    accuracies: tuple[float, ...] = ()
    killed: bool = False
    positive_label: str | float | None = None
    skipped: bool = False
    jit_seconds: float = 0.0

    @property
    def is_certified(self) -> bool:
        """True if the point status is "certified", that is, if the certificate of the point holds."""
        return self.point == "certified"

    @property
    def is_finished(self) -> bool:
        """True if the cell has a termination or a reason: it has run, successfully or not, or it is not run."""
        return self.termination is not None or bool(self.reason)

    @property
    def has_failed(self) -> bool:
        """True if the cell was meant to run, but has an error (`reason`) or no acceptable point.

        A cell that has not run yet has no point, so this is also True for it.
        """
        return not self.is_not_run and (bool(self.reason) or not self.is_acceptable)

    @property
    def is_acceptable(self) -> bool:
        """True if the point is certified, or is the feasible best iterate of a scheme that ended in a cycle."""
        if self.termination is None or self.point is None:
            return False
        return is_successful(Termination(self.termination), PointStatus(self.point))

    @property
    def accuracy(self) -> float | None:
        """Mean accuracy over the folds; None if there are no accuracies."""
        return sum(self.accuracies) / len(self.accuracies) if self.accuracies else None

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the cell for JSON data of `as_dict`; its certificate has the three residuals only."""
        return cls(
            model=plain["model"],
            solver=plain["solver"],
            sizes=ProgramSizes(plain["kind"], plain["rows"], plain["columns"], plain["evaluations"]),
            is_not_run=plain["not_run"],
            reason=plain["reason"] or "",
            termination=plain["status"],
            point=plain["point"],
            objective=plain["objective"],
            certificate=None if plain["certificate"] is None else Certificate.from_residuals(plain["certificate"]),
            iterations=plain["iterations"],
            seconds=plain["seconds"],
            accuracies=tuple(plain["fold_accuracies"]),
            positive_label=plain["positive_label"],
            skipped=plain["skipped"],
            jit_seconds=plain["jit_seconds"],
        )

    def as_dict(self) -> dict[str, object]:
        """Return the cell as plain JSON data."""
        proof = self.certificate
        residuals = None if proof is None else {"primal": proof.primal, "dual": proof.dual, "gap": proof.gap}
        return {
            "model": self.model,
            "solver": self.solver,
            "kind": self.sizes.kind,
            "rows": self.sizes.rows,
            "columns": self.sizes.columns,
            "evaluations": self.sizes.evaluations,
            "not_run": self.is_not_run,
            "skipped": self.skipped,
            "reason": self.reason or None,
            "status": self.termination,
            "point": self.point,
            "objective": self.objective,
            "certificate": residuals,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "jit_seconds": self.jit_seconds,
            "accuracy": self.accuracy,
            "fold_accuracies": list(self.accuracies),
            "positive_label": self.positive_label,
        }

    def as_row(self) -> dict[str, object]:
        """Return the cell as one row of a table of values; the certificate is its largest residual."""
        names = ("model", "solver", "kind", "rows", "columns", "evaluations", "status", "point", "objective")
        plain = self.as_dict()
        return {
            **{name: plain[name] for name in names},
            "certificate": None if self.certificate is None else self.certificate.worst,
            **{name: plain[name] for name in ("iterations", "seconds", "accuracy", "positive_label", "reason")},
        }
