"""Parts that several themes share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.fuzz.composer import Composer
from tests.fuzz.descriptions import Affine, Atom, Description, Expression, Row, Scaling, Term, Variable

LARGEST_EXPONENT = 20
"""Scales reach 2^20, about 1e6; those of rows 2^-23, about 1e-7."""


def constant(value: float) -> Affine:
    return Affine(np.array([value]))


def add_variables(composer: Composer) -> None:
    bounded = float(composer.rng.choice([0.0, 0.5, 1.0]))
    for _ in range(composer.count(1, 2)):
        composer.add_variable(composer.count(1, 4), bounded)


def selections(composer: Composer, bags: int) -> int:
    return int(np.prod([last - first for first, last in composer.bags[bags].spans]))


def planned(composer: Composer, plan: str, objective: Expression) -> Description:
    """Add what makes the program infeasible or unbounded; in a feasible plan, a box in two of three programs."""
    if plan.startswith("infeasible"):
        composer.add_contradiction()
    if plan == "feasible" and composer.chance(0.67):
        composer.add_box(5.0)
    maximize = composer.chance(0.3)
    if plan in ("unbounded", "infeasible with a ray"):
        name = f"x{len(composer.variables)}"
        composer.variables.append(Variable(name, np.zeros(1), np.full(1, np.inf), scalar=composer.chance(0.5)))
        cost = Term(name, np.array([[1.0 if maximize else -1.0]]))
        objective = Expression(Affine(objective.affine.constant, (*objective.affine.terms, cost)), objective.atoms)
        if composer.chance(0.5):
            composer.rows.append(Row("ray", Expression(Affine(np.ones(1), (Term(name, np.ones((1, 1))),))), ">="))
    program = described(composer, flipped(objective) if maximize else objective, maximize)
    return replace(program, note=plan)


def flipped(objective: Expression) -> Expression:
    """The same atoms with the opposite sign, for a maximisation."""
    return Expression(objective.affine, tuple(replace(atom, multiplier=-atom.multiplier) for atom in objective.atoms))


def described(composer: Composer, objective: Expression, maximize: bool | None = None) -> Description:
    """The description of what was composed; maximised in three of ten programs if the caller leaves it open."""
    chosen = composer.chance(0.3) if maximize is None else maximize
    if chosen and maximize is None:
        objective = flipped(objective)
    return Description(
        0,
        "",
        tuple(composer.variables),
        objective,
        tuple(composer.rows),
        chosen,
        tuple(composer.functions),
        tuple(composer.bags),
    )


def has_dual(description: Description) -> bool:
    """Whether the square of the norm of every function without a dictionary is in the objective."""
    squares = {atom.function for atom in description.objective.atoms if atom.kind == "function_norm_squared"}
    return all(one.dictionary is not None or one.name in squares for one in description.functions)


def routed(composer: Composer, description: Description) -> Description:
    """Choose how functions reach a solver, and whether rows are lazy."""
    lazy = (None, True, False)[composer.count(0, 2)]
    form = composer.pick("auto", "auto", "coordinates", "dual" if has_dual(description) else "auto")
    return replace(description, lazy=lazy, form=form)


def add_rows_over_bags(composer: Composer) -> None:
    """A block of maxima that must be small, one row per bag."""
    atom = composer.maxima(rows=1)
    count = len(atom.multiplier)
    affine = composer.affine(count, 0.3)
    if composer.chance(0.3):
        atom = replace(atom, multiplier=atom.multiplier * (composer.rng.random((count, 1)) < 0.7))
    composer.add_row(Expression(affine, (atom,)), "<=")


def regularised(composer: Composer) -> Expression:
    """An objective that bounds every function, by its norm, its square, a ball, or the 1-norm of its coefficients."""
    atoms: list[Atom] = []
    for function in composer.functions:
        kinds = ["function_norm", "function_norm_squared", "function_norm_squared", "ball"]
        if function.dictionary is not None:
            kinds += ["norm1", "norm1 ball"]
        kind = composer.pick(*kinds)
        one = np.round(composer.rng.uniform(0.3, 2.0, size=(1, 1)), 2)
        if kind == "ball":
            inner = Atom("function_norm", np.ones((1, 1)), function=function.name)
            composer.rows.append(Row(f"ball of {function.name}", Expression(constant(-1.5), (inner,)), "<="))
        elif kind.startswith("norm1"):
            assert function.dictionary is not None
            count = len(function.dictionary)
            whole = Affine(np.zeros(count), (Term(f"{function.name}.coefficients", np.eye(count)),))
            inner = Atom("norm1", one if kind == "norm1" else np.ones((1, 1)), whole)
            if kind == "norm1":
                atoms.append(inner)
            else:
                composer.rows.append(Row(f"ball of {function.name}", Expression(constant(-2.0), (inner,)), "<="))
        else:
            atoms.append(Atom(kind, one, function=function.name))
    if composer.chance(0.5):
        atoms.append(composer.maxima())
    if composer.chance(0.4):
        atoms.append(composer.atom("norm", "norm1", "sum_squares", "quad_form"))
    if composer.chance(0.6):
        for variable in composer.variables:
            if not variable.name.endswith(".coefficients"):
                argument = Affine(np.zeros(variable.size), (Term(variable.name, np.eye(variable.size)),))
                atoms.append(Atom("sum_squares", np.full((1, 1), 0.1), argument))
    return Expression(composer.affine(1, 0.6), tuple(atoms))


def column_scaling(composer: Composer, name: str, size: int, largest: int) -> Scaling:
    """Scales of the columns of one variable, in three of four programs."""
    exponents = (
        composer.rng.integers(-largest, largest + 1, size) if composer.chance(0.75) else np.zeros(size, dtype=int)
    )
    return Scaling({name: np.ldexp(1.0, exponents)})
