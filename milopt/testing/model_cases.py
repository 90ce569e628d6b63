"""Conformance cases of a model: program and fit, labels, weights, order, saving, solvers.

Every case has a parameter `is_excepted` (see `ConformanceCase`), which these cases do not use.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from milopt import BagClassifier, Result, Termination, load_model
from milopt.declaration.programs.problem import Problem
from milopt.errors import MiloptError, UnsupportedError
from milopt.estimator.registered_name import registered_name
from milopt.solving import registry
from milopt.testing.conformance import ConformanceCase, NotApplicableError, require

Model = type[BagClassifier]
BagList = list[npt.NDArray[np.float64]]

SCORE_TOLERANCE = 1e-6
"""Maximum difference between scores that must be equal, relative to 1 + the largest absolute score."""
OBJECTIVE_TOLERANCE = 1e-5
"""Maximum relative difference between the optima of one program that were computed in two ways."""
MIN_ACCURACY = 0.7
"""Minimum accuracy on the training bags, which are easy to separate."""


def easy_bags(seed: int = 0, count: int = 16) -> tuple[BagList, npt.NDArray[np.int_]]:
    """Return (bags, labels): bags of two to four instances in the plane, labels -1 and +1, one cluster per class."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(count) % 2 == 0, -1, 1)
    bags = [rng.normal(1.2 * label, 0.6, size=(int(rng.integers(2, 5)), 2)) for label in y]
    return bags, y


def model_cases(model: Model) -> list[ConformanceCase]:
    """Return the conformance cases of a model."""
    checks: dict[str, Callable[[Model, bool], None]] = {
        "declare, a program that scores bags": _check_declare,
        "fit, shapes and labels": _check_fit,
        "fit, easy bags": _check_accuracy,
        "fit, certified": _check_certified,
        "fit, twice the same": _check_repetition,
        "fit, the bags stay as they are": _check_inputs,
        "fit, by several solvers": _check_solvers,
        "labels, text": partial(_check_labels, ("no", "yes")),
        "labels, booleans": partial(_check_labels, (False, True)),
        "labels, three classes": _check_three_classes,
        "weights, all ones": _check_unit_weights,
        "weights, repeated and left out bags": _check_weights,
        "order of bags": _check_order_of_bags,
        "order of instances": _check_order_of_instances,
        "scores, bag by bag": _check_single_bags,
        "scores of instances": _check_instance_scores,
        "symmetric classes": _check_symmetry,
        "report and explanation": _check_report,
        "saved and loaded": _check_saving,
        "registered by its name": _check_registration,
    }
    return [ConformanceCase(name, partial(check, model)) for name, check in checks.items()]


def _fit_easy_bags(model: Model, *data: Any, **fields: Any) -> BagClassifier:
    """Return the model fitted to `data` (bags, labels, weights), or to the easy bags if there is no data.

    `fields` are hyper-parameters. The positive label is 1 by default.
    """
    bags, y = easy_bags()
    return model(**{"positive": 1, **fields}).fit(*(data or (bags, y)))


def _are_close(scores: npt.NDArray[np.float64], expected: npt.NDArray[np.float64]) -> bool:
    """Return True if two arrays of scores have the same shape and are equal up to `SCORE_TOLERANCE`."""
    scale = 1.0 + np.abs(expected).max(initial=0.0)
    is_same_shape = scores.shape == expected.shape
    return is_same_shape and bool(np.abs(scores - expected).max(initial=0.0) <= SCORE_TOLERANCE * scale)


def _check_declare(model: Model, is_excepted: bool) -> None:
    """Check that `declare` returns a program with a score of bags, and an equal program if it is called again."""
    bags, y = easy_bags()
    problem = model(positive=1).program(bags, y)
    require(isinstance(problem, Problem), f"declare must return a program, not {type(problem).__name__}")
    message = "declare must give the program a score of bags: program.score(lambda bags: ...)"
    require(problem.scores_bags, message)
    again = model(positive=1).program(bags, y)
    before, after = ([part.summary() for part in each.parts.values()] for each in (problem, again))
    require(before == after, "two calls of declare with the same bags return different programs: it keeps a state")


def _check_fit(model: Model, is_excepted: bool) -> None:
    """Check that `fit` returns the model itself with unchanged hyper-parameters, and check scores and predictions."""
    bags, y = easy_bags()
    classifier = model(positive=1)
    before = classifier.get_params(deep=False)
    require(classifier.fit(bags, y) is classifier, "fit must return the classifier itself")
    changed = [name for name, value in classifier.get_params(deep=False).items() if value is not before[name]]
    message = f"fit changes the hyper-parameter {', '.join(changed)}: store computed values elsewhere"
    require(not changed, message)
    scores = classifier.decision_function(bags)
    require(scores.shape == (len(bags),), f"there are {len(bags)} bags, and the scores have the shape {scores.shape}")
    require(np.isfinite(scores).all(), "some scores are not finite")
    labels = classifier.predict(bags)
    expected = classifier.classes_[(scores > 0).astype(int)]
    require(np.array_equal(labels, expected), "predict is not the sign of decision_function")


