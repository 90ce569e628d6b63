"""Box counting on generalised concepts, against single-concept methods: `python benchmarks/box_concepts.py`.

Test errors over fresh data sets (200 bags to train on and 200 to test), hyper-parameters selected on the training bags
by 5 folds from the default grid of each model; boxes are counted with the fast rule. In multi-site binding a bag is
positive if it hits 4 of 5 sites: bags hit any number of them, or, as near misses, all negative ones 3 and all positive
ones 4. A conjunction has 2 attracting sites and a repelling one. `--sets N` draws N of each kind.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from timing import single_thread, table

from milopt import BagClassifier, Bags, BoxCounting
from milopt.data.generated import conjunctive, multi_site_binding
from milopt.evaluation.selection import configure_model, grid_combinations, select_candidate
from milopt.models import MISVM, BoxCountingSVM, SetKernelSVM

Draw = Callable[..., tuple[Bags, npt.NDArray[np.int64]]]

KINDS: dict[str, Draw] = {
    "binding, 5 features": partial(multi_site_binding, dimension=5, hits=(0, 5)),
    "binding, 10 features": partial(multi_site_binding, dimension=10, hits=(0, 5)),
    "binding, 20 features": partial(multi_site_binding, dimension=20, hits=(0, 5)),
    "near misses, 5 features": partial(multi_site_binding, dimension=5),
    "near misses, 10 features": partial(multi_site_binding, dimension=10),
    "near misses, 20 features": partial(multi_site_binding, dimension=20),
    "conjunction, 2 features": conjunctive,
}
MODELS: dict[str, type[BagClassifier]] = {"box-svm": BoxCountingSVM, "mi-svm": MISVM, "set-kernel-svm": SetKernelSVM}
MODEL_SETTINGS: dict[type[BagClassifier], dict[str, object]] = {BoxCountingSVM: {"kernel": BoxCounting(rule="fast")}}
BAGS = 200


def error(model: type[BagClassifier], draw: Draw, concept: int) -> float:
    """Return the test error of a model."""
    train, y = draw(bags=BAGS, seed=0, concept=concept)
    test, z = draw(bags=BAGS, seed=1, concept=concept)
    candidates, base = grid_combinations(model.grid), MODEL_SETTINGS.get(model, {})
    chosen = select_candidate(model, base, candidates, train, y, seed=concept).chosen
    return 1 - configure_model(model, base, candidates[chosen]).fit(train, y).score(test, z)


def main() -> None:
    """Print mean errors with their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--kinds", default="", help="words that the kinds must contain, separated by commas")
    arguments = parser.parse_args()
    single_thread()
    words = arguments.kinds.split(",")
    kinds = {name: draw for name, draw in KINDS.items() if any(word in name for word in words)}
    names = arguments.models.split(",")

    def row(name: str) -> list[object]:
        model_errors = [[error(MODELS[model], kinds[name], k) for k in range(arguments.sets)] for model in names]
        scale = np.sqrt(arguments.sets)
        return [name, *(f"{np.mean(errors):.3f} ± {np.std(errors) / scale:.3f}" for errors in model_errors)]

    table(("test error", *names), (row(name) for name in kinds), first=26, least=18)


if __name__ == "__main__":
    main()
