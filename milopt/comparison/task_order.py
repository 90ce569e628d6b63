"""Order of the fits of a comparison, chosen so that no process waits for a solver that is still being compiled.

A cell is one model with one solver, and has several fits. The first cell whose solver compiles nothing is run first, so
that the table starts at once. Then one fit is started for every cell whose solver compiles its algorithms on first use;
the other fits of these cells come last, when the algorithms are compiled. Meanwhile the other processes run the
remaining cells.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, groupby

from milopt.comparison.fit_task import FitTask
from milopt.solving import registry


def order_tasks(tasks: Iterable[FitTask]) -> list[FitTask]:
    """Return the tasks in the order in which they are started; `tasks` are sorted by cell."""
    compiling: list[FitTask] = []
    compiled: list[FitTask] = []
    others: list[list[FitTask]] = []
    for _, group in groupby(tasks, key=lambda task: task.cell):
        tasks_of_cell = list(group)
        if registry.get_solver(tasks_of_cell[0].solver).compiles_on_first_use:
            compiling.append(tasks_of_cell[0])
            compiled += tasks_of_cell[1:]
        else:
            others.append(tasks_of_cell)
    first = others[0] if others else []
    return [*first, *compiling, *chain.from_iterable(others[1:]), *compiled]
