"""After `set_parameter`, a session has the optimum of a fresh solve, wherever the parameter occurs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from milopt import RBF, Program, as_bags, bag_max, norm, norm1, quad_form, sum_squares
from milopt.compilation.minorant import StandIn
from milopt.compilation.status import PointStatus, Termination
from milopt.declaration.atoms.maximum import BagMax
from milopt.declaration.programs.expression import Expression
from milopt.outcome.outcome import Outcome
from milopt.solving import registry
from milopt.solving.options import Options
from milopt.solving.step_session import StepSession

SIZES = (3, 1, 4, 2)
COUNT = sum(SIZES)
CONIC = ("clarabel", "ecos", "cvxpy:CLARABEL")
LINEAR = ("highs", "native", "cvxpy:HIGHS", "pyomo:highs", *CONIC)
QUADRATIC = ("highs", "cvxpy:OSQP", *CONIC)


@dataclass(frozen=True)
class Inputs:
    """Values of the parameters of one program."""

    shift: np.ndarray
    scale: np.ndarray
    weight: float

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Inputs:
        """Draw random values; some scales are zero, so that entries of the rows appear and disappear."""
        scale = rng.uniform(0.5, 2.0, size=COUNT) * (rng.random(COUNT) < 0.8)
        return cls(2 * rng.normal(size=COUNT), scale, float(rng.uniform(0.5, 2.0)))


class Pieces:
    """Parts of the programs: an affine vector with parameters in its offset and in its coefficients."""

    def __init__(self, seed: int, inputs: Inputs) -> None:
        rng = np.random.default_rng(seed)
        self.program = Program("parametric")
        self.x = self.program.variable("x", 3, lower=-2, upper=2)
        self.y = self.program.variable("y", 3, lower=-2, upper=2)
        self.shift = self.program.parameter("shift", COUNT)
        self.scale = self.program.parameter("scale", COUNT, sign=+1)
        self.weight = self.program.parameter("weight", (), sign=+1)
        self.shift.value, self.scale.value, self.weight.value = inputs.shift, inputs.scale, inputs.weight
        self.bags = as_bags([rng.normal(size=(size, 2)) for size in SIZES])
        # Each product of two matrices has unsorted columns in scipy.
        inner = rng.normal(size=(5, 3)) * (rng.random((5, 3)) < 0.7)
        outer = rng.normal(size=(COUNT, 5)) * (rng.random((COUNT, 5)) < 0.7)
        self.cost = rng.normal(size=3)
        self.semidefinite = (lambda root: root @ root.T)(rng.normal(size=(COUNT, COUNT)))
        self.vector = self.scale * (outer @ (inner @ self.x)) + outer @ (inner @ self.y) + self.shift

    def set(self, session: StepSession, inputs: Inputs) -> None:
        """Set the parameters in a session of this program."""
        new = {self.shift: inputs.shift, self.scale: inputs.scale, self.weight: inputs.weight}
        session.set_parameters_and_minorants(new, {})


Atom = Callable[[Pieces], Expression]
Place = Callable[[Pieces, Atom], None]

ATOMS: dict[str, tuple[Atom, tuple[str, ...]]] = {
    "norm": (lambda p: norm(p.vector), CONIC),
    "norm1": (lambda p: norm1(p.vector), LINEAR),
    "bag_max": (lambda p: bag_max(p.vector, p.bags).sum(), LINEAR),
    "two maxima": (lambda p: (bag_max(p.vector, p.bags) + bag_max(-p.vector, p.bags)).sum(), LINEAR),
    "sum_squares": (lambda p: sum_squares(p.vector), CONIC),
    "quad_form": (lambda p: quad_form(p.vector, p.semidefinite), CONIC),
    "norms": (lambda p: norm(p.vector) + norm1(p.vector) + sum_squares(p.vector), CONIC),
    "norm and maxima": (lambda p: norm(p.vector) + bag_max(p.vector, p.bags).sum(), CONIC),
}


def in_objective(p: Pieces, atom: Atom) -> None:
    p.program.minimize(atom(p) + p.cost @ p.x - p.cost @ p.y)


def weighted_in_objective(p: Pieces, atom: Atom) -> None:
    p.program.minimize(p.weight * atom(p) + p.cost @ p.x - p.cost @ p.y)


def under_a_bound(p: Pieces, atom: Atom) -> None:
    bound = p.program.variable("bound")
    p.program.minimize(bound + p.cost @ p.x)
    p.program.subject_to(atom(p) <= bound, name="bounded")


def beside_another(p: Pieces, atom: Atom) -> None:
    bound = p.program.variable("bound")
    p.program.minimize(bound + p.cost @ p.x)
    p.program.subject_to(atom(p) + p.weight * norm1(p.x - p.shift[:3]) <= bound, name="bounded")


PLACES = (in_objective, weighted_in_objective, under_a_bound, beside_another)
CASES = [
    pytest.param(atom, place, solver, id=f"{name}-{place.__name__}-{solver}")
    for name, (atom, solvers) in ATOMS.items()
    for place in PLACES
    for solver in (*solvers, *(("highs",) if "sum" in name or "quad" in name else ()))
    if solver != "highs" or solvers is LINEAR or place in (in_objective, weighted_in_objective)
]


def _optimum(outcome: Outcome) -> float:
    assert outcome.termination is Termination.OPTIMAL, outcome.message
    assert outcome.status is PointStatus.CERTIFIED
    return outcome.objective


@pytest.mark.parametrize(("atom", "place", "solver"), CASES)
def test_session_has_the_optimum_of_a_fresh_solve(atom: Atom, place: Place, solver: str) -> None:
    rng = np.random.default_rng(5)
    values = [Inputs.drawn(rng) for _ in range(3)]
    optima = []
    for inputs in values:
        fresh = Pieces(3, inputs)
        place(fresh, atom)
        with StepSession(fresh.program, registry.get_solver("clarabel")) as session:
            optima.append(_optimum(session.solve()))
    pieces = Pieces(3, values[0])
    place(pieces, atom)
    with StepSession(pieces.program, registry.get_solver(solver)) as session:
        assert _optimum(session.solve()) == pytest.approx(optima[0], rel=1e-6, abs=1e-6)
        for inputs, optimum in zip(values[1:], optima[1:], strict=True):
            pieces.set(session, inputs)
            assert _optimum(session.solve()) == pytest.approx(optimum, rel=1e-6, abs=1e-6)
    assert np.ptp(optima) > 1e-3, "a change that changes nothing proves nothing"


Fit = Callable[[Pieces], None]


def maxima_of_a_function(p: Pieces) -> None:
    f = p.program.function("f", RBF(0.5))
    p.program.minimize(p.weight * f.norm_squared() + bag_max(p.scale * f(p.bags) + p.shift, p.bags).sum())


def norm_of_a_function(p: Pieces) -> None:
    f = p.program.function("f", RBF(0.5))
    p.program.minimize(p.weight * f.norm() + norm(p.scale * f(p.bags) - p.shift))


def norm_of_a_function_with_a_dictionary(p: Pieces) -> None:
    f = p.program.function("f", RBF(0.5), dictionary=p.bags.instances[:4])
    p.program.minimize(p.weight * f.norm() + norm1(p.scale * f(p.bags) - p.shift) + 0.1 * f.norm_squared())


def square_of_a_function(p: Pieces) -> None:
    f = p.program.function("f", RBF(0.5))
    errors = sum_squares(p.scale * f(p.bags) - p.shift)
    p.program.minimize(p.weight * f.norm_squared() + errors + norm(p.x - p.shift[:3]))


@pytest.mark.parametrize("lazy", [False, True], ids=["whole", "lazy"])
@pytest.mark.parametrize("solver", CONIC)
@pytest.mark.parametrize(
    "fit", [maxima_of_a_function, norm_of_a_function, norm_of_a_function_with_a_dictionary, square_of_a_function]
)
def test_session_over_a_function_has_the_optimum_of_a_fresh_solve(fit: Fit, solver: str, lazy: bool) -> None:
    rng = np.random.default_rng(8)
    values = [Inputs.drawn(rng) for _ in range(3)]
    pieces = Pieces(4, values[0])
    fit(pieces)
    with StepSession(pieces.program, registry.get_solver(solver), Options(lazy=lazy)) as session:
        for inputs in values:
            pieces.set(session, inputs)
            fresh = Pieces(4, inputs)
            fit(fresh)
            with StepSession(fresh.program, registry.get_solver("clarabel"), Options(lazy=False)) as other:
                expected = _optimum(other.solve())
            assert _optimum(session.solve()) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_session_keeps_up_with_a_parameter_inside_a_witness() -> None:
    rng = np.random.default_rng(2)
    values = [Inputs.drawn(rng) for _ in range(2)]

    def declared(inputs: Inputs) -> tuple[Pieces, dict[BagMax, StandIn]]:
        pieces = Pieces(6, inputs)
        maximum = bag_max(pieces.vector, pieces.bags)
        pieces.program.minimize(norm1(pieces.x) + norm1(pieces.y) + norm1(pieces.x - pieces.shift[:3]))
        pieces.program.subject_to(maximum >= -0.5, name="above")
        atom = pieces.program.maxima()[0]
        return pieces, {atom: pieces.x[0] + 0.1 * pieces.shift[:4]}

    pieces, witnesses = declared(values[0])
    with StepSession(pieces.program, registry.get_solver("highs"), witnesses=witnesses) as session:
        first = _optimum(session.solve())
        session.set_parameter(pieces.shift, values[1].shift)
        second = _optimum(session.solve())
    fresh, witnesses = declared(values[1])
    with StepSession(fresh.program, registry.get_solver("highs"), witnesses=witnesses) as session:
        assert second == pytest.approx(_optimum(session.solve()), abs=1e-7)
    assert first != pytest.approx(second, abs=1e-3)
