"""One cell of a comparison: a formulation given to a solver, and what came back."""

from __future__ import annotations

from dataclasses import dataclass

from milopt.compilation.status import PointStatus, Termination, keeps_promise
from milopt.outcome.certificate import Certificate


@dataclass(frozen=True)
class Sizes:
    """How large a formulation is on the data, whoever solves it."""

    kind: str
    """LP, QP, SOCP, ...; `DC (QP)` where each convex step is a QP, SILP where rows of an LP are generated."""
    rows: int | None
    """All epigraph rows included; None where counting them would cost much."""
    columns: int | None
    """Of the variables."""
    evaluations: int | None
    """At how many points functions are evaluated: at most so many coordinates come on top of the columns."""

    @property
    def width(self) -> str:
        """Columns and evaluations, `93+476`; a question mark where they are not known."""
        if self.columns is None:
            return "?"
        return f"{self.columns}+{self.evaluations}" if self.evaluations else str(self.columns)


@dataclass(frozen=True)
class Cell:
    """What a solver made of a formulation: fitted to all bags once, and once a fold for the accuracy."""

    model: str
    solver: str
    sizes: Sizes
    refused: bool = False
    """The solver cannot take the formulation, or is not installed; known before any work."""
    reason: str = ""
    """Why it is refused, or what went wrong; empty when all went well."""
    termination: str | None = None
    point: str | None = None
    objective: float | None = None
    certificate: Certificate | None = None
    iterations: int | None = None
    seconds: float | None = None
    """Of the fit to all bags, kernel and compilation included."""
    accuracies: tuple[float, ...] = ()
    """On the bags that each fold left out."""

    killed: bool = False
    """A process that worked for it did not live to tell."""
    positive_label: str | float | None = None
    """The positive class; None for more than two classes."""

    @property
    def certified(self) -> bool:
        """Whether the point carries its certificate."""
        return self.point == "certified"

    @property
    def finished(self) -> bool:
        """Whether it has run, to whatever end."""
        return self.termination is not None or bool(self.reason)

    @property
    def failed(self) -> bool:
        """Whether it should have a point that its scheme promises, and an accuracy, and has not."""
        return not self.refused and (bool(self.reason) or not self.kept)

    @property
    def kept(self) -> bool:
        """Whether the point is what its scheme promises: certified, or the best iterate of a cycle."""
        if self.termination is None or self.point is None:
            return False
        return keeps_promise(Termination(self.termination), PointStatus(self.point))

    @property
    def accuracy(self) -> float | None:
        """The mean over the folds."""
        return sum(self.accuracies) / len(self.accuracies) if self.accuracies else None

    def as_dict(self) -> dict[str, object]:
        """Plain JSON data."""
        proof = self.certificate
        residuals = None if proof is None else {"primal": proof.primal, "dual": proof.dual, "gap": proof.gap}
        return {
            "model": self.model,
            "solver": self.solver,
            "kind": self.sizes.kind,
            "rows": self.sizes.rows,
            "columns": self.sizes.columns,
            "evaluations": self.sizes.evaluations,
            "refused": self.refused,
            "reason": self.reason or None,
            "status": self.termination,
            "point": self.point,
            "objective": self.objective,
            "certificate": residuals,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "accuracy": self.accuracy,
            "fold_accuracies": list(self.accuracies),
            "positive_label": self.positive_label,
        }
