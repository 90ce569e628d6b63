"""Bridge that removes idle rows, for solvers that reject rows without entries or fail at huge offsets.

Whether a row without non-zero coefficients holds does not depend on x. Such rows are removed if they hold, and get the
multiplier 0; if they do not hold, they are kept, because they make the program infeasible. An inequality with an offset
of at least `HUGE_OFFSET` means "no inequality" in many files and tools, and is removed too; the certificate still
checks it like any other row. Rows in non-polyhedral cones are always kept.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from milopt.compilation.answer import Answer
from milopt.compilation.standard_form import RowBlock, StandardForm
from milopt.compilation.violations import violations
from milopt.cones import NONNEGATIVE

HUGE_OFFSET = 1e19
"""Smallest offset of an inequality that counts as infinite.

Most tools use 1e20 for infinity. The limit is smaller, because an offset that is a sum of 1e20 and other numbers may be
smaller than 1e20.
"""


def apply(form: StandardForm) -> StandardForm:
    """Return the program without idle rows (see the module docstring); the form itself if there are none."""
    kept = _rows_to_keep(form)
    if kept.all():
        return form
    blocks: list[RowBlock] = []
    stop = 0
    for block in form.rows:
        chosen = kept[block.start : block.stop]
        size = int(chosen.sum())
        declared = np.flatnonzero(chosen) if block.declared is None else block.declared[chosen]
        instance = None if block.instance is None else block.instance[chosen]
        sizes = None if block.cone.is_polyhedral else block.sizes
        place = (stop, stop + size)
        blocks.append(RowBlock(block.name, block.cone, *place, declared=declared, instance=instance, sizes=sizes))
        stop += size
    return replace(form, F=sp.csr_array(form.F[kept]), g=form.g[kept], rows=tuple(blocks))


def invert(form: StandardForm, answer: Answer) -> Answer:
    """Return the answer for `form`, given the answer for `apply(form)`; removed rows get the multiplier 0."""
    if answer.z is None or answer.z.size == form.m:
        return answer
    z = np.zeros(form.m)
    z[_rows_to_keep(form)] = answer.z
    return replace(answer, z=z)


def _rows_to_keep(form: StandardForm) -> npt.NDArray[np.bool_]:
    """Return a mask that is True for the rows to keep.

    A row is kept if it has a non-zero coefficient, if it does not hold, or if its cone is not polyhedral. Inequalities
    with an offset of at least `HUGE_OFFSET` are never kept.
    """
    row = np.repeat(np.arange(form.m), np.diff(form.F.indptr))
    kept = violations(form, form.g) > 0.0
    kept[row[form.F.data != 0.0]] = True
    above = form.rows_in(NONNEGATIVE)
    kept[above[form.g[above] >= HUGE_OFFSET]] = False
    for block in form.conic_blocks:
        kept[block.start : block.stop] = True
    return kept