def _check_accuracy(model: Model, is_excepted: bool) -> None:
    """Check that the model classifies at least `MIN_ACCURACY` of the easy training bags correctly."""
    bags, y = easy_bags()
    accuracy = _fit_easy_bags(model).score(bags, y)
    message = f"it labels {accuracy:.0%} of easy training bags right: a positive score must mean y = +1"
    require(accuracy >= MIN_ACCURACY, message)


def _check_certified(model: Model, is_excepted: bool) -> None:
    """Check that every result of a fit to easy bags is certified."""
    for result in _fit_easy_bags(model).results_:
        require(result.exit_code == 0, f"the result is not certified: {result}")


def _check_repetition(model: Model, is_excepted: bool) -> None:
    """Check that two fits to the same bags have exactly the same scores."""
    bags, _ = easy_bags()
    first, second = (_fit_easy_bags(model).decision_function(bags) for _ in range(2))
    message = "two fits have different scores: draw random numbers with self.random_state only"
    require(np.array_equal(first, second), message)


def _check_inputs(model: Model, is_excepted: bool) -> None:
    """Check that a fit does not change the arrays of its bags."""
    bags, y = easy_bags()
    model(positive=1).fit(bags, y)
    copies, _ = easy_bags()
    same = all(np.array_equal(bag, copy) for bag, copy in zip(bags, copies, strict=True))
    require(same, "fit changes the arrays of the bags that it gets: copy them first")


def _check_solvers(model: Model, is_excepted: bool) -> None:
    """Check that all installed solvers that end with an optimum of the program find the same objective."""
    results: dict[str, Result] = {}
    for solver in registry.installed_solvers():
        try:
            result = _fit_easy_bags(model, solver=solver.name).results_[0]
        except UnsupportedError:
            continue
        if result.termination is Termination.OPTIMAL:
            results[solver.name] = result
    if len(results) < 2:
        raise NotApplicableError("fewer than two installed solvers find an optimum of its program")
    (first, reference), *others = results.items()
    for name, other in others:
        near = np.isclose(reference.objective, other.objective, rtol=OBJECTIVE_TOLERANCE, atol=OBJECTIVE_TOLERANCE)
        message = f"the optimum is {reference.objective:.9g} by {first} and {other.objective:.9g} by {name}"
        require(near, f"{message}: declare must not depend on the solver")


def _check_labels(values: tuple[object, object], model: Model, is_excepted: bool) -> None:
    """Check that the labels `values` (negative, positive) give the scores of -1 and +1 and are the ones predicted."""
    bags, y = easy_bags()
    labels = np.array(values)[(y > 0).astype(int)]
    classifier = model(positive=values[1]).fit(bags, labels)
    message = f"with the labels {values} the scores are not those with -1 and +1"
    require(_are_close(classifier.decision_function(bags), _fit_easy_bags(model).decision_function(bags)), message)
    predicted = set(classifier.predict(bags).tolist())
    require(predicted <= set(values), f"with the labels {values} it predicts {predicted}")


def _check_three_classes(model: Model, is_excepted: bool) -> None:
    """Check scores, results and predictions of a fit with three classes."""
    rng = np.random.default_rng(5)
    y = np.arange(15) % 3
    centre = np.array([[-1.5, 0.0], [1.5, 0.0], [0.0, 2.0]])
    bags = [rng.normal(centre[label], 0.5, size=(3, 2)) for label in y]
    classifier = model().fit(bags, y)
    scores = classifier.decision_function(bags)
    require(scores.shape == (15, 3), f"for 15 bags and 3 classes, the scores have the shape {scores.shape}")
    require(len(classifier.results_) == 3, f"for 3 classes, there are {len(classifier.results_)} results, not 3")
    require(set(classifier.predict(bags).tolist()) <= {0, 1, 2}, "it predicts labels that it was not given")


def _check_unit_weights(model: Model, is_excepted: bool) -> None:
    """Check that unit weights give the same scores as no weights."""
    bags, y = easy_bags()
    message = "with a weight of 1 for every bag, the scores are not those without weights"
    weighted = _fit_easy_bags(model, bags, y, np.ones(len(bags)))
    require(_are_close(weighted.decision_function(bags), _fit_easy_bags(model).decision_function(bags)), message)


def _check_weights(model: Model, is_excepted: bool) -> None:
    """Check by the objective that a bag of weight 2 counts as two bags, and a bag of weight 0 as none."""
    bags, y = easy_bags()
    weight = np.ones(len(bags))
    weight[[0, 3]], weight[[6, 9]] = 2.0, 0.0
    places = np.repeat(np.arange(len(bags)), weight.astype(int))
    weighted = _fit_easy_bags(model, bags, y, weight).results_[0]
    repeated = _fit_easy_bags(model, [bags[i] for i in places], y[places]).results_[0]
    near = np.isclose(weighted.objective, repeated.objective, rtol=1e-4, atol=1e-4)
    message = f"the objective is {weighted.objective:.6g} with weights and {repeated.objective:.6g} with repeated bags"
    require(near, f"{message}: a bag of weight 2 must count as two bags, one of weight 0 as none")


