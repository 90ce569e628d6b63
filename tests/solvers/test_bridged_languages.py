"""`cvxpy:*` and `pyomo:*`: optima, multipliers in milopt's signs, and statuses of programs without an optimum."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from milopt.compilation.answer import Answer
from milopt.compilation.features import Feature
from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.compilation.status import Termination
from milopt.cones import NONNEGATIVE, SECOND_ORDER, ZERO
from milopt.errors import ParameterError, UnknownNameError
from milopt.solvers.cvxpy.solver import CVXPY
from milopt.solvers.pyomo import Pyomo
from milopt.solving.clock import Clock
from milopt.solving.diagnosis import diagnose
from milopt.solving.options import Options
from milopt.solving.solver import Solver
from milopt.solving.solver_support import unsupported_reason

SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (*(CVXPY(name) for name in CVXPY.variants()), *(Pyomo(name) for name in Pyomo.variants()))
}
CONVEX = {"LP": frozenset({Feature.LINEAR}), "QP": frozenset({Feature.LINEAR, Feature.QUADRATIC})}
CONVEX["SOCP"] = CONVEX["QP"]
CONES_OF = {"LP": set(), "QP": set(), "SOCP": {SECOND_ORDER.name}}
WEAK_ON_LINEAR = ("cvxpy:PROXQP",)
"""Solvers that report feasible linear programs as infeasible, and reach their limit on unbounded ones."""
PAIRS = [
    (name, kind)
    for name, solver in SOLVERS.items()
    for kind in CONVEX
    if CONVEX[kind] <= solver.features
    and solver.cones >= CONES_OF[kind]
    and (kind != "LP" or name not in WEAK_ON_LINEAR)
]
INTEGER = [name for name, solver in SOLVERS.items() if Feature.INTEGER in solver.features]


def program(kind: str) -> StandardForm:
    """Return  min 1/2 x'Px + q'x + 2  over bounds, an equality, inequalities, and (SOCP) a ball about the origin."""
    rng = np.random.default_rng(7)
    n = 6
    rows = [RowBlock("balance", ZERO, 0, 1), RowBlock("margin", NONNEGATIVE, 1, 5)]
    F = np.round(rng.standard_normal((5, n)), 2)
    x = np.round(0.3 * rng.standard_normal(n), 2)
    g = np.r_[0.0, 0.05, 0.0, 0.3, 0.02] - F @ x
    if kind == "SOCP":
        rows.append(RowBlock("ball", SECOND_ORDER, 5, 6 + n))
        F = np.vstack([F, np.zeros((1, n)), np.eye(n)])
        g = np.r_[g, 1.1, np.zeros(n)]
    P = Quadratic(n)
    if kind != "LP":
        A = rng.standard_normal((3, 3))
        dense = QuadraticPiece(sp.eye_array(3, n, format="csr"), A @ A.T)
        P = Quadratic(n, (dense, QuadraticPiece(sp.csr_array(np.eye(n)[2:5]), np.array([0.5, 2.0, 0.0]))))
    lower, upper = np.full(n, -1.0), np.full(n, 1.0)
    if kind == "SOCP":
        lower[3:], upper[2:] = -np.inf, np.inf
    columns = (ColumnBlock("w", 0, n - 1), ColumnBlock("b", n - 1, n, scalar=True))
    q = np.round(rng.standard_normal(n), 2)
    return StandardForm(kind, P, q, 2.0, sp.csr_array(F), g, lower, upper, np.zeros(n, bool), columns, tuple(rows))


def solve(name: str, form: StandardForm, options: Options | None = None) -> Answer:
    chosen = options or Options()
    return SOLVERS[name].engine(form, chosen).solve(chosen.time_limit)


def check_certificate(form: StandardForm, answer: Answer, tolerance: float) -> None:
    """Check that the point is feasible, z is in K*, reduced costs have the right signs, and the gap is closed."""
    x, z = answer.x, answer.z
    assert x is not None
    assert z is not None
    s = form.F @ x + form.g
    for block in form.rows:
        part, dual = s[block.start : block.stop], z[block.start : block.stop]
        if block.cone is ZERO:
            assert np.abs(part).max() <= tolerance
        elif block.cone is NONNEGATIVE:
            assert min(part.min(), dual.min()) >= -tolerance
        else:
            assert np.linalg.norm(part[1:]) <= part[0] + tolerance
            assert np.linalg.norm(dual[1:]) <= dual[0] + tolerance
        assert abs(part @ dual) <= 10 * tolerance
    reduced = form.P.times(x) + form.q - form.F.T @ z
    at_lower = x <= form.lower + 1e-4
    at_upper = x >= form.upper - 1e-4
    assert np.abs(reduced[~at_lower & ~at_upper]).max(initial=0.0) <= tolerance
    assert reduced[at_lower].min(initial=0.0) >= -tolerance
    assert reduced[at_upper].max(initial=0.0) <= tolerance


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_convex_programs_have_multipliers_in_the_dual_cone(name: str, kind: str) -> None:
    form = program(kind)
    answer = solve(name, form)
    assert answer.termination is Termination.OPTIMAL
    # HiGHS regularises its QPs by 1e-7. ECOS gets the quadratic as a cone, whose multiplier is less accurate.
    check_certificate(form, answer, 5e-5 if "ECOS" in name else 2e-6)
    assert answer.x is not None
    reference = solve("cvxpy:CLARABEL", form)
    assert reference.x is not None
    assert form.value(answer.x) == pytest.approx(form.value(reference.x), abs=1e-6)


@pytest.mark.parametrize("name", INTEGER)
def test_integer_programs_have_no_multipliers(name: str) -> None:
    form = program("LP")
    integer = np.array([True, True, False, False, True, False])
    form = replace(form, integer=integer, lower=np.full(6, -3.0), upper=np.full(6, 3.0))
    answer = solve(name, form)
    assert answer.termination is Termination.OPTIMAL
    assert answer.z is None
    assert answer.x is not None
    np.testing.assert_allclose(answer.x[integer], np.round(answer.x[integer]), atol=1e-6)
    reference = solve("pyomo:highs", form)
    assert reference.x is not None
    assert form.value(answer.x) == pytest.approx(form.value(reference.x), abs=1e-5)
    if answer.bound is not None:
        assert answer.bound == pytest.approx(form.value(answer.x), abs=1e-3)


@pytest.mark.parametrize("name", ["cvxpy:HIGHS", "cvxpy:SCIPY", "pyomo:highs", "pyomo:appsi_highs"])
def test_a_mixed_integer_search_returns_its_bound(name: str) -> None:
    form = replace(program("LP"), integer=np.ones(6, bool), F=sp.csr_array((0, 6)), g=np.zeros(0), rows=())
    answer = solve(name, form)
    assert answer.bound == pytest.approx(2.0 - np.abs(form.q).sum())


# PIQP detects neither; cvxpy reports only that a limit was reached.
@pytest.mark.parametrize("name", [name for name in SOLVERS if name not in (*WEAK_ON_LINEAR, "cvxpy:PIQP")])
def test_infeasible_and_unbounded_are_distinguished(name: str) -> None:
    form = program("LP")
    free = replace(form, lower=np.full(6, -np.inf), upper=np.full(6, np.inf))
    no_rows = replace(free, F=sp.csr_array(np.eye(6)[:1]), g=np.zeros(1), rows=(RowBlock("r", NONNEGATIVE, 0, 1),))
    assert solve(name, no_rows).termination is Termination.UNBOUNDED
    F = sp.csr_array(np.vstack([np.eye(6)[:1], -np.eye(6)[:1]]))
    empty = replace(free, F=F, g=np.array([-1.0, 0.0]), rows=(RowBlock("r", NONNEGATIVE, 0, 2),))
    # Infeasible, with a ray of descent: a solver may claim either status, and the diagnosis decides.
    assert solve(name, empty).termination in (Termination.INFEASIBLE, Termination.UNBOUNDED)
    assert solve(name, replace(empty, q=np.zeros(6))).termination is Termination.INFEASIBLE
    for form, proved in ((no_rows, Termination.UNBOUNDED), (empty, Termination.INFEASIBLE)):
        diagnosis = diagnose(form, SOLVERS[name], Options(), Clock(None), has_all_rows=True)
        assert diagnosis.proved is proved


# Other solvers do not distinguish them: scipy's status becomes an error in cvxpy, and ECOS_BB does not terminate.
@pytest.mark.parametrize("name", ["cvxpy:HIGHS", "pyomo:highs", "pyomo:appsi_highs"])
def test_unbounded_integer_programs_are_detected(name: str) -> None:
    form = replace(program("LP"), lower=np.full(6, -np.inf), upper=np.full(6, np.inf), integer=np.ones(6, bool))
    rows = (RowBlock("r", NONNEGATIVE, 0, 1),)
    unbounded = replace(form, F=sp.csr_array(np.eye(6)[:1]), g=np.zeros(1), rows=rows)
    assert solve(name, unbounded).termination is Termination.UNBOUNDED


@pytest.mark.parametrize("name", ["cvxpy:HIGHS", "cvxpy:CLARABEL", "pyomo:highs", "pyomo:appsi_highs"])
def test_rows_without_coefficients_hold_or_make_the_program_infeasible(name: str) -> None:
    form = replace(program("LP"), F=sp.csr_array((5, 6)), g=np.r_[0.0, np.ones(4)])
    answer = solve(name, form)
    assert answer.termination is Termination.OPTIMAL
    check_certificate(form, answer, 1e-6)
    assert solve(name, replace(form, g=-np.ones(5))).termination is Termination.INFEASIBLE


def hard_knapsack() -> StandardForm:
    """Return a market split problem: eight equalities in sixty binaries, too hard for half a second."""
    rng = np.random.default_rng(0)
    m, n = 8, 60
    A = rng.integers(0, 100, (m, n)).astype(float)
    slack = np.hstack([np.eye(m), -np.eye(m)])
    F = sp.csr_array(np.hstack([A, slack]))
    upper = np.r_[np.ones(n), np.full(2 * m, np.inf)]
    integer = np.r_[np.ones(n, bool), np.zeros(2 * m, bool)]
    q = np.r_[np.zeros(n), np.ones(2 * m)]
    columns = (ColumnBlock("take", 0, n), ColumnBlock("miss", n, n + 2 * m))
    g = -np.floor(A.sum(axis=1) / 2)
    rows = (RowBlock("split", ZERO, 0, m),)
    return StandardForm("split", Quadratic(n + 2 * m), q, 0.0, F, g, np.zeros(n + 2 * m), upper, integer, columns, rows)


@pytest.mark.parametrize("name", ["cvxpy:HIGHS", "cvxpy:SCIPY", "pyomo:highs", "pyomo:appsi_highs"])
def test_a_time_limit_returns_the_best_point(name: str) -> None:
    form = hard_knapsack()
    for limit in (0.5, 5.0, 50.0):  # longer limits only if the machine is too busy to find a point in time
        answer = solve(name, form, Options(time_limit=limit))
        assert answer.termination is Termination.LIMIT
        if answer.x is not None:
            break
    assert answer.x is not None
    assert np.abs(form.F @ answer.x + form.g).max() <= 1e-4


@pytest.mark.parametrize("name", ["cvxpy:CLARABEL", "cvxpy:SCS", "cvxpy:OSQP"])
def test_a_very_short_time_limit_is_reported_as_a_limit(name: str) -> None:
    assert solve(name, program("QP"), Options(time_limit=1e-9)).termination is Termination.LIMIT


def test_integer_quadratics_are_unsupported() -> None:
    form = replace(program("QP"), integer=np.ones(6, bool))
    for name in ("cvxpy:HIGHS", "pyomo:highs"):
        refused = unsupported_reason(SOLVERS[name], form)
        assert refused is not None
        assert "MIQP and has a convex quadratic objective with integer variables" in refused
        assert unsupported_reason(SOLVERS[name], program("QP")) is None


@pytest.mark.parametrize("name", ["cvxpy:CLARABEL", "pyomo:highs"])
def test_the_log_is_returned_and_not_printed(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    answer = solve(name, program("LP"), Options(verbose=True))
    assert len(answer.log) > 100
    assert capfd.readouterr().out == ""


def test_extra_reaches_the_solver() -> None:
    stopped = solve("cvxpy:CLARABEL", program("QP"), Options(extra={"max_iter": 1}))
    assert stopped.termination is Termination.LIMIT
    stopped = solve("pyomo:highs", program("LP"), Options(extra={"simplex_iteration_limit": 0, "presolve": "off"}))
    assert stopped.termination is Termination.LIMIT


# Solvers of the test environment. Others may ignore unknown options silently.
SOLVERS_THAT_CHECK_OPTIONS = ("CLARABEL", "SCS", "OSQP", "ECOS", "HIGHS", "SCIPY")


@pytest.mark.parametrize(
    "name", [*(f"cvxpy:{name}" for name in SOLVERS_THAT_CHECK_OPTIONS), "pyomo:highs", "pyomo:appsi_highs"]
)
def test_an_unknown_option_is_named_with_its_solver(name: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name} .*'foo'"):
        solve(name, program("LP"), Options(extra={"foo": 1}))


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("cvxpy:CLARABEL", {"max_iter": "ten"}),
        ("cvxpy:HIGHS", {"simplex_strategy": "fast"}),
        ("cvxpy:SCIPY", {"maxiter": "ten"}),
        ("cvxpy:SCIPY", {"scipy_options": 3}),
        ("cvxpy:SCS", {"solver": "ECOS"}),
        ("pyomo:highs", {"simplex_strategy": "fast"}),
    ],
)
def test_an_unsupported_value_of_an_option_is_an_error(name: str, extra: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(extra))):
        solve(name, program("LP"), Options(extra=extra))


@pytest.mark.parametrize("integer", [False, True])
def test_scipy_options_may_be_nested_in_cvxpys_dictionary(integer: bool) -> None:
    some = np.array([integer, integer, False, False, integer, False])
    form = replace(program("LP"), integer=some, lower=np.full(6, -3.0), upper=np.full(6, 3.0))
    for extra in ({"presolve": False}, {"scipy_options": {"presolve": False}}, {"simplex_strategy": 1}):
        assert solve("cvxpy:SCIPY", form, Options(extra=extra)).termination is Termination.OPTIMAL
    with pytest.raises(ParameterError, match="'foo'"):
        solve("cvxpy:SCIPY", form, Options(extra={"scipy_options": {"foo": 1}}))


@pytest.mark.parametrize(("family", "near"), [(CVXPY, "CLARABEL"), (Pyomo, "appsi_highs")])
def test_an_unknown_variant_suggests_similar_names(family: type, near: str) -> None:
    with pytest.raises(UnknownNameError, match=f'did you mean "{near}"'):
        family(near[:-1])
    assert family(near.swapcase()).name.endswith(near)


def test_a_missing_package_is_reported_with_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CVXPY("SCS").availability().installed
    monkeypatch.setattr("milopt.solvers.pyomo.which", lambda name: None)
    availability = Pyomo("cbc").availability()
    assert not availability.installed
    assert availability.install == "apt install coinor-cbc"
    assert "cbc" not in Pyomo.variants()
    for name in ("PIQP", "GUROBI"):
        if name not in CVXPY.variants():
            install = CVXPY(name).availability().install
            assert install is not None
            assert install.startswith("pip install")


def test_constructing_a_solver_imports_neither_cvxpy_nor_pyomo() -> None:
    code = (
        "import sys; from milopt.solvers.cvxpy.solver import CVXPY; from milopt.solvers.pyomo import Pyomo;"
        "[s.availability() for s in (CVXPY('SCS'), Pyomo('highs'))]; CVXPY.variants(); Pyomo.variants();"
        "assert not {'cvxpy', 'pyomo'} & set(sys.modules), 'imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
