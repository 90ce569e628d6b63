"""Small computations that together use all native code, so that it is compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def count_boxes_exactly() -> None:
    """Count the boxes of a few pairs of bags exactly."""
    _count_boxes(rule="guaranteed", exact_below=10**6)


def estimate_boxes() -> None:
    """Estimate the number of boxes of a few pairs of bags, by the rule that users choose."""
    _count_boxes(rule="guaranteed", exact_below=0)


def estimate_boxes_by_paper_rules() -> None:
    """Estimate the number of boxes of a few pairs of bags by the two estimators of the paper."""
    for rule in ("karp-luby", "self-adjusting"):
        _count_boxes(rule=rule, exact_below=0)


def run_simplex_method() -> None:
    """Solve a linear program, and solve it again after changes of its rows and columns."""
    import milopt

    program = milopt.Program("linear program")
    x = program.variable("x", 3, lower=0, upper=4)
    program.minimize(x @ [1.0, 2.0, 3.0])
    program.subject_to(x.sum() >= 2, name="sum")
    program.subject_to(x[0] - x[1] == 0.5, name="difference")
    with milopt.Session(program, "native") as session:
        session.solve()
        session.subject_to(x[2] >= 1, name="more")
        session.solve()
        new = session.variable("new", lower=0, cost=-1.0, rows={"sum": -1.0})
        session.set_bounds(new, upper=2)
        session.solve()
        session.set_coefficients("sum", x, [1.0, 1.0, 2.0])
        session.delete("more")
        session.solve()


def boost_over_one_norm_ball() -> None:
    """Fit a boosted ensemble whose patterns have bounded 1-norm."""
    _fit_boosted_ensemble("l1")


def boost_over_hilbert_ball() -> None:
    """Fit a boosted ensemble whose patterns have bounded norm in the space of the kernel."""
    _fit_boosted_ensemble("hilbert")
    _fit_boosted_ensemble("hilbert", dictionary="all")


def boost_over_single_patterns() -> None:
    """Fit a boosted ensemble whose patterns are single dictionary entries."""
    _fit_boosted_ensemble("one-hot")


def project_groups() -> None:
    """Project many rows in groups, as in the Newton method for margin programs with many instances."""
    from importlib import import_module

    import numpy as np

    module = import_module("milopt.solvers.native.margin_newton.group_projection")
    # Fewer rows are projected without compiled code.
    starts = np.arange(0, module.MIN_COMPILED_ROWS + 3, 2)
    groups = starts.size - 1
    module.project(np.ones(int(starts[-1])), module.GroupLayout.from_starts(starts), np.ones(groups), np.zeros(groups))


NATIVE_PARTS: Mapping[str, Callable[[], None]] = {
    "box counting, exact counts": count_boxes_exactly,
    "box counting, estimates": estimate_boxes,
    "box counting, estimators of the paper": estimate_boxes_by_paper_rules,
    "simplex method": run_simplex_method,
    "Newton method for margins": project_groups,
    "boosting over the 1-norm ball": boost_over_one_norm_ball,
    "boosting over the Hilbert ball": boost_over_hilbert_ball,
    "boosting over single patterns": boost_over_single_patterns,
}
"""Computations by the names that `milopt warmup` prints."""


def compile_part(name: str) -> None:
    """Run the computation of a part, without its warnings: the fits are too small to be meaningful."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        NATIVE_PARTS[name]()


def _example_bags() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return bags of noise, and their labels; one instance of each positive bag is shifted."""
    import numpy as np

    bags, y = np.random.default_rng(0).normal(size=(16, 4, 3)), np.repeat([-1, 1], 8)
    bags[y == 1, 0] += 3
    return bags, y


def _count_boxes(**settings: Any) -> None:
    """Count the boxes of all pairs of the example bags."""
    import milopt

    bags = milopt.as_bags(_example_bags()[0])
    milopt.BoxCounting(bins=8, **settings).fitted_to(bags).log(bags, bags)


def _fit_boosted_ensemble(ball: str, **settings: Any) -> None:
    """Fit boosted shapelets over a ball with the native solver."""
    import milopt
    from milopt.model_registry import get_model

    model: Callable[..., milopt.BagClassifier] = get_model("shapelet-boost")
    model(ball=ball, atoms=8, nu=0.4, solver="native", **settings).fit(*_example_bags())
