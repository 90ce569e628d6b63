"""Themes of random programs with functions of kernel spaces and functions over dictionaries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.fuzz.composer import Composer
from tests.fuzz.descriptions import (
    Affine,
    AtomSpec,
    ExpressionSpec,
    FunctionSpec,
    KernelSpec,
    ProgramDescription,
    RowSpec,
    ScalingSpec,
    TermSpec,
    VariableSpec,
)
from tests.fuzz.parts import add_rows_over_bags, choose_form, make_program, regularised_objective


def distant(composer: Composer) -> ProgramDescription:
    """Draw a program with a dictionary far from the points, so that kernel values are tiny, a bias and no norm."""
    composer.dimension = 1
    composer.functions.append(
        FunctionSpec("f", KernelSpec("rbf", 1.0), np.array([[0.0], [-0.5]])[: composer.count(1, 2)])
    )
    count = len(composer.functions[0].dictionary)  # type: ignore[arg-type]
    composer.variables.append(VariableSpec("f.coefficients", np.full(count, -np.inf), np.full(count, np.inf)))
    composer.interior_point["f.coefficients"] = np.zeros(count)
    b = composer.add_variable(1, bounded=1.0)
    at = np.round(composer.rng.uniform(2.0, 4.5, size=(1, 1)), 2)
    value = TermSpec("f", np.ones((1, 1)), at=at)
    composer.add_row(ExpressionSpec(Affine(np.zeros(1), (value, TermSpec(b.name, np.ones((1, 1)))))), "<=")
    square = AtomSpec("sum_squares", np.full((1, 1), 0.1), Affine(np.zeros(1), (TermSpec(b.name, np.ones((1, 1))),)))
    objective = ExpressionSpec(Affine(np.zeros(1), (replace(value, matrix=-np.ones((1, 1))),)), (square,))
    return make_program(composer, objective, maximize=False)


def functions(composer: Composer) -> ProgramDescription:
    """Draw a program with functions of kernel spaces and over dictionaries, and maxima on their convex side."""
    composer.dimension = composer.count(1, 2)
    duplicates = composer.chance(0.4)
    for _ in range(composer.count(1, 2)):
        composer.add_bags(composer.count(1, 4), 3, duplicates)
    for _ in range(1 if composer.chance(0.7) else 2):
        composer.add_function(0.4, duplicates)
    if composer.chance(0.7):
        composer.add_variable(composer.count(1, 3))
    add_rows_over_bags(composer)
    if composer.chance(0.5):
        composer.add_linear_rows(1)
    return choose_form(composer, make_program(composer, regularised_objective(composer)))


def unregularised(composer: Composer) -> ProgramDescription:
    """Draw a Chebyshev fit of bag maxima by a function of finite rank without a norm."""
    composer.dimension = composer.count(1, 4)
    bags = composer.add_bags(composer.count(1, 5), 6, composer.chance(0.3))
    function = composer.add_function(0.3, composer.chance(0.3))
    if function.dictionary is None and function.kernel.kind == "rbf":
        composer.functions[-1] = replace(function, kernel=replace(function.kernel, kind="linear"))
    t = composer.add_variable(1, bounded=0.0)
    composer.variables[-1] = replace(t, lower=np.full(1, -np.inf), upper=np.full(1, np.inf), scalar=True)
    count, m = len(composer.bags[bags].instances), len(composer.bags[bags].spans)
    target = composer.numbers(m)
    for sign in (1.0, -1.0):
        values = Affine(np.zeros(count), (TermSpec(function.name, sign * np.eye(count), at=bags),))
        affine = Affine(sign * target, (TermSpec(t.name, -np.ones((m, 1))),))
        row = ExpressionSpec(affine, (AtomSpec("bag_max", np.eye(m), values, bags=bags),))
        composer.rows.append(RowSpec(f"r{len(composer.rows)}", row, "<="))
    return choose_form(
        composer, make_program(composer, ExpressionSpec(Affine(np.zeros(1), (TermSpec(t.name, np.ones((1, 1))),))))
    )


def laplacian(composer: Composer) -> ProgramDescription:
    """Draw a support vector machine with a graph Laplacian: ||f||^2, quad_form(f(bags), L) and hinge losses."""
    composer.dimension = 2
    bags = composer.add_bags(composer.count(2, 4), 3, composer.chance(0.4))
    function = composer.add_function(0.2, composer.chance(0.4))
    count, m = len(composer.bags[bags].instances), len(composer.bags[bags].spans)
    slack = composer.add_variable(m)
    composer.variables[-1] = replace(slack, lower=np.zeros(m), upper=np.full(m, np.inf), scalar=False)
    edges = [(i, j) for i in range(count) for j in range(i) if composer.chance(0.4)]
    incidence = np.zeros((max(len(edges), 1), count))
    for e, (i, j) in enumerate(edges):
        incidence[e, i], incidence[e, j] = 1.0, -1.0
    y = np.where(composer.rng.random(m) < 0.5, -1.0, 1.0)
    hinge = Affine(
        -np.ones(m),
        (
            TermSpec(function.name, np.diag(y), at=bags, aggregate="bag_mean", bags=bags),
            TermSpec(slack.name, np.eye(m)),
        ),
    )
    composer.rows.append(RowSpec("margin", ExpressionSpec(hinge), ">="))
    values = Affine(np.zeros(count), (TermSpec(function.name, np.eye(count), at=bags),))
    atoms = (
        AtomSpec("function_norm_squared", np.full((1, 1), 0.5), function=function.name),
        AtomSpec("quad_form", np.full((1, 1), 0.3), values, incidence.T @ incidence, incidence),
    )
    weights = np.round(composer.rng.uniform(0, 2, size=(1, m)), 2) * (composer.rng.random((1, m)) < 0.8)
    objective = ExpressionSpec(Affine(np.zeros(1), (TermSpec(slack.name, weights + 0.0),)), atoms)
    return choose_form(composer, make_program(composer, objective, maximize=False))


def mixture(composer: Composer) -> ProgramDescription:
    """Draw a support vector machine with two functions, one of them over a dictionary with duplicate points."""
    composer.dimension = 2
    composer.add_function(1.0, True)
    composer.add_function(0.0, False)
    points = composer.points(composer.count(2, 6))
    m = len(points)
    slack = composer.add_variable(m)
    composer.variables[-1] = replace(slack, lower=np.zeros(m), upper=np.full(m, np.inf), scalar=False)
    y = np.diag(np.where(composer.rng.random(m) < 0.5, -1.0, 1.0))
    hinge = Affine(
        -np.ones(m), (TermSpec("f", y, at=points), TermSpec("g", y, at=points), TermSpec(slack.name, np.eye(m)))
    )
    composer.rows.append(RowSpec("margin", ExpressionSpec(hinge), ">="))
    atoms = tuple(AtomSpec("function_norm_squared", np.full((1, 1), 0.5), function=name) for name in "fg")
    objective = ExpressionSpec(Affine(np.zeros(1), (TermSpec(slack.name, np.ones((1, m))),)), atoms)
    return choose_form(composer, make_program(composer, objective, maximize=False))


def near_atoms(composer: Composer) -> ProgramDescription:
    """Draw a program over a ball of a kernel's space with a dictionary in which two points nearly coincide."""
    composer.dimension = 1
    distance = float(np.ldexp(1.0, -int(composer.rng.integers(6, 24))))
    function = composer.add_function(1.0, False)
    atoms = np.array([[0.0], [distance], [1.0]])
    composer.functions[-1] = replace(function, dictionary=atoms, kernel=replace(function.kernel, kind="rbf", s=1.0))
    name = f"{function.name}.coefficients"
    composer.variables[-1] = VariableSpec(name, np.full(3, -np.inf), np.full(3, np.inf))
    composer.interior_point[name] = np.zeros(3)
    ball = ExpressionSpec(Affine(-np.ones(1)), (AtomSpec("function_norm", np.ones((1, 1)), function=function.name),))
    composer.rows.append(RowSpec("ball", ball, "<="))
    composer.add_box(float(10.0 ** composer.count(2, 9)))
    objective = Affine(np.zeros(1), (TermSpec(name, composer.numbers(1, 3)),))
    return replace(make_program(composer, ExpressionSpec(objective)), scaling=ScalingSpec(columns={"": np.ones(1)}))
