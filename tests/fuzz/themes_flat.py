"""Themes over variables: linear, quadratic and conic programs, feasible or not, bounded or not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.fuzz.composer import Composer
from tests.fuzz.descriptions import Affine, Atom, Description, Expression, Row, Scaling, Term, Variable
from tests.fuzz.parts import LARGEST_EXPONENT, add_variables, column_scaling, constant, described, planned


def linear(composer: Composer) -> Description:
    """A linear program: feasible, infeasible, unbounded, or infeasible with a ray."""
    add_variables(composer)
    plan = composer.pick(*["feasible"] * 6, "infeasible", "infeasible with a ray", "unbounded")
    composer.add_linear_rows(composer.count(0, 3))
    objective = composer.affine(1)
    return planned(composer, plan, Expression(objective))


def quadratic(composer: Composer) -> Description:
    """A quadratic program with squares in the objective."""
    add_variables(composer)
    plan = composer.pick(*["feasible"] * 8, "infeasible", "unbounded")
    composer.add_linear_rows(composer.count(0, 2))
    atoms = tuple(composer.atom("sum_squares", "quad_form") for _ in range(composer.count(1, 2)))
    objective = Expression(composer.affine(1), atoms)
    return planned(composer, plan, objective)


def box(composer: Composer) -> Description:
    """A strictly convex quadratic over a box or over nothing, without any rows."""
    n = composer.count(1, 6)
    composer.add_variable(n, bounded=float(composer.rng.choice([0.0, 0.5, 0.9])))
    if composer.chance(0.25):
        composer.variables[0] = Variable("x0", np.full(n, -np.inf), np.full(n, np.inf))
    root = composer.numbers(n, n) + 2 * np.eye(n)
    linear = Affine(np.zeros(1), (Term("x0", float(composer.rng.choice([3.0, 30.0])) * composer.numbers(1, n)),))
    if composer.chance(0.5):
        argument = Affine(composer.numbers(n), (Term("x0", root),))
        atom = Atom("sum_squares", np.ones((1, 1)), argument)
    else:
        diagonal = np.ldexp(1.0, 2 * composer.rng.integers(-1, 2, n))
        argument = Affine(np.zeros(n), (Term("x0", np.eye(n)),))
        atom = Atom("quad_form", np.ones((1, 1)), argument, diagonal, np.diag(np.sqrt(diagonal)), folds=True)
    scaling = column_scaling(composer, "x0", n, LARGEST_EXPONENT + 3)
    return replace(described(composer, Expression(linear, (atom,))), scaling=scaling)


def determined(composer: Composer) -> Description:
    """Equations that determine the squares of the objective, so that the reduced Hessian is rounding alone."""
    n = composer.count(2, 6)
    composer.add_variable(n, bounded=0.0)
    name = composer.variables[0].name
    composer.variables[0] = Variable(name, np.full(n, -np.inf), np.full(n, np.inf))
    k = composer.count(1, n)
    E = composer.rng.integers(-2, 3, size=(k, n)).astype(float)
    whole = np.round(composer.near[name])
    composer.near[name] = whole
    for i in range(k):
        composer.add_row(Expression(Affine(np.zeros(1), (Term(name, E[i : i + 1]),))), "==")
    mixed = composer.rng.integers(-2, 3, size=(composer.count(1, 2), k)).astype(float) @ E
    argument = Affine(composer.rng.integers(-3, 4, size=len(mixed)).astype(float), (Term(name, mixed),))
    linear = composer.rng.integers(-2, 3, size=(1, k)).astype(float) @ E if composer.chance(0.5) else np.zeros((1, n))
    objective = Expression(
        Affine(np.zeros(1), (Term(name, linear),)), (Atom("sum_squares", np.ones((1, 1)), argument),)
    )
    return described(composer, objective)


def conic(composer: Composer) -> Description:
    """Norms and quadratics in the objective and in rows."""
    add_variables(composer)
    plan = composer.pick(*["feasible"] * 8, "infeasible", "unbounded")
    composer.add_linear_rows(composer.count(0, 2))
    kinds = ("norm", "norm1", "sum_squares", "quad_form")
    for _ in range(composer.count(1, 2)):
        count = 1 if composer.chance(0.8) else 2
        atoms = tuple(composer.atom(*kinds) for _ in range(count))
        composer.add_row(Expression(composer.affine(1, 0.3), atoms), "<=", composer.room(1))
    atoms = tuple(composer.atom(*kinds) for _ in range(composer.count(0, 2)))
    return planned(composer, plan, Expression(composer.affine(1), atoms))


def ellipsoid(composer: Composer) -> Description:
    """A linear objective over an ill-conditioned ellipsoid, in a box."""
    n = composer.count(1, 5)
    composer.variables.append(Variable("x0", np.full(n, -np.inf), np.full(n, np.inf)))
    composer.near["x0"] = np.zeros(n)
    lower = np.tril(composer.rng.integers(-1, 2, size=(n, n)), -1) + np.eye(n)
    argument = Affine(np.zeros(n), (Term("x0", np.eye(n)),))
    atom = Atom("quad_form", np.ones((1, 1)), argument, lower @ lower.T, lower.T, folds=True)
    composer.rows.append(Row("ellipsoid", Expression(constant(-1.0), (atom,)), "<="))
    composer.add_box(float(10.0 ** composer.count(0, 3)))
    objective = Expression(Affine(np.zeros(1), (Term("x0", composer.numbers(1, n)),)))
    return replace(described(composer, objective), scaling=column_scaling(composer, "x0", n, 12))


def small(composer: Composer) -> Description:
    """A linear program with one or two variables and rows, and scales up to 1e6."""
    n = composer.count(1, 2)
    composer.add_variable(n, bounded=0.0)
    for _ in range(composer.count(1, 2)):
        composer.add_row(Expression(composer.affine(composer.count(1, 2), 1.0)), composer.pick("<=", ">="))
    objective = Expression(composer.affine(1, 1.0, constant=False))
    scaling = column_scaling(composer, "x0", n, LARGEST_EXPONENT)
    return replace(described(composer, objective), scaling=scaling)


def saddle(composer: Composer) -> Description:
    """A separable quadratic over a box that is concave in some directions, with weights of very different sizes."""
    n = composer.count(1, 5)
    composer.add_variable(n, bounded=1.0)
    signs = np.where(composer.rng.permutation(n) < composer.count(1, n), -1.0, 1.0)
    weight = signs * (np.abs(composer.numbers(n)) + 0.1)
    atom = Atom("quad_form", np.ones((1, 1)), Affine(np.zeros(n), (Term("x0", np.eye(n)),)), weight, folds=True)
    slope = composer.numbers(1, n) * (composer.rng.random((1, n)) < 0.3)
    linear = Affine(np.zeros(1), (Term("x0", slope + 0.0),))
    program = described(composer, Expression(linear, (atom,)), maximize=False)
    scaling = column_scaling(composer, "x0", n, LARGEST_EXPONENT)
    if composer.chance(0.5):
        # Concave directions with tiny weights and long ranges, next to large convex weights.
        scaling = Scaling({"x0": np.ldexp(1.0, composer.rng.integers(12, LARGEST_EXPONENT, n) * signs.astype(int))})
    return replace(program, convex=False, scaling=scaling)
