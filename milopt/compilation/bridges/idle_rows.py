"""Idle rows: for solvers that do not take rows without entries, or that break down at huge offsets.

A row without entries holds or does not hold whatever x is. Rows that hold are dropped, and their multiplier is 0. Rows
that do not hold are left, because they make the program infeasible. An inequality with an offset of `HUGE_OFFSET` or
more stands for no inequality at all, as files and other tools write it, and is dropped too; the certificate checks it
with the others. Cones that are not polyhedral stay as they are.
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
"""Below the 1e20 that stands for infinity in most tools: sums with it are a little less."""


def apply(form: StandardForm) -> StandardForm:
    """The same program without idle rows."""
    kept = _kept(form)
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
    """The answer for `form` from the answer for `apply(form)`."""
    if answer.z is None or answer.z.size == form.m:
        return answer
    z = np.zeros(form.m)
    z[_kept(form)] = answer.z
    return replace(answer, z=z)


def _kept(form: StandardForm) -> npt.NDArray[np.bool_]:
    """Return True for rows that have an entry and no huge offset, that do not hold, or whose cone is not polyhedral."""
    row = np.repeat(np.arange(form.m), np.diff(form.F.indptr))
    kept = violations(form, form.g) > 0.0
    kept[row[form.F.data != 0.0]] = True
    above = form.rows_in(NONNEGATIVE)
    kept[above[form.g[above] >= HUGE_OFFSET]] = False
    for block in form.conic:
        kept[block.start : block.stop] = True
    return kept
