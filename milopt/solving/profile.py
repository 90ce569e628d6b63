"""What `auto` tells a solver about a program before anything is lowered, so that the solver can rank itself."""

from __future__ import annotations

from dataclasses import dataclass

from milopt.compilation.features import Feature, kind_name
from milopt.compilation.kind import block_cones, block_features
from milopt.compilation.sides import on_other_side
from milopt.declaration.programs.program import Program


@dataclass(frozen=True)
class Profile:
    """The kind and the size of a program, by its declared blocks alone."""

    kind: str
    """LP, QP, SOCP, exponential cone program, or their kinds with integers; of a DC program, that of its steps."""
    features: frozenset[Feature]
    """What a solver must take besides cones; whether a quadratic objective is convex is left open."""
    cones: frozenset[str]
    """The names of the cones that a solver must take besides linear rows."""
    is_dc: bool
    """Whether a scheme solves many programs of this kind, one per choice of minorants."""
    columns: int
    """Entries of the declared variables."""
    rows: int
    """Entries of the declared constraints; a maximum in a row may become several rows."""
    prices: int = 0
    """If the program is a master to which rows are added many times, the number of prices; otherwise 0."""

    @classmethod
    def of(cls, program: Program, prices: int = 0) -> Profile:
        """Describe a program."""
        features, cones = block_features(program), block_cones(program)
        return cls(
            kind=kind_name(features, cones),
            features=features,
            cones=cones,
            is_dc=bool(on_other_side(program)),
            columns=sum(variable.size for variable in program.variables.values()),
            rows=sum(constraint.expression.size for constraint in program.constraints.values()),
            prices=prices,
        )

    @property
    def is_linear(self) -> bool:
        """Whether it is a linear program, perhaps with integers."""
        return self.kind in ("LP", "MILP")
