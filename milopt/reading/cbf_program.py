"""Declaration of the program of a CBF file.

Linear cones become bounds and the row blocks `equal`, `at_least` and `at_most`. Other cones become atoms:

    Q    t >= ||v||                             group_norms(v) <= t
    QR   2 a b >= ||v||^2, a >= 0, b >= 0       group_norms((a - b) / sqrt(2), v) <= (a + b) / sqrt(2)
    EXP  t >= s exp(r / s), s a constant > 0    exp(r / s) <= t / s
         t >= s exp(r / s), s >= 0              relative_entropy(s, t) <= -r
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from milopt.arrays import Index, Vector
from milopt.data.messages import file_error
from milopt.declaration.atoms.exp import exp
from milopt.declaration.atoms.norm import group_norms
from milopt.declaration.atoms.relative_entropy import relative_entropy
from milopt.declaration.programs.program import Program
from milopt.reading.blocks import FileColumns
from milopt.reading.cbf_file import CbfModel, ConeRun


def declare_cbf(model: CbfModel, path: Path) -> Program:
    """Declare the program of a CBF file; `path` is used in error messages."""
    n = model.cost.size
    if n == 0:
        raise file_error(path, "the file has no columns")
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    for run in model.column_cones:
        if run.code in ("L=", "L+"):
            lower[run.start : run.stop] = 0.0
        if run.code in ("L=", "L-"):
            upper[run.start : run.stop] = 0.0
    program = Program(model.name or "program")
    columns = FileColumns(program, lower, upper, model.integer)
    objective = columns.cost_expression(model.cost) + model.constant
    (program.maximize if model.maximizes else program.minimize)(objective)
    _declare_linear(model, columns)
    _declare_conic(
        columns,
        sp.csr_array(sp.vstack([model.A, sp.eye_array(n, format="csr")])),
        np.concatenate([model.b, np.zeros(n)]),
        [*model.row_cones, *_shift_cone_positions(model.column_cones, by=model.b.size)],
    )
    return program


def _shift_cone_positions(runs: tuple[ConeRun, ...], by: int) -> list[ConeRun]:
    """Return the cones with start and stop increased by `by`.

    This turns cones of columns into cones of rows: the identity matrix is appended to A after its last row.
    """
    return [ConeRun(run.code, run.start + by, run.stop + by) for run in runs]


def _declare_linear(model: CbfModel, columns: FileColumns) -> None:
    """Declare the rows in the cones L=, L+ and L- as the blocks `equal`, `at_least` and `at_most`."""
    for code, wanted in (("L=", "equal"), ("L+", "at_least"), ("L-", "at_most")):
        ranges = [np.arange(run.start, run.stop) for run in model.row_cones if run.code == code]
        if not ranges:
            continue
        places = np.concatenate(ranges)
        rows, side = columns.times(sp.csr_array(model.A[places])), -model.b[places]
        comparison = rows == side if code == "L=" else rows >= side if code == "L+" else rows <= side
        columns.subject_to(comparison, wanted)


def _declare_conic(columns: FileColumns, A: sp.csr_array, b: Vector, runs: list[ConeRun]) -> None:
    """Declare the rows A x + b in the cones Q, QR and EXP; all cones Q and QR form the block `second_order`.

    A cone Q with a single row t only means t >= 0; such rows form the block `second_order_signs`.
    """
    heads, tails, sizes, signs = [], [], [], []
    for run in runs:
        rows, offset = A[run.start : run.stop], b[run.start : run.stop]
        if run.code == "Q" and run.stop - run.start == 1:
            signs.append(run.start)
        elif run.code in ("Q", "QR"):
            turn = _second_order_map(run)
            turned, shifted = sp.csr_array(turn @ rows), np.asarray(turn @ offset)
            heads.append((turned[:1], shifted[:1]))
            tails.append((turned[1:], shifted[1:]))
            sizes.append(run.stop - run.start - 1)
    if heads:
        head = columns.times(sp.csr_array(sp.vstack([rows for rows, _ in heads])))
        tail = columns.times(sp.csr_array(sp.vstack([rows for rows, _ in tails])))
        head, tail = (e + np.concatenate([offset for _, offset in some]) for e, some in ((head, heads), (tail, tails)))
        columns.subject_to(group_norms(tail, sizes) <= head, "second_order")
    if signs:
        columns.subject_to(columns.times(sp.csr_array(A[signs])) >= -b[signs], "second_order_signs")
    _declare_exponential(columns, A, b, np.array([run.start for run in runs if run.code == "EXP"], dtype=np.intp))


def _second_order_map(run: ConeRun) -> sp.csr_array:
    """Return the matrix that maps a cone Q or QR to the second-order cone.

    The matrix is the identity for Q. For QR, it maps the first two rows (a, b) to (a + b, a - b) / sqrt(2).
    """
    size = run.stop - run.start
    if run.code == "Q":
        return sp.csr_array(sp.eye_array(size))
    turn = np.sqrt(0.5) * np.array([[1.0, 1.0], [1.0, -1.0]])
    return sp.csr_array(sp.block_diag([turn, sp.eye_array(size - 2)]))


def _declare_exponential(columns: FileColumns, A: sp.csr_array, b: Vector, starts: Index) -> None:
    """Declare the exponential cones (t, s, r): those with a constant s > 0 as one block, the others one by one.

    t, s and r are three consecutive rows; `starts` are the indices of the rows t.
    """
    is_number = (np.diff(A.indptr)[starts + 1] == 0) & (b[starts + 1] > 0)
    some = starts[is_number]
    if some.size:
        scale = b[some + 1]
        t, r = (columns.times(sp.csr_array(A[at])) + b[at] for at in (some, some + 2))
        columns.subject_to(exp(r / scale) <= t / scale, "exponential")
    for k, start in enumerate(starts[~is_number].tolist()):
        t, s, r = (columns.times(sp.csr_array(A[[at]]))[0] + float(b[at]) for at in range(start, start + 3))
        columns.subject_to(relative_entropy(s, t) <= -r, f"entropy_{k}")
