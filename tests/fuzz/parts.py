"""Parts of random programs that several themes share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.fuzz.composer import Composer
from tests.fuzz.descriptions import (
    Affine,
    AtomSpec,
    ExpressionSpec,
    ProgramDescription,
    RowSpec,
    ScalingSpec,
    TermSpec,
    VariableSpec,
)

MAX_SCALE_EXPONENT = 20
"""Largest exponent of two of a scale: 2^20 is about 1e6. Row scales may be as small as 2^-23, about 1e-7."""


def constant(value: float) -> Affine:
    """Return a constant affine expression of size 1."""
    return Affine(np.array([value]))


def add_variables(composer: Composer) -> None:
    """Add one or two random variables."""
    bounded = float(composer.rng.choice([0.0, 0.5, 1.0]))
    for _ in range(composer.count(1, 2)):
        composer.add_variable(composer.count(1, 4), bounded)


def count_selections(composer: Composer, bags: int) -> int:
    """Return the number of ways to select one instance per bag."""
    return int(np.prod([last - first for first, last in composer.bags[bags].spans]))


def finish_plan(composer: Composer, plan: str, objective: ExpressionSpec) -> ProgramDescription:
    """Finish a program that is feasible, infeasible or unbounded, as the plan requires.

    Two of three feasible programs get a box.
    """
    if plan.startswith("infeasible"):
        composer.add_contradiction()
    if plan == "feasible" and composer.chance(0.67):
        composer.add_box(5.0)
    maximize = composer.chance(0.3)
    if plan in ("unbounded", "infeasible with a ray"):
        name = f"x{len(composer.variables)}"
        composer.variables.append(VariableSpec(name, np.zeros(1), np.full(1, np.inf), scalar=composer.chance(0.5)))
        cost = TermSpec(name, np.array([[1.0 if maximize else -1.0]]))
        objective = ExpressionSpec(Affine(objective.affine.constant, (*objective.affine.terms, cost)), objective.atoms)
        if composer.chance(0.5):
            composer.rows.append(
                RowSpec("ray", ExpressionSpec(Affine(np.ones(1), (TermSpec(name, np.ones((1, 1))),))), ">=")
            )
    program = make_program(composer, negate_atoms(objective) if maximize else objective, maximize)
    return replace(program, note=plan)


def negate_atoms(objective: ExpressionSpec) -> ExpressionSpec:
    """Return the expression with its atoms negated, for a maximisation."""
    return ExpressionSpec(
        objective.affine, tuple(replace(atom, multiplier=-atom.multiplier) for atom in objective.atoms)
    )


def make_program(composer: Composer, objective: ExpressionSpec, maximize: bool | None = None) -> ProgramDescription:
    """Return the program with all parts of the composer.

    If `maximize` is None, three of ten programs are maximised, with negated atoms in the objective.
    """
    is_maximised = composer.chance(0.3) if maximize is None else maximize
    if is_maximised and maximize is None:
        objective = negate_atoms(objective)
    return ProgramDescription(
        0,
        "",
        tuple(composer.variables),
        objective,
        tuple(composer.rows),
        is_maximised,
        tuple(composer.functions),
        tuple(composer.bags),
    )


def has_dual(description: ProgramDescription) -> bool:
    """Return True if the objective contains the squared norm of every function without a dictionary."""
    squares = {atom.function for atom in description.objective.atoms if atom.kind == "function_norm_squared"}
    return all(function.dictionary is not None or function.name in squares for function in description.functions)


def choose_form(composer: Composer, description: ProgramDescription) -> ProgramDescription:
    """Choose at random whether the primal or the dual is solved, and whether rows are lazy."""
    lazy = (None, True, False)[composer.count(0, 2)]
    form = composer.pick("auto", "auto", "primal", "dual" if has_dual(description) else "auto")
    return replace(description, lazy=lazy, form=form)


def add_rows_over_bags(composer: Composer) -> None:
    """Add a block of upper bounds on maxima, with one row per bag."""
    atom = composer.maxima(rows=1)
    count = len(atom.multiplier)
    affine = composer.affine(count, 0.3)
    if composer.chance(0.3):
        atom = replace(atom, multiplier=atom.multiplier * (composer.rng.random((count, 1)) < 0.7))
    composer.add_row(ExpressionSpec(affine, (atom,)), "<=")


def regularised_objective(composer: Composer) -> ExpressionSpec:
    """Return an objective in which every function is regularised.

    The regulariser is the norm of a function, its square, a ball, or the 1-norm of the coefficients.
    """
    atoms: list[AtomSpec] = []
    for function in composer.functions:
        kinds = ["function_norm", "function_norm_squared", "function_norm_squared", "ball"]
        if function.dictionary is not None:
            kinds += ["norm1", "norm1 ball"]
        kind = composer.pick(*kinds)
        weight = np.round(composer.rng.uniform(0.3, 2.0, size=(1, 1)), 2)
        if kind == "ball":
            inner = AtomSpec("function_norm", np.ones((1, 1)), function=function.name)
            composer.rows.append(RowSpec(f"ball of {function.name}", ExpressionSpec(constant(-1.5), (inner,)), "<="))
        elif kind.startswith("norm1"):
            assert function.dictionary is not None
            count = len(function.dictionary)
            coefficients = Affine(np.zeros(count), (TermSpec(f"{function.name}.coefficients", np.eye(count)),))
            inner = AtomSpec("norm1", weight if kind == "norm1" else np.ones((1, 1)), coefficients)
            if kind == "norm1":
                atoms.append(inner)
            else:
                composer.rows.append(
                    RowSpec(f"ball of {function.name}", ExpressionSpec(constant(-2.0), (inner,)), "<=")
                )
        else:
            atoms.append(AtomSpec(kind, weight, function=function.name))
    if composer.chance(0.5):
        atoms.append(composer.maxima())
    if composer.chance(0.4):
        atoms.append(composer.atom("norm", "norm1", "sum_squares", "quad_form"))
    if composer.chance(0.6):
        for variable in composer.variables:
            if not variable.name.endswith(".coefficients"):
                argument = Affine(np.zeros(variable.size), (TermSpec(variable.name, np.eye(variable.size)),))
                atoms.append(AtomSpec("sum_squares", np.full((1, 1), 0.1), argument))
    return ExpressionSpec(composer.affine(1, 0.6), tuple(atoms))


def column_scaling(composer: Composer, name: str, size: int, largest: int) -> ScalingSpec:
    """Return random column scales of one variable; one program in four is not scaled."""
    exponents = (
        composer.rng.integers(-largest, largest + 1, size) if composer.chance(0.75) else np.zeros(size, dtype=int)
    )
    return ScalingSpec({name: np.ldexp(1.0, exponents)})
