"""Themes of random programs without functions: linear, quadratic and conic, feasible or not, bounded or not."""

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
from tests.fuzz.parts import MAX_SCALE_EXPONENT, add_variables, column_scaling, constant, finish_plan, make_program


def linear(composer: Composer) -> ProgramDescription:
    """Draw a linear program that is feasible, infeasible, unbounded, or infeasible with a ray."""
    add_variables(composer)
    plan = composer.pick(*["feasible"] * 6, "infeasible", "infeasible with a ray", "unbounded")
    composer.add_linear_rows(composer.count(0, 3))
    objective = composer.affine(1)
    return finish_plan(composer, plan, ExpressionSpec(objective))


def quadratic(composer: Composer) -> ProgramDescription:
    """Draw a quadratic program with squares in the objective."""
    add_variables(composer)
    plan = composer.pick(*["feasible"] * 8, "infeasible", "unbounded")
    composer.add_linear_rows(composer.count(0, 2))
    atoms = tuple(composer.atom("sum_squares", "quad_form") for _ in range(composer.count(1, 2)))
    objective = ExpressionSpec(composer.affine(1), atoms)
    return finish_plan(composer, plan, objective)


def box(composer: Composer) -> ProgramDescription:
    """Draw a strictly convex quadratic program without rows, with or without bounds."""
    n = composer.count(1, 6)
    composer.add_variable(n, bounded=float(composer.rng.choice([0.0, 0.5, 0.9])))
    if composer.chance(0.25):
        composer.variables[0] = VariableSpec("x0", np.full(n, -np.inf), np.full(n, np.inf))
    root = composer.numbers(n, n) + 2 * np.eye(n)
    linear = Affine(np.zeros(1), (TermSpec("x0", float(composer.rng.choice([3.0, 30.0])) * composer.numbers(1, n)),))
    if composer.chance(0.5):
        argument = Affine(composer.numbers(n), (TermSpec("x0", root),))
        atom = AtomSpec("sum_squares", np.ones((1, 1)), argument)
    else:
        diagonal = np.ldexp(1.0, 2 * composer.rng.integers(-1, 2, n))
        argument = Affine(np.zeros(n), (TermSpec("x0", np.eye(n)),))
        atom = AtomSpec("quad_form", np.ones((1, 1)), argument, diagonal, np.diag(np.sqrt(diagonal)), folds=True)
    scaling = column_scaling(composer, "x0", n, MAX_SCALE_EXPONENT + 3)
    return replace(make_program(composer, ExpressionSpec(linear, (atom,))), scaling=scaling)


def determined(composer: Composer) -> ProgramDescription:
    """Draw a program whose equations fix the squares of the objective.

    The reduced Hessian is then zero up to rounding.
    """
    n = composer.count(2, 6)
    composer.add_variable(n, bounded=0.0)
    name = composer.variables[0].name
    composer.variables[0] = VariableSpec(name, np.full(n, -np.inf), np.full(n, np.inf))
    k = composer.count(1, n)
    E = composer.rng.integers(-2, 3, size=(k, n)).astype(float)
    integers = np.round(composer.interior_point[name])
    composer.interior_point[name] = integers
    for i in range(k):
        composer.add_row(ExpressionSpec(Affine(np.zeros(1), (TermSpec(name, E[i : i + 1]),))), "==")
    mixed = composer.rng.integers(-2, 3, size=(composer.count(1, 2), k)).astype(float) @ E
    argument = Affine(composer.rng.integers(-3, 4, size=len(mixed)).astype(float), (TermSpec(name, mixed),))
    linear = composer.rng.integers(-2, 3, size=(1, k)).astype(float) @ E if composer.chance(0.5) else np.zeros((1, n))
    objective = ExpressionSpec(
        Affine(np.zeros(1), (TermSpec(name, linear),)), (AtomSpec("sum_squares", np.ones((1, 1)), argument),)
    )
    return make_program(composer, objective)


