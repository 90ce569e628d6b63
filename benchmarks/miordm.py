"""MIORDM: its QP against general solvers, whole fits against scikit-learn's SVC, and a comparison of schemes.

1. The dual of ODM at given representatives, n bags, condition number 6e5 and a benign one: native, Clarabel, and PIQP
   if it is installed (`pip install piqp`), all on the same matrix; medians of processor time and the KKT residual
   |x - clip(x - gradient)|.
2. Whole fits, including kernel and certificates, relative to the time of SVC (RBF, C = 10) times the number of convex
   steps: SVC on all instances, and on one instance per bag.
3. Warm-started steps and cold-started steps: factorisations and seconds.
4. The alternating scheme of the paper and the convex-concave procedure: objective, steps, status.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from box_qp import MU, THETA, odm_data, odm_dual, residual, solution
from data_sets import data_set
from sklearn.svm import SVC
from timing import median, single_thread, table, time_call

import milopt
from milopt import as_bags
from milopt.arrays import Vector
from milopt.models import MIORDM
from milopt.solvers.native import solver as native
from milopt.solving.engine import Change
from milopt.solving.solver import Solver

DATA = ("musk1", "tiger", "elephant", "musk2")


def piqp_solution(n: int, condition: float) -> Vector:
    """Solve the same QP with the dense backend of PIQP."""
    import piqp

    Q, c = odm_data(n, condition)
    P = np.block([[Q + c * np.eye(n), -Q], [-Q, Q + c / MU * np.eye(n)]])
    q = np.concatenate([np.full(n, THETA - 1), np.full(n, THETA + 1)])
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-8
    none = np.zeros((0, 2 * n))
    solver.setup(P, q, none, np.zeros(0), none, None, None, np.zeros(2 * n), np.full(2 * n, np.inf))
    solver.solve()
    return np.asarray(np.maximum(solver.result.x, 0.0))


def inner_results() -> Iterator[tuple[object, ...]]:
    """Yield one row per size; slow general solvers are run once."""
    ours, clarabel = milopt.get_solver("native"), milopt.get_solver("clarabel")
    for n, condition in ((500, 1e2), (500, 6e5), (2000, 6e5)):
        # A dual is convex by construction, so no factorisation is needed to prove it.
        form = replace(odm_dual(n, condition), known_convex=True)
        mine = median(partial(solution, ours, form), runs=5)
        kkt = residual(form, solution(ours, form))
        others: list[object] = []
        for theirs in _others(clarabel, n, condition):
            if theirs is None:
                others += ["-", "-", "-"]
                continue
            seconds, point = time_call(theirs)
            others += [1e3 * seconds, residual(form, point), seconds / mine]
        yield (form.name, 1e3 * mine, kkt, *others)


def _others(clarabel: Solver, n: int, condition: float) -> list[partial[Vector] | None]:
    form = odm_dual(n, condition)
    by_clarabel = partial(solution, clarabel, form) if n <= 500 else None
    try:
        import piqp  # noqa: F401 -- checks whether it is installed
    except ImportError:
        return [by_clarabel, None]
    return [by_clarabel, partial(piqp_solution, n, condition)]


def fit_results() -> Iterator[tuple[object, ...]]:
    """Yield one row per data set and scheme."""
    for name in DATA:
        arrays, y = data_set(name)
        bags = as_bags(arrays)
        labels = np.repeat(y, bags.sizes)
        every = median(lambda x=bags.instances, t=labels: SVC(C=10.0).fit(x, t), runs=3)
        single = median(lambda x=bags.instances[bags.offsets[:-1]], t=y: SVC(C=10.0).fit(x, t), runs=5)
        for scheme in ("ccp", "representatives"):
            model = MIORDM(scheme=scheme, solver="native", scale="none")
            seconds = median(lambda m=model, b=bags, t=y: m.fit(b, t), runs=3)
            # The procedure solves one more program, at the means of the bags, before its first step.
            steps = len(model.result_.history) + (scheme == "ccp")
            ratios = (seconds / (steps * every), seconds / (steps * single))
            yield f"{name}, {scheme}", 1e3 * seconds, steps, 1e3 * every, 1e3 * single, *ratios


def warm_results() -> Iterator[tuple[object, ...]]:
    """Yield the same fits with and without warm starts."""
    kept = native.NativeEngine.update
    for name in DATA:
        bags, y = data_set(name)
        for scheme in ("ccp", "representatives"):
            model = MIORDM(scheme=scheme, solver="native", scale="none")
            warm = median(lambda m=model, b=bags, t=y: m.fit(b, t), runs=3)
            iterations = model.result_.iterations
            native.NativeEngine.update = _forgetting
            try:
                cold = median(lambda m=model, b=bags, t=y: m.fit(b, t), runs=3)
            finally:
                native.NativeEngine.update = kept
            yield f"{name}, {scheme}", iterations, model.result_.iterations, 1e3 * warm, 1e3 * cold, cold / warm


def _forgetting(engine: native.NativeEngine, form: object, change: Change) -> None:
    """Update an engine so that the next solve is a cold start."""
    engine.form = form
    engine._discard_model()


def scheme_results() -> Iterator[tuple[object, ...]]:
    """Yield the objective of the declared program at the result of each scheme."""
    for name in DATA:
        bags, y = data_set(name)
        for scheme in ("ccp", "representatives"):
            result = MIORDM(scheme=scheme, solver="native", scale="none").fit(bags, y).result_
            first = result.history[0].objective
            yield f"{name}, {scheme}", result.objective, first, len(result.history), str(result.termination)


def main() -> None:
    """Print the tables."""
    single_thread()
    warnings.simplefilter("ignore")
    heads = ["native ms", "KKT", "Clarabel ms", "KKT", "ratio", "PIQP ms", "KKT", "ratio"]
    table(["inner QP", *heads], inner_results())
    print()
    heads = ["fit ms", "steps", "SVC, all ms", "SVC, bags ms", "ratio, all", "ratio, bags"]
    table(["whole fit against SVC x steps", *heads], fit_results())
    print()
    heads = ["warm factor.", "cold factor.", "warm ms", "cold ms", "ratio"]
    table(["from the last step, or from nothing", *heads], warm_results())
    print()
    table(["scheme", "objective", "of step 1", "steps", "ended"], scheme_results())


if __name__ == "__main__":
    main()
