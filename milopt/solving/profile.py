"""Description of a program for `Solver.rank`, made from the declared blocks before anything is lowered."""

from __future__ import annotations

from dataclasses import dataclass

from milopt.compilation.features import Feature, kind_name
from milopt.compilation.kind import declared_features, required_cones
from milopt.compilation.sides import other_side_atoms
from milopt.declaration.programs.program import Program


@dataclass(frozen=True)
class Profile:
    """Kind and size of a program, according to its declared blocks."""

    kind: str
    """LP, QP, SOCP, exponential cone program, or such a kind with integers; for a DC program, the kind of its steps."""
    features: frozenset[Feature]
    """Features that a solver must support besides cones. Whether a quadratic objective is convex is not known yet."""
    cones: frozenset[str]
    """Names of the cones that a solver must support besides linear rows."""
    is_dc: bool
    """Whether it is a DC program, for which a scheme solves many programs of this kind, one per choice of minorants."""
    columns: int
    """Number of entries of the declared variables."""
    rows: int
    """Number of entries of the declared constraints. A maximum in a row may become several rows."""
    prices: int = 0
    """Number of prices if the program is a master, to which rows are added many times; otherwise 0."""

    @classmethod
    def from_program(cls, program: Program, prices: int = 0) -> Profile:
        """Return the profile of a program; `prices`: number of prices if it is a master, otherwise 0."""
        features, cones = declared_features(program), required_cones(program)
        return cls(
            kind=kind_name(features, cones),
            features=features,
            cones=cones,
            is_dc=bool(other_side_atoms(program)),
            columns=sum(variable.size for variable in program.variables.values()),
            rows=sum(constraint.expression.size for constraint in program.constraints.values()),
            prices=prices,
        )

    @property
    def is_linear(self) -> bool:
        """Whether the program is linear, possibly with integers."""
        return self.kind in ("LP", "MILP")