def conic(composer: Composer) -> ProgramDescription:
    """Draw a conic program with norms and quadratics in the objective and in rows."""
    add_variables(composer)
    plan = composer.pick(*["feasible"] * 8, "infeasible", "unbounded")
    composer.add_linear_rows(composer.count(0, 2))
    kinds = ("norm", "norm1", "sum_squares", "quad_form")
    for _ in range(composer.count(1, 2)):
        count = 1 if composer.chance(0.8) else 2
        atoms = tuple(composer.atom(*kinds) for _ in range(count))
        composer.add_row(ExpressionSpec(composer.affine(1, 0.3), atoms), "<=", composer.slack(1))
    atoms = tuple(composer.atom(*kinds) for _ in range(composer.count(0, 2)))
    return finish_plan(composer, plan, ExpressionSpec(composer.affine(1), atoms))


def ellipsoid(composer: Composer) -> ProgramDescription:
    """Draw a program with a linear objective over an ill-conditioned ellipsoid in a box."""
    n = composer.count(1, 5)
    composer.variables.append(VariableSpec("x0", np.full(n, -np.inf), np.full(n, np.inf)))
    composer.interior_point["x0"] = np.zeros(n)
    lower = np.tril(composer.rng.integers(-1, 2, size=(n, n)), -1) + np.eye(n)
    argument = Affine(np.zeros(n), (TermSpec("x0", np.eye(n)),))
    atom = AtomSpec("quad_form", np.ones((1, 1)), argument, lower @ lower.T, lower.T, folds=True)
    composer.rows.append(RowSpec("ellipsoid", ExpressionSpec(constant(-1.0), (atom,)), "<="))
    composer.add_box(float(10.0 ** composer.count(0, 3)))
    objective = ExpressionSpec(Affine(np.zeros(1), (TermSpec("x0", composer.numbers(1, n)),)))
    return replace(make_program(composer, objective), scaling=column_scaling(composer, "x0", n, 12))


def small(composer: Composer) -> ProgramDescription:
    """Draw a linear program with one or two variables and rows, and scales up to 1e6."""
    n = composer.count(1, 2)
    composer.add_variable(n, bounded=0.0)
    for _ in range(composer.count(1, 2)):
        composer.add_row(ExpressionSpec(composer.affine(composer.count(1, 2), 1.0)), composer.pick("<=", ">="))
    objective = ExpressionSpec(composer.affine(1, 1.0, constant=False))
    scaling = column_scaling(composer, "x0", n, MAX_SCALE_EXPONENT)
    return replace(make_program(composer, objective), scaling=scaling)


def saddle(composer: Composer) -> ProgramDescription:
    """Draw a separable, partly concave quadratic program over a box, with weights of very different sizes."""
    n = composer.count(1, 5)
    composer.add_variable(n, bounded=1.0)
    signs = np.where(composer.rng.permutation(n) < composer.count(1, n), -1.0, 1.0)
    weight = signs * (np.abs(composer.numbers(n)) + 0.1)
    atom = AtomSpec("quad_form", np.ones((1, 1)), Affine(np.zeros(n), (TermSpec("x0", np.eye(n)),)), weight, folds=True)
    slope = composer.numbers(1, n) * (composer.rng.random((1, n)) < 0.3)
    linear = Affine(np.zeros(1), (TermSpec("x0", slope + 0.0),))
    program = make_program(composer, ExpressionSpec(linear, (atom,)), maximize=False)
    scaling = column_scaling(composer, "x0", n, MAX_SCALE_EXPONENT)
    if composer.chance(0.5):
        # Concave directions get tiny weights and wide bounds, and convex directions get large weights.
        scaling = ScalingSpec(
            {"x0": np.ldexp(1.0, composer.rng.integers(12, MAX_SCALE_EXPONENT, n) * signs.astype(int))}
        )
    return replace(program, convex=False, scaling=scaling)
