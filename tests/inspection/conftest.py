"""Random flat programs that have an optimum: a primal and a dual point are drawn first, then the data around them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from milopt.compilation.quadratic import Quadratic, QuadraticPiece
from milopt.compilation.standard_form import ColumnBlock, RowBlock, StandardForm
from milopt.cones import NONNEGATIVE, SECOND_ORDER, ZERO


def random_form(
    seed: int, *, quadratic: bool = False, cones: bool = False, integer: bool = False, free: bool = True
) -> StandardForm:
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(1, 5, 3)]
    n = sum(sizes) + 1
    starts = np.cumsum([0, *sizes])
    columns = (
        *(ColumnBlock(name, int(a), int(b)) for name, a, b in zip("wuv", starts[:-1], starts[1:], strict=True)),
        ColumnBlock("b", n - 1, n, scalar=True),
    )
    x = rng.integers(-2, 3, n).astype(float)
    kind = rng.integers(0, 4 if free and not integer else 3, n)
    lower = np.where(np.isin(kind, (0, 1)), x - rng.integers(0, 3, n), -np.inf)
    upper = np.where(np.isin(kind, (0, 2)), x + rng.integers(0, 3, n), np.inf)
    is_integer = rng.random(n) < 0.5 if integer else np.zeros(n, dtype=bool)
    lower[is_integer], upper[is_integer] = x[is_integer] - 2, x[is_integer] + 1
    rows = [
        RowBlock("balance", ZERO, 0, 1),
        RowBlock("margin", NONNEGATIVE, 1, 5, declared=np.array([0, 0, 1, 1]), instance=np.arange(4)),
    ]
    if cones:
        rows += [RowBlock("ball", SECOND_ORDER, 5, 8), RowBlock("ray", SECOND_ORDER, 8, 9)]
    m = rows[-1].stop
    F = np.round(rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.6), 3)
    s, z = np.zeros(m), np.zeros(m)
    for block in rows:
        part = slice(block.start, block.stop)
        if block.cone is ZERO:
            z[part] = rng.standard_normal(block.size)
        elif block.cone is NONNEGATIVE:
            s[part], z[part] = rng.random(block.size), rng.random(block.size)
        else:
            s[part], z[part] = np.r_[2.0, rng.random(block.size - 1)], np.r_[1.5, 0.5 * rng.random(block.size - 1)]
    reduced = np.where(np.isfinite(lower), rng.random(n), 0.0) - np.where(np.isfinite(upper), rng.random(n), 0.0)
    P = Quadratic(n)
    if quadratic:
        A = rng.standard_normal((sizes[0], sizes[0]))
        dense = QuadraticPiece(sp.eye_array(sizes[0], n, format="csr"), A @ A.T + 0.1 * np.eye(sizes[0]))
        R = sp.csr_array(rng.standard_normal((2, n)) * (rng.random((2, n)) < 0.5))
        P = Quadratic(n, (dense, QuadraticPiece(R, rng.random(2))))
    return StandardForm(
        name="random program",
        P=P,
        q=F.T @ z + reduced - P.times(x),
        constant=float(np.round(rng.standard_normal(), 2)),
        F=sp.csr_array(F),
        g=s - F @ x,
        lower=lower,
        upper=upper,
        integer=is_integer,
        columns=columns,
        rows=tuple(rows),
    )


@pytest.fixture(scope="session")
def draw() -> Callable[..., StandardForm]:
    return random_form
