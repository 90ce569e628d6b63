"""Themes of random programs with witnesses, integers, or parameters that change in a session."""

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
    TermSpec,
    VariableSpec,
)
from tests.fuzz.parts import (
    add_rows_over_bags,
    choose_form,
    constant,
    count_selections,
    finish_plan,
    make_program,
    negate_atoms,
)


def witnesses(composer: Composer) -> ProgramDescription:
    """Draw a DC program with so few instances that all choices of witnesses can be enumerated."""
    composer.dimension = composer.count(1, 2)
    bags = composer.add_bags(composer.count(1, 3), 3, composer.chance(0.3), mirrored=composer.chance(0.3))
    while count_selections(composer, bags) > 9:
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
    place = composer.pick("rows", "rows", "slack rows", "objective")
    objective: ExpressionSpec
    if place == "objective":
        objective = ExpressionSpec(
            composer.affine(1, 0.5), (AtomSpec("bag_max", -np.abs(composer.numbers(1, m)), inner, bags=bags),)
        )
    else:
        level = np.round(composer.rng.uniform(-1, 2, size=m), 2)
        terms: tuple[TermSpec, ...] = ()
        cost = Affine(np.zeros(1))
        if place == "slack rows":
            slack = composer.add_variable(m)
            composer.variables[-1] = replace(slack, lower=np.zeros(m), upper=np.full(m, np.inf), scalar=False)
            terms = (TermSpec(slack.name, np.eye(m)),)
            cost = Affine(np.zeros(1), (TermSpec(slack.name, np.ones((1, m))),))
        row = ExpressionSpec(Affine(-y * level, terms), (AtomSpec("bag_max", np.diag(y) + 0.0, inner, bags=bags),))
        composer.rows.append(RowSpec(f"r{len(composer.rows)}", row, ">="))
        extra = composer.affine(1, 0.8) if place == "rows" and composer.chance(0.7) else cost
        objective = ExpressionSpec(extra)
    if composer.functions:
        name = composer.functions[0].name
        if composer.chance(0.5):
            atom = AtomSpec("function_norm_squared", np.full((1, 1), 0.5), function=name)
            objective = ExpressionSpec(objective.affine, (*objective.atoms, atom))
        else:
            ball = ExpressionSpec(constant(-2.0), (AtomSpec("function_norm", np.ones((1, 1)), function=name),))
            composer.rows.append(RowSpec("ball", ball, "<="))
    elif composer.chance(0.3):
        composer.add_box(5.0)
    elif composer.chance(0.3):
        atom = AtomSpec(
            "sum_squares",
            np.full((1, 1), 0.5),
            Affine(np.zeros(composer.dimension), (TermSpec(composer.variables[0].name, np.eye(composer.dimension)),)),
        )
        objective = ExpressionSpec(objective.affine, (*objective.atoms, atom))
    scheme = composer.pick("ccp", "representatives", "exact", "exact")
    solvers = tuple(composer.pick("highs", "clarabel", "ecos", "auto", "scip") for _ in range(1))
    maximize = composer.chance(0.3)
    program = make_program(composer, negate_atoms(objective) if maximize else objective, maximize)
    return replace(program, scheme=scheme, solvers=solvers, lazy=composer.chance(0.5) or None)


def integer(composer: Composer) -> ProgramDescription:
    """Draw a mixed-integer linear program with few integer points; some bounds are not integers."""
    n = composer.count(1, 3)
    low = np.asarray(composer.rng.integers(-2, 1, n) + composer.rng.choice([0.0, 0.2, 0.5, 0.9], n), dtype=float)
    width = np.round(composer.rng.choice([0.3, 1.0, 1.5, 2.0, 3.0], n), 1)
    composer.variables.append(VariableSpec("k", low, np.round(low + width, 1), integer=True))
    centre = np.clip(np.round(low + width / 2), np.ceil(low), np.maximum(np.ceil(low), np.floor(low + width)))
    composer.interior_point["k"] = centre
    if composer.chance(0.4):
        composer.add_variable(composer.count(1, 2), bounded=0.7)
    if composer.chance(0.3):
        composer.add_bags(composer.count(1, 3), 3, False)
    composer.add_linear_rows(composer.count(0, 2))
    atoms: tuple[AtomSpec, ...] = ()
    if composer.bags and composer.chance(0.7):
        atoms = (composer.maxima(),)
    elif composer.chance(0.2):
        atoms = (composer.atom("norm1"),)
    plan = composer.pick(*["feasible"] * 5, "infeasible", "parity")
    if plan == "parity":
        parity = Affine(np.array([1.0]), (TermSpec("k", np.asarray(2.0 * composer.rng.integers(-2, 3, size=(1, n)))),))
        composer.rows.append(RowSpec(f"r{len(composer.rows)}", ExpressionSpec(parity), "=="))
        plan = "feasible"
    other_solvers = ("scip", "auto", "cvxpy:HIGHS", "cvxpy:SCIPY", "pyomo:highs")
    solver = composer.pick("highs", "highs", *other_solvers)
    program = finish_plan(composer, plan, ExpressionSpec(composer.affine(1), atoms))
    return replace(program, solvers=(solver,))


def session(composer: Composer) -> ProgramDescription:
    """Draw a program whose parameters change between solves; they occur in rows, in atoms and as factors."""
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
        composer.add_row(ExpressionSpec(composer.affine(1, 0.3), (composer.atom(*names),)), "<=", composer.slack(1))
    if bags is not None and composer.chance(0.4):
        add_rows_over_bags(composer)
    if composer.chance(0.7):
        composer.add_box(4.0)
    objective = ExpressionSpec(composer.affine(1), tuple(atoms))
    for function in composer.functions:
        atom = AtomSpec("function_norm_squared", np.full((1, 1), 0.5), function=function.name)
        objective = ExpressionSpec(objective.affine, (*objective.atoms, atom))
    parameters, settings = tuple(composer.parameters), tuple(composer.settings)
    program = choose_form(composer, make_program(composer, objective))
    solvers = (composer.pick("highs", "clarabel", "ecos", "native", "piqp"),)
    return replace(program, parameters=parameters, settings=settings, solvers=solvers)
