"""Small flat programs, and an independent check of their optimality conditions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp

from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.cones import EXPONENTIAL, NONNEGATIVE, SECOND_ORDER, ZERO


def build_form(q, rows=(), P=None, lower=-np.inf, upper=np.inf, integer=False, constant=0.0):
    """Build a form from dense parts; `rows` are triples (cone, F, g) or quadruples (cone, F, g, sizes)."""
    q = np.asarray(q, dtype=float)
    n = q.size
    blocks, matrices, offsets, start = [], [], [], 0
    for k, (cone, matrix, offset, *sizes) in enumerate(rows):
        matrix = np.atleast_2d(np.asarray(matrix, dtype=float))
        blocks.append(
            RowBlock(f"rows{k}", cone, start, start + matrix.shape[0], sizes=np.array(sizes[0]) if sizes else None)
        )
        start += matrix.shape[0]
        matrices.append(matrix)
        offsets.append(np.asarray(offset, dtype=float).ravel())
    pieces = () if P is None else (QuadraticPiece(sp.csr_array(np.eye(n)), np.asarray(P, dtype=float)),)
    return StandardForm(
        name="test",
        P=Quadratic(n, pieces),
        q=q,
        constant=constant,
        F=sp.csr_array(np.vstack(matrices) if matrices else np.zeros((0, n))),
        g=np.concatenate(offsets) if offsets else np.zeros(0),
        lower=np.broadcast_to(np.asarray(lower, dtype=float), n).copy(),
        upper=np.broadcast_to(np.asarray(upper, dtype=float), n).copy(),
        integer=np.broadcast_to(np.asarray(integer), n).copy(),
        columns=(ColumnBlock("x", 0, n),),
        rows=tuple(blocks),
    )


@dataclass(frozen=True)
class Residuals:
    primal: float
    dual: float
    gap: float

    @property
    def worst(self) -> float:
        return max(self.primal, self.dual, self.gap)


def exponential_violation(x: float, y: float, z: float) -> float:
    """Return the amount by which z is below y exp(x/y), or the violation of the face y = 0."""
    return max(0.0, y * np.exp(x / y) - z) if y > 1e-9 else max(0.0, x, -y, -z)


def dual_exponential_violation(u: float, v: float, w: float) -> float:
    """Return the amount by which w is below -u exp(v/u) / e, or the violation of the face u = 0."""
    return max(0.0, -u * np.exp(v / u - 1) - w) if u < -1e-9 else max(0.0, u, -v, -w)


def kkt_residuals(form: StandardForm, x, z) -> Residuals:
    """Return primal, dual and complementarity residuals by the definitions in `standard_form`, scaled by the data."""

    def outside(v, cone, dual):
        if cone is ZERO:
            return 0.0 if dual else np.abs(v).max(initial=0.0)
        if cone is NONNEGATIVE:
            return (-v).max(initial=0.0)
        if cone is EXPONENTIAL:
            return max(
                dual_exponential_violation(*part) if dual else exponential_violation(*part) for part in v.reshape(-1, 3)
            )
        return max(0.0, np.linalg.norm(v[1:]) - v[0])

    s = form.F @ x + form.g
    primal = max(0.0, (form.lower - x).max(initial=0.0), (x - form.upper).max(initial=0.0))
    dual = 0.0
    for block in form.rows:
        sizes = [block.size] if block.cone.is_polyhedral else block.cone_sizes
        for rows in np.split(np.arange(block.start, block.stop), np.cumsum(sizes)[:-1]):
            primal = max(primal, outside(s[rows], block.cone, dual=False))
            dual = max(dual, outside(z[rows], block.cone, dual=True))
    reduced = form.P.sparse @ x + form.q - form.F.T @ z
    at_lower, at_upper = np.maximum(reduced, 0.0), np.maximum(-reduced, 0.0)
    dual = max(dual, at_lower[~np.isfinite(form.lower)].max(initial=0.0))
    dual = max(dual, at_upper[~np.isfinite(form.upper)].max(initial=0.0))
    gap = abs(float(z @ s))
    finite = np.isfinite(form.lower)
    gap += float(at_lower[finite] @ np.abs(x - form.lower)[finite])
    finite = np.isfinite(form.upper)
    gap += float(at_upper[finite] @ np.abs(form.upper - x)[finite])
    scale = 1.0 + max(np.abs(form.g).max(initial=0.0), np.abs(x).max(initial=0.0))
    costs = 1.0 + np.abs(form.q).max(initial=0.0) + np.abs(form.P.sparse @ x).max(initial=0.0)
    return Residuals(float(primal / scale), float(dual / costs), gap / (1.0 + abs(form.value(x))))


def program(family: str) -> StandardForm:
    """Return one program of the family. All families but those named infeasible or unbounded have a finite optimum."""
    rng = np.random.default_rng(7)
    ones = np.ones((1, 6))
    if family == "one row":
        return build_form([3.0, 1.0, 2.0], [(NONNEGATIVE, [1.0, 1.0, 1.0], [-1.0])], lower=0.0)
    if family == "no rows":
        return build_form([1.0, -2.0, 0.0], lower=-1.0, upper=[4.0, 5.0, 6.0], constant=2.0)
    if family == "no rows, quadratic":
        return build_form([1.0, -2.0], P=np.diag([1.0, 4.0]))
    if family == "degenerate":
        # an assignment problem: far more rows are active than columns are free
        cost = rng.integers(1, 9, size=(4, 4)).astype(float)
        sums = np.vstack([np.kron(np.eye(4), np.ones(4)), np.kron(np.ones(4), np.eye(4))])
        return build_form(cost.ravel(), [(ZERO, sums, -np.ones(8))], lower=0.0, upper=1.0)
    if family == "badly scaled":
        scales = np.array([1e6, 1.0, 1e-2, 1e3, 1.0, 10.0])
        rows = rng.uniform(0.5, 1.5, size=(8, 6)) * scales
        return build_form(rng.uniform(1, 2, 6) * scales, [(NONNEGATIVE, rows, -1e3 * np.ones(8))], lower=0.0)
    if family == "random linear":
        rows = rng.normal(size=(10, 6))
        offset = -rows @ np.full(6, 1 / 6) + rng.uniform(0, 0.2, 10)
        return build_form(
            rng.normal(size=6),
            [(ZERO, ones, [-1.0]), (NONNEGATIVE, rows, offset)],
            lower=[0, 0, 0, -np.inf, -2, 0.1],
            upper=[1, np.inf, 1, 2, np.inf, 0.1],
        )
    if family in ("singular quadratic", "definite quadratic"):
        root = rng.normal(size=(2 if family.startswith("singular") else 6, 6))
        rows = rng.normal(size=(4, 6))
        return build_form(
            rng.normal(size=6),
            [(ZERO, ones, [-1.0]), (NONNEGATIVE, rows, 0.3 - rows @ np.full(6, 1 / 6))],
            P=root.T @ root,
            lower=0.0,
            constant=-3.0,
        )
    if family == "second-order":
        # the largest c'x in a ball, cut by a half-space
        cone = np.vstack([np.zeros((1, 6)), np.eye(6)])
        rows = [(SECOND_ORDER, cone, [2.0, *np.zeros(6)]), (NONNEGATIVE, ones, [-1.0])]
        return build_form(rng.normal(size=6), rows, upper=1.0)
    if family == "infeasible":
        return build_form(np.ones(2), [(NONNEGATIVE, [[1.0, 1.0], [-1.0, -1.0]], [-2.0, 1.0])], lower=0.0)
    if family == "infeasible quadratic":
        return replace(program("infeasible"), P=Quadratic(2, (QuadraticPiece(sp.csr_array(np.eye(2)), np.ones(2)),)))
    if family == "unbounded":
        return build_form([-1.0, 0.5], [(NONNEGATIVE, [1.0, 1.0], [0.0])], lower=0.0)
    if family == "unbounded quadratic":
        return build_form([-1.0, 1.0], [(NONNEGATIVE, [1.0, 1.0], [0.0])], P=np.diag([0.0, 1.0]), lower=0.0)
    if family == "knapsack":
        value, weight = rng.integers(5, 30, 12).astype(float), rng.integers(3, 20, 12).astype(float)
        rows = [(NONNEGATIVE, -weight, [weight.sum() / 2])]
        return build_form(-value, rows, lower=0.0, upper=1.0, integer=True, constant=1.0)
    raise ValueError(family)


@pytest.fixture(name="kkt_residuals")
def _kkt_residuals():
    return kkt_residuals


@pytest.fixture(name="build_form")
def _build_form():
    return build_form


@pytest.fixture(name="program")
def _program():
    return program
