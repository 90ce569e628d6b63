"""Combinatorial programs: integer programs, and programs with maxima of bags that are not convex and need witnesses."""

from __future__ import annotations

from itertools import product

import numpy as np

from milopt import RBF, Program, as_bags, bag_max, norm, norm1, sum_squares
from milopt.arrays import Vector
from milopt.testing.known_programs.known_program import (
    INFEASIBLE,
    LP,
    MILP,
    MIQP,
    MISOCP,
    QP,
    SOCP,
    UNBOUNDED,
    ProgramWithAnswer,
    rbf_gram,
    register_known_program,
    small_bags,
)


@register_known_program("milp, knapsack", MILP)
def _build_knapsack() -> ProgramWithAnswer:
    rng = np.random.default_rng(41)
    value, weight = rng.integers(5, 30, 9).astype(float), rng.integers(3, 20, 9).astype(float)
    room = float(weight.sum() // 2)
    program = Program("knapsack")
    x = program.variable("x", 9, lower=0, upper=1, integer=True)
    program.maximize(value @ x)
    program.subject_to(weight @ x <= room, name="room")
    packs = np.array(list(product((0.0, 1.0), repeat=9)))
    return ProgramWithAnswer(program, float((packs @ value)[packs @ weight <= room].max()))


@register_known_program("milp, scaled by 1e6", MILP)
def _build_milp_scaled() -> ProgramWithAnswer:
    program = Program("fixed charge")
    flow = program.variable("flow", 3, lower=0)
    built = program.variable("built", 3, lower=0, upper=1, integer=True)
    program.minimize(np.array([1.0, 2.0, 3.0]) @ flow + np.array([9e6, 4e6, 1e6]) @ built)
    program.subject_to(flow <= 1e6 * built, name="only if built")
    program.subject_to(flow.sum() >= 1.5e6, name="demand")
    # The last two sites: 4e6 + 1e6 for building, 1e6 * 2 + 0.5e6 * 3 for flow.
    return ProgramWithAnswer(program, 8.5e6)


@register_known_program("milp, empty blocks", MILP)
def _build_milp_empty_blocks() -> ProgramWithAnswer:
    program = Program("empty blocks")
    x = program.variable("x", 2, lower=0, integer=True)
    nothing = program.variable("nothing", 0, integer=True)
    program.minimize(x.sum())
    program.subject_to(nothing >= 0, name="empty rows")
    program.subject_to(2 * x >= 1, name="half")
    return ProgramWithAnswer(program, 2.0, {"x": np.ones(2)})


@register_known_program("milp, infeasible", MILP, INFEASIBLE, "parity")
def _build_milp_infeasible() -> ProgramWithAnswer:
    program = Program("parity")
    x = program.variable("x", 2, lower=0, upper=5, integer=True)
    program.minimize(x.sum())
    program.subject_to(2 * x[0] - 4 * x[1] == 1, name="parity")
    return ProgramWithAnswer(program)


@register_known_program("milp, unbounded", MILP, UNBOUNDED, "runaway")
def _build_milp_unbounded() -> ProgramWithAnswer:
    program = Program("unbounded integers")
    x = program.variable("runaway", lower=0, integer=True)
    program.maximize(x)
    return ProgramWithAnswer(program)


@register_known_program("miqp, closest lattice point", MIQP)
def _build_miqp_lattice() -> ProgramWithAnswer:
    rng = np.random.default_rng(42)
    basis, target = rng.normal(size=(4, 3)), 3 * rng.normal(size=4)
    program = Program("lattice")
    x = program.variable("x", 3, lower=-4, upper=4, integer=True)
    program.minimize(sum_squares(basis @ x - target))
    points = np.array(list(product(np.arange(-4.0, 5.0), repeat=3)))
    values = ((points @ basis.T - target) ** 2).sum(axis=1)
    return ProgramWithAnswer(program, float(values.min()), {"x": points[values.argmin()]})


@register_known_program("miqp, fixed charges", MIQP)
def _build_miqp_charges() -> ProgramWithAnswer:
    """Build a program that decides which sites to build, each with a fixed charge.

    With the target t, building a site with flow x <= 1 saves x (2 t - x) minus the charge. The site is built, with
    x = min(t, 1), if this saving is positive.
    """
    target, charge = np.array([0.5, 0.9, 2.0, 0.4]), np.array([0.3, 0.5, 1.0, 0.1])
    program = Program("sites")
    flow = program.variable("flow", 4, lower=0)
    built = program.variable("built", 4, lower=0, upper=1, integer=True)
    program.minimize(sum_squares(flow - target) + charge @ built)
    program.subject_to(flow <= built, name="only if built")
    best = np.minimum(target, 1.0)
    pays = (best - target) ** 2 + charge < target**2
    values = np.where(pays, (best - target) ** 2 + charge, target**2)
    return ProgramWithAnswer(program, float(values.sum()), {"built": pays.astype(float)})


@register_known_program("miqp, infeasible", MIQP, INFEASIBLE, "parity")
def _build_miqp_infeasible() -> ProgramWithAnswer:
    program = Program("parity")
    x = program.variable("x", 2, lower=0, upper=5, integer=True)
    program.minimize(sum_squares(x))
    program.subject_to(2 * x[0] - 4 * x[1] == 1, name="parity")
    return ProgramWithAnswer(program)


@register_known_program("misocp, integers in a ball", MISOCP)
def _build_misocp_ball() -> ProgramWithAnswer:
    cost = np.array([1.0, -2.0, 0.7])
    program = Program("ball")
    x = program.variable("x", 3, lower=-3, upper=3, integer=True)
    program.minimize(cost @ x)
    program.subject_to(norm(x) <= 2.9, name="ball")
    points = np.array(list(product(np.arange(-3.0, 4.0), repeat=3)))
    inside = (points**2).sum(axis=1) <= 2.9**2
    return ProgramWithAnswer(program, float((points @ cost)[inside].min()))


@register_known_program("misocp, infeasible", MISOCP, INFEASIBLE, "ball")
def _build_misocp_infeasible() -> ProgramWithAnswer:
    """Build a program over the corners of the unit square in a ball around (1/2, 1/2) that contains no corner."""
    program = Program("no corner")
    x = program.variable("x", 2, lower=0, upper=1, integer=True)
    program.minimize(x.sum())
    program.subject_to(norm(x - 0.5) <= 0.6, name="ball")
    return ProgramWithAnswer(program)


@register_known_program("dc, 1-norm ball", LP, scheme="exact")
def _build_dc_one_norm() -> ProgramWithAnswer:
    """Maximise a convex function over the 1-norm ball: the optimum is a vertex, plus or minus a unit vector."""
    bags = small_bags()
    program = Program("largest maxima, 1-norm")
    w = program.variable("w", 2)
    program.maximize(bag_max(bags.instances @ w, bags).sum())
    program.subject_to(norm1(w) <= 1, name="ball")
    best = max(bags.max(sign * np.asarray(bags.instances)[:, j]).sum() for sign in (-1, 1) for j in range(2))
    return ProgramWithAnswer(program, float(best))


@register_known_program("dc, Hilbert ball", SOCP, scheme="exact")
def _build_dc_hilbert() -> ProgramWithAnswer:
    """Maximise bag maxima over the unit ball: the optimum is the largest norm of a sum of one feature map per bag."""
    bags = small_bags()
    program = Program("largest maxima, Hilbert ball")
    f = program.function("f", RBF(0.7))
    program.maximize(bag_max(f(bags)).sum())
    program.subject_to(f.norm() <= 1, name="ball")
    gram = rbf_gram(np.asarray(bags.instances), 0.7)
    chosen = [
        list(p) for p in product(*(range(a, b) for a, b in zip(bags.offsets[:-1], bags.offsets[1:], strict=True)))
    ]
    return ProgramWithAnswer(program, float(np.sqrt(max(gram[np.ix_(p, p)].sum() for p in chosen))))


@register_known_program("dc, two ends", LP, scheme="exact")
def _build_dc_two_ends() -> ProgramWithAnswer:
    """Maximise max(w, 0.9 w, -1.5 w) over [-1, 1]: optimum 1.5 at w = -1; a step from the bag mean goes to w = 1."""
    bag = as_bags([np.array([[1.0], [0.9], [-1.5]])])
    program = Program("two ends")
    w = program.variable("w", 1, lower=-1, upper=1)
    program.maximize(bag_max(bag.instances @ w, bag).sum())
    return ProgramWithAnswer(program, 1.5, {"w": np.array([-1.0])})


@register_known_program("dc, margins on a line", QP, scheme="exact")
def _build_dc_margins() -> ProgramWithAnswer:
    """Minimise w^2 / 2 + sum_i max(0, 1 - y_i max_{x in B_i} w x).

    The inner maximum is w max(B_i) if w >= 0, and w min(B_i) if w < 0. On either side of 0, the objective is
    convex, and quadratic between the kinks of the hinges.
    """
    bags = as_bags(
        [np.array([[0.4], [-2.0]]), np.array([[0.7], [-0.1]]), np.array([[0.5], [-0.6]]), np.array([[-1.5]])]
    )
    y = np.array([1.0, 1.0, -1.0, 1.0])
    program = Program("margins on a line")
    w = program.variable("w", 1)
    slack = program.variable("slack", 4, lower=0)
    program.minimize(0.5 * sum_squares(w) + slack.sum())
    program.subject_to(y * bag_max(bags.instances @ w, bags) >= 1 - slack, name="margin")
    values = np.asarray(bags.instances)[:, 0]
    best = min(
        _minimum_on_side(y * extreme, side) for extreme, side in ((bags.max(values), 1), (-bags.max(-values), -1))
    )
    return ProgramWithAnswer(program, best)


def _minimum_on_side(slopes: Vector, side: int) -> float:
    """Return the minimum of w^2 / 2 + sum_i max(0, 1 - slopes_i w) over side * w >= 0."""
    breaks = np.unique(np.concatenate([[0.0], 1 / slopes[slopes != 0]]))
    middles = np.concatenate([[breaks[0] - 1], 0.5 * (breaks[1:] + breaks[:-1]), [breaks[-1] + 1]])
    flat = [float(slopes[slopes * w < 1].sum()) for w in middles]
    tried = [w for w in (*breaks, *flat) if side * w >= 0]
    return min(float(0.5 * w**2 + np.maximum(0.0, 1 - slopes * w).sum()) for w in tried)


@register_known_program("dc, infeasible", LP, INFEASIBLE, scheme="exact")
def _build_dc_infeasible() -> ProgramWithAnswer:
    bags = small_bags()
    program = Program("maxima out of reach")
    w = program.variable("w", 2, lower=-1, upper=1)
    program.minimize(w.sum())
    program.subject_to(bag_max(bags.instances @ w, bags) >= 100, name="out of reach")
    return ProgramWithAnswer(program)
