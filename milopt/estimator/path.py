"""Fits of one model for several values of a hyper-parameter, such as a regularisation path, in one warm run.

The bags are prepared once, and kernels are fitted once. If the solver is the same for all values, the programs are
solved in one session: kernel values are computed once, and each solve starts from the last point or basis.

The program of each value is certified in the same way as in a separate fit. A convex program has the same optimum as in
a separate fit. A DC program (with a difference of convex functions) starts from its own witnesses, the instances whose
values replace the maxima over the bags. Each of its convex steps has the same optimum as in a separate fit. The later
witnesses are therefore the same too, unless instances tie up to the tolerance. Semi-infinite programs are solved one by
one.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy.typing as npt

from milopt.declaration.kernels.gram_cache import result_cache
from milopt.declaration.kernels.kernel import Kernel
from milopt.errors import MiloptError, ParameterError
from milopt.estimator.classifier import BagClassifier, DeclaredFit
from milopt.outcome.result import Result
from milopt.schemes.solve import solve_each

Model = TypeVar("Model", bound=BagClassifier)

PREPARED_FIELDS = ("solver", "scheme", "form", "options", "scale", "class_weight", "positive", "random_state")
"""Shared hyper-parameters: they affect the preparation of the bags or the solver, so they have no warm path."""


def path(
    model: Model, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None, **values: Sequence[object]
) -> list[Model]:
    """Fit a model for several values of one hyper-parameter, in one warm run.

    For convex programs, the models are the same as those of separate fits, up to the tolerance of the certificates. For
    DC programs, only each convex step has the same optimum: ties between instances may change the witnesses.

    Parameters
    ----------
    model : BagClassifier
        Model with all other hyper-parameters. It is not changed.
    bags : list of array, 3-D array or Bags
        Training bags, each of shape (n_instances, n_features).
    y : array-like of shape (n_bags,)
        Label of each bag.
    sample_weight : array-like of shape (n_bags,) or None, default=None
        Weight of each bag. None means 1 for all.
    **values : sequence
        The values of one hyper-parameter by its name, such as ``C=[0.1, 1, 10]``. Neighbouring values should be close.

    Returns
    -------
    list of BagClassifier
        One fitted model per value, in the order of the values.

    Raises
    ------
    ParameterError
        If there is not exactly one hyper-parameter, or if it is not a hyper-parameter of the model.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> from milopt.models import SetKernelSVM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1] += 2
    >>> models = milopt.path(SetKernelSVM(), bags, y, C=[0.1, 1.0, 10.0])
    >>> [model.C for model in models], models[-1].score(bags, y)
    ([0.1, 1.0, 10.0], 1.0)
    """
    if not isinstance(model, BagClassifier):
        raise ParameterError(f"path requires a model of milopt, not {model!r}.")
    if len(values) != 1:
        names = ", ".join(values) or "none"
        raise ParameterError(
            f"path requires the values of one hyper-parameter, such as C=[0.1, 1, 10]; given: {names}."
        )
    ((name, candidates),) = values.items()
    if isinstance(candidates, str) or not hasattr(candidates, "__iter__"):
        raise ParameterError(f"{name} must be a sequence of values, not {candidates!r}.")
    models = [_copy_with(model, name, value) for value in candidates]
    for outcome in fit_together(models, name, bags, y, sample_weight):
        if isinstance(outcome, MiloptError):
            raise outcome
    return models


def fit_together(
    models: Sequence[BagClassifier],
    name: str,
    bags: object,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
) -> list[BagClassifier | MiloptError]:
    """Fit models that differ in the hyper-parameter `name` only; return each fitted model, or the error of its fit."""
    outcomes: dict[int, BagClassifier | MiloptError] = {}
    declared: dict[int, DeclaredFit] = {}
    with result_cache():
        if len(models) > 1 and can_share(models[0], name):
            declared = _declare_all(models, name, bags, y, sample_weight, outcomes)
        solved = _solve_together(models[0], declared) if len(declared) > 1 else {}
        for index, model in enumerate(models):
            if index in outcomes:
                continue
            try:
                if index in solved:
                    model._accept_results(declared[index], solved[index])
                else:
                    model.fit(bags, y, sample_weight)
            except MiloptError as error:
                outcomes[index] = error
            else:
                outcomes[index] = model
    return [outcomes[index] for index in range(len(models))]


def can_share(model: BagClassifier, name: str) -> bool:
    """Return True if the preparation of a fit does not depend on the hyper-parameter `name`."""
    if name not in model._fields or name in PREPARED_FIELDS:
        return False
    kinds = (Kernel, bool)
    return not isinstance(getattr(model, name), kinds) and not isinstance(getattr(type(model), name), kinds)


def _declare_all(
    models: Sequence[BagClassifier],
    name: str,
    bags: object,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None,
    outcomes: dict[int, BagClassifier | MiloptError],
) -> dict[int, DeclaredFit]:
    """Prepare the bags once and declare the programs of all models, by index; errors are added to `outcomes`."""
    prepared, training = models[0]._prepare_training(bags, y, sample_weight)
    declared: dict[int, DeclaredFit] = {}
    for index, model in enumerate(models):
        probe = copy.copy(prepared)
        setattr(probe, name, getattr(model, name))
        try:
            declared[index] = model._declare_fit(probe, training)
        except MiloptError as error:
            outcomes[index] = error
    return declared


def _solve_together(model: BagClassifier, declared: Mapping[int, DeclaredFit]) -> dict[int, list[Result]]:
    """Return the results of the declared fits, one per class, by index; nothing if a program raises an error.

    All programs of one class are solved before those of the next class, so that one session is open at a time.
    """
    fits = list(declared.values())
    by_class: list[list[Result]] = []
    for k in range(len(fits[0].programs)):
        programs = [fit.programs[k] for fit in fits]
        try:
            by_class.append(list(solve_each(programs, model.solver, model.scheme, fits[0].options, shares_steps=True)))
        except MiloptError:
            return {}
    return dict(zip(declared, (list(results) for results in zip(*by_class, strict=True)), strict=True))


def _copy_with(model: Model, name: str, value: object) -> Model:
    """Return an unfitted copy of a model with another value of one hyper-parameter."""
    other = model._unfitted_copy()
    other.set_params(**{name: value})
    return other  # type: ignore[return-value]  # the copy has the class of the model
