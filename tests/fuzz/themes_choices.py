"""Themes with choices or changes: witnesses, integers, and the parameters of sessions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.fuzz.composer import Composer
from tests.fuzz.descriptions import Affine, Atom, Description, Expression, Row, Term, Variable
from tests.fuzz.parts import add_rows_over_bags, constant, described, flipped, planned, routed, selections


def witnesses(composer: Composer) -> Description:
    """A DC program, few enough witnesses to enumerate them all."""
    composer.dimension = composer.count(1, 2)
    bags = composer.add_bags(composer.count(1, 3), 3, composer.chance(0.3), mirrored=composer.chance(0.3))
    while selections(composer, bags) > 9:
        composer.bags.pop()
        bags = composer.add_bags(composer.count(1, 2), 3, False)
    spans = composer.bags[bags].spans
    if composer.chance(0.4):
        composer.add_function(0.3, False)
    else:
        composer.add_variable(composer.dimension, bounded=float(composer.rng.choice([0.0, 0.5, 1.0])))
    m = len(spans)
    inner = composer.over_bags(bags)
    y = np.where(composer.rng.random(m) < 0.7, 1.0, -1.0) * (composer.rng.random(m) < 0.9)
    where = composer.pick("rows", "rows", "slack rows", "objective")
    objective: Expression
    if where == "objective":
        objective = Expression(
            composer.affine(1, 0.5), (Atom("bag_max", -np.abs(composer.numbers(1, m)), inner, bags=bags),)
        )
    else:
        level = np.round(composer.rng.uniform(-1, 2, size=m), 2)
        terms: tuple[Term, ...] = ()
        cost = Affine(np.zeros(1))
        if where == "slack rows":
            slack = composer.add_variable(m)
            composer.variables[-1] = replace(slack, lower=np.zeros(m), upper=np.full(m, np.inf), scalar=False)
            terms = (Term(slack.name, np.eye(m)),)
            cost = Affine(np.zeros(1), (Term(slack.name, np.ones((1, m))),))
        row = Expression(Affine(-y * level, terms), (Atom("bag_max", np.diag(y) + 0.0, inner, bags=bags),))
        composer.rows.append(Row(f"r{len(composer.rows)}", row, ">="))
        extra = composer.affine(1, 0.8) if where == "rows" and composer.chance(0.7) else cost
        objective = Expression(extra)
    if composer.functions:
        name = composer.functions[0].name
        if composer.chance(0.5):
            atom = Atom("function_norm_squared", np.full((1, 1), 0.5), function=name)
            objective = Expression(objective.affine, (*objective.atoms, atom))
        else:
            ball = Expression(constant(-2.0), (Atom("function_norm", np.ones((1, 1)), function=name),))
            composer.rows.append(Row("ball", ball, "<="))
    elif composer.chance(0.3):
        composer.add_box(5.0)
    elif composer.chance(0.3):
        atom = Atom(
            "sum_squares",
            np.full((1, 1), 0.5),
            Affine(np.zeros(composer.dimension), (Term(composer.variables[0].name, np.eye(composer.dimension)),)),
        )
        objective = Expression(objective.affine, (*objective.atoms, atom))
    scheme = composer.pick("ccp", "representatives", "exact", "exact")
    solvers = tuple(composer.pick("highs", "clarabel", "ecos", "auto", "scip") for _ in range(1))
    maximize = composer.chance(0.3)
    program = described(composer, flipped(objective) if maximize else objective, maximize)
    return replace(program, scheme=scheme, solvers=solvers, lazy=composer.chance(0.5) or None)


def integer(composer: Composer) -> Description:
    """A mixed-integer linear program with few integer points, bounds between integers included."""
    n = composer.count(1, 3)
    low = np.asarray(composer.rng.integers(-2, 1, n) + composer.rng.choice([0.0, 0.2, 0.5, 0.9], n), dtype=float)
    width = np.round(composer.rng.choice([0.3, 1.0, 1.5, 2.0, 3.0], n), 1)
    composer.variables.append(Variable("k", low, np.round(low + width, 1), integer=True))
    near = np.clip(np.round(low + width / 2), np.ceil(low), np.maximum(np.ceil(low), np.floor(low + width)))
    composer.near["k"] = near
    if composer.chance(0.4):
        composer.add_variable(composer.count(1, 2), bounded=0.7)
    if composer.chance(0.3):
        composer.add_bags(composer.count(1, 3), 3, False)
    composer.add_linear_rows(composer.count(0, 2))
    atoms: tuple[Atom, ...] = ()
    if composer.bags and composer.chance(0.7):
        atoms = (composer.maxima(),)
    elif composer.chance(0.2):
        atoms = (composer.atom("norm1"),)
    plan = composer.pick(*["feasible"] * 5, "infeasible", "parity")
    if plan == "parity":
        parity = Affine(np.array([1.0]), (Term("k", np.asarray(2.0 * composer.rng.integers(-2, 3, size=(1, n)))),))
        composer.rows.append(Row(f"r{len(composer.rows)}", Expression(parity), "=="))
        plan = "feasible"
    weak = ("scip", "auto", "cvxpy:HIGHS", "cvxpy:SCIPY", "pyomo:highs")
    solver = composer.pick("highs", "highs", *weak)
    program = planned(composer, plan, Expression(composer.affine(1), atoms))
    return replace(program, solvers=(solver,))


def session(composer: Composer) -> Description:
    """A session whose parameters change; they occur in rows, in atoms and as factors."""
    composer.settings = [{}, {}, {}]
    composer.dimension = 2
    bags = composer.add_bags(composer.count(1, 3), 3, False) if composer.chance(0.6) else None
    if bags is not None and composer.chance(0.3):
        composer.add_function(0.3, False)
    size = composer.count(1, 4)
    composer.add_variable(size, bounded=0.6)
    composer.variables[-1] = replace(composer.variables[-1], scalar=False)
    composer.add_parameter(size)
    if composer.chance(0.5):
        composer.add_parameter(composer.count(1, 3))
    kinds = composer.pick("linear", "square", "conic", "conic")
    names = {"linear": ("norm1",), "square": ("sum_squares", "quad_form"), "conic": ("norm", "norm1", "sum_squares")}[
        kinds
    ]
    atoms = [composer.atom(*names) for _ in range(composer.count(0, 2))]
    if bags is not None and composer.chance(0.7):
        maxima = composer.maxima()
        if composer.chance(0.4):
            weight = composer.add_parameter(maxima.multiplier.shape[1], sign=1)
            maxima = replace(maxima, times=weight.name)
        atoms.append(maxima)
    composer.add_linear_rows(composer.count(0, 2))
    if composer.chance(0.4):
        composer.add_row(Expression(composer.affine(1, 0.3), (composer.atom(*names),)), "<=", composer.room(1))
    if bags is not None and composer.chance(0.4):
        add_rows_over_bags(composer)
    if composer.chance(0.7):
        composer.add_box(4.0)
    objective = Expression(composer.affine(1), tuple(atoms))
    for one in composer.functions:
        atom = Atom("function_norm_squared", np.full((1, 1), 0.5), function=one.name)
        objective = Expression(objective.affine, (*objective.atoms, atom))
    parameters, settings = tuple(composer.parameters), tuple(composer.settings)
    program = routed(composer, described(composer, objective))
    solvers = (composer.pick("highs", "clarabel", "ecos", "native", "piqp"),)
    return replace(program, parameters=parameters, settings=settings, solvers=solvers)
