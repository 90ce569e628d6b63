"""Themes over functions of kernel spaces and over dictionaries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.fuzz.composer import Composer
from tests.fuzz.descriptions import (
    Affine,
    Atom,
    Description,
    Expression,
    Function,
    Kernel,
    Row,
    Scaling,
    Term,
    Variable,
)
from tests.fuzz.parts import add_rows_over_bags, described, regularised, routed


def distant(composer: Composer) -> Description:
    """A dictionary far from the points, so that kernel values are tiny, with a bias and no norm."""
    composer.dimension = 1
    composer.functions.append(Function("f", Kernel("rbf", 1.0), np.array([[0.0], [-0.5]])[: composer.count(1, 2)]))
    count = len(composer.functions[0].dictionary)  # type: ignore[arg-type]
    composer.variables.append(Variable("f.coefficients", np.full(count, -np.inf), np.full(count, np.inf)))
    composer.near["f.coefficients"] = np.zeros(count)
    b = composer.add_variable(1, bounded=1.0)
    at = np.round(composer.rng.uniform(2.0, 4.5, size=(1, 1)), 2)
    value = Term("f", np.ones((1, 1)), at=at)
    composer.add_row(Expression(Affine(np.zeros(1), (value, Term(b.name, np.ones((1, 1)))))), "<=")
    square = Atom("sum_squares", np.full((1, 1), 0.1), Affine(np.zeros(1), (Term(b.name, np.ones((1, 1))),)))
    objective = Expression(Affine(np.zeros(1), (replace(value, matrix=-np.ones((1, 1))),)), (square,))
    return described(composer, objective, maximize=False)


def functions(composer: Composer) -> Description:
    """Functions of kernel spaces and over dictionaries, with maxima on their convex side."""
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
    return routed(composer, described(composer, regularised(composer)))


def unregularised(composer: Composer) -> Description:
    """Functions of finite rank without any norm: a Chebyshev fit, or a fit by squares."""
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
        values = Affine(np.zeros(count), (Term(function.name, sign * np.eye(count), at=bags),))
        affine = Affine(sign * target, (Term(t.name, -np.ones((m, 1))),))
        row = Expression(affine, (Atom("bag_max", np.eye(m), values, bags=bags),))
        composer.rows.append(Row(f"r{len(composer.rows)}", row, "<="))
    return routed(composer, described(composer, Expression(Affine(np.zeros(1), (Term(t.name, np.ones((1, 1))),)))))


def laplacian(composer: Composer) -> Description:
    """A support vector machine with a graph Laplacian: f.norm_squared, quad_form(f(bags), L), hinges."""
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
        (Term(function.name, np.diag(y), at=bags, aggregate="bag_mean", bags=bags), Term(slack.name, np.eye(m))),
    )
    composer.rows.append(Row("margin", Expression(hinge), ">="))
    values = Affine(np.zeros(count), (Term(function.name, np.eye(count), at=bags),))
    atoms = (
        Atom("function_norm_squared", np.full((1, 1), 0.5), function=function.name),
        Atom("quad_form", np.full((1, 1), 0.3), values, incidence.T @ incidence, incidence),
    )
    weights = np.round(composer.rng.uniform(0, 2, size=(1, m)), 2) * (composer.rng.random((1, m)) < 0.8)
    objective = Expression(Affine(np.zeros(1), (Term(slack.name, weights + 0.0),)), atoms)
    return routed(composer, described(composer, objective, maximize=False))


def mixture(composer: Composer) -> Description:
    """Two functions in one support vector machine, one of them over a dictionary with duplicate atoms."""
    composer.dimension = 2
    composer.add_function(1.0, True)
    composer.add_function(0.0, False)
    points = composer.points(composer.count(2, 6))
    m = len(points)
    slack = composer.add_variable(m)
    composer.variables[-1] = replace(slack, lower=np.zeros(m), upper=np.full(m, np.inf), scalar=False)
    y = np.diag(np.where(composer.rng.random(m) < 0.5, -1.0, 1.0))
    hinge = Affine(-np.ones(m), (Term("f", y, at=points), Term("g", y, at=points), Term(slack.name, np.eye(m))))
    composer.rows.append(Row("margin", Expression(hinge), ">="))
    atoms = tuple(Atom("function_norm_squared", np.full((1, 1), 0.5), function=name) for name in "fg")
    objective = Expression(Affine(np.zeros(1), (Term(slack.name, np.ones((1, m))),)), atoms)
    return routed(composer, described(composer, objective, maximize=False))


def near_atoms(composer: Composer) -> Description:
    """A dictionary with two atoms that nearly coincide, in a ball of the kernel's space."""
    composer.dimension = 1
    apart = float(np.ldexp(1.0, -int(composer.rng.integers(6, 24))))
    function = composer.add_function(1.0, False)
    atoms = np.array([[0.0], [apart], [1.0]])
    composer.functions[-1] = replace(function, dictionary=atoms, kernel=replace(function.kernel, kind="rbf", s=1.0))
    name = f"{function.name}.coefficients"
    composer.variables[-1] = Variable(name, np.full(3, -np.inf), np.full(3, np.inf))
    composer.near[name] = np.zeros(3)
    ball = Expression(Affine(-np.ones(1)), (Atom("function_norm", np.ones((1, 1)), function=function.name),))
    composer.rows.append(Row("ball", ball, "<="))
    composer.add_box(float(10.0 ** composer.count(2, 9)))
    objective = Affine(np.zeros(1), (Term(name, composer.numbers(1, 3)),))
    return replace(described(composer, Expression(objective)), scaling=Scaling(columns={"": np.ones(1)}))