def _check_order_of_bags(model: Model, is_excepted: bool) -> None:
    """Check that scores and optimum do not depend on the order of the bags."""
    bags, y = easy_bags()
    order = np.random.default_rng(1).permutation(len(bags))
    classifier, shuffled = _fit_easy_bags(model), [bags[i] for i in order]
    message = "the score of a bag depends on the place of the bag among the others"
    require(_are_close(classifier.decision_function(shuffled), classifier.decision_function(bags)[order]), message)
    first, second = classifier.results_[0], _fit_easy_bags(model, shuffled, y[order]).results_[0]
    _require_same_objective(first, second, "the training bags in another order")


def _check_order_of_instances(model: Model, is_excepted: bool) -> None:
    """Check that scores and optimum do not depend on the order of the instances in a bag."""
    bags, y = easy_bags()
    turned = [bag[::-1].copy() for bag in bags]
    classifier = _fit_easy_bags(model)
    message = "the score of a bag depends on the order of its instances"
    require(_are_close(classifier.decision_function(turned), classifier.decision_function(bags)), message)
    _require_same_objective(
        classifier.results_[0], _fit_easy_bags(model, turned, y).results_[0], "instances in another order"
    )


def _require_same_objective(first: Result, second: Result, change: str) -> None:
    """Raise an error if two results are both optimal and have different objectives; `change` is for the message."""
    if not (first.termination is Termination.OPTIMAL and second.termination is Termination.OPTIMAL):
        return  # Different stationary points are allowed.
    near = np.isclose(first.objective, second.objective, rtol=OBJECTIVE_TOLERANCE, atol=OBJECTIVE_TOLERANCE)
    require(near, f"with {change}, the optimum is {second.objective:.9g}, not {first.objective:.9g}")


def _check_single_bags(model: Model, is_excepted: bool) -> None:
    """Check that the score of a bag does not depend on the bags that are scored with it."""
    bags, _ = easy_bags()
    classifier = _fit_easy_bags(model)
    together = classifier.decision_function(bags)
    alone = np.array([float(classifier.decision_function([bag])[0]) for bag in bags])
    require(_are_close(alone, together), "the score of a bag depends on the bags that are scored with it")


def _check_instance_scores(model: Model, is_excepted: bool) -> None:
    """Check that the scores of instances have the right shapes and are finite, if the program has such scores."""
    bags, _ = easy_bags()
    classifier = _fit_easy_bags(model)
    if not classifier.result_.program.scores_instances:
        raise NotApplicableError("its program has no score of instances")
    scores = classifier.instance_scores(bags)
    sizes = [values.shape for values in scores]
    require(sizes == [(len(bag),) for bag in bags], f"the scores of instances have the shapes {sizes}")
    require(all(np.isfinite(values).all() for values in scores), "some scores of instances are not finite")


def _check_symmetry(model: Model, is_excepted: bool) -> None:
    """Check that exchanging the classes only changes the signs of the scores, if the model states this symmetry."""
    if not model().has_symmetric_classes:
        raise NotApplicableError("it does not state that its classes are symmetric")
    bags, y = easy_bags()
    scores = _fit_easy_bags(model).decision_function(bags)
    exchanged = _fit_easy_bags(model, bags, -y).decision_function(bags)
    distance = np.abs(scores + exchanged).max() / np.abs(scores).max()
    message = f"exchanging the classes changes the scores by {distance:.2g}: has_symmetric_classes must be False"
    require(distance < 1e-3, message)


def _check_report(model: Model, is_excepted: bool) -> None:
    """Check that the report of a fit and the explanation of a bag are not empty."""
    bags, _ = easy_bags()
    classifier = _fit_easy_bags(model)
    require(str(classifier.report()), "its report is empty")
    require(str(classifier.explain(bags[0])), "the explanation of a bag is empty")


def _check_saving(model: Model, is_excepted: bool) -> None:
    """Check that a saved and loaded model has the same scores."""
    bags, _ = easy_bags()
    classifier = _fit_easy_bags(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.milopt"
        try:
            classifier.save(path)
            loaded = load_model(path, None if registered_name(model) else model)
        except MiloptError as error:
            require(False, f"it cannot be saved and loaded: {error}")
    message = "loaded from a file, it has other scores: declare must depend on its fields and arguments only"
    require(_are_close(loaded.decision_function(bags), classifier.decision_function(bags)), message)


def _check_registration(model: Model, is_excepted: bool) -> None:
    """Check that the registered name of the model, if there is one, has no spaces."""
    if (name := registered_name(model)) is None:
        raise NotApplicableError("no installed package registers it in the group milopt.models")
    require(name == name.strip() and " " not in name, f"its name {name!r} has spaces")
