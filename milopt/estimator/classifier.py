"""The base of every model: hyper-parameters as annotated fields, `declare` as the method, a classifier over bags.

A model is a scikit-learn classifier: `clone`, `GridSearchCV`, `Pipeline`, calibration and the rest take it as it is,
with bags in any form that `as_bags` knows; a 2-D array means bags of one instance each, with a warning.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from milopt.arrays import Floats, Points
from milopt.compilation.status import PointStatus
from milopt.data.windows import Windows
from milopt.deadline import deadline
from milopt.declaration.bags.bags import Bags
from milopt.declaration.bags.labels import Signs, Weights, as_labels, as_weights
from milopt.declaration.checks import one_of, truth
from milopt.declaration.kernels.kernel import Kernel, as_kernel
from milopt.declaration.kernels.recollection import recollection
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import BagsError, MiloptWarning, ParameterError, UncertifiedError
from milopt.estimator.class_weights import ClassWeight
from milopt.estimator.constant_scores import with_constant_scores_told
from milopt.estimator.explanation import Explanation, explained
from milopt.estimator.fields import Fields, annotation_of
from milopt.estimator.fitted import Fitted, FittedAttributes
from milopt.estimator.inputs import new_bags, training_bags, training_labels
from milopt.estimator.positive_label import is_chosen_by_order, warn_of_order
from milopt.estimator.report import Report, reported, versions
from milopt.estimator.scikit_learn import UNUSED, BaseEstimator, ClassifierMixin, UnfittedError, check_random_state
from milopt.estimator.shown_bag import ShownBag, single
from milopt.estimator.training_set import TrainingSet, training_set
from milopt.jit_time import jit_seconds, working_seconds
from milopt.outcome.result import Result
from milopt.schemes.scheme import Scheme
from milopt.schemes.solve import solve_each
from milopt.solving.options import Options

LEAST_SECONDS = 1e-3
"""For the solver, if the declaration took all of the time limit."""


class BagClassifier(Fields, FittedAttributes, ClassifierMixin, BaseEstimator, ABC):
    """A classifier of bags. A subclass annotates its hyper-parameters with defaults and declares its program.

    The annotated fields become a keyword-only `__init__`; the fields below come with every model. Labels may be of any
    one type; more than two classes are separated each from the rest.
    """

    solver: str | tuple[str, ...] = "auto"
    scheme: str | Scheme | None = None
    form: str | None = None
    """`dual` or `primal`: how a function of a kernel's space reaches the solver; None as the solver prefers."""
    options: Options | None = None
    scale: str = "minmax01"
    """`minmax01`, `zscore` or `none`, fitted on the training instances (see `estimator.scaling`)."""
    class_weight: ClassWeight = None
    """None, `balanced`, or a weight a label."""
    positive: object = None
    """The label of the positive class: the one of two classes that has y = +1, and whose witnesses are looked for.

    None takes the larger number, True, or with a warning the alphabetically last label.
    """
    random_state: int | np.random.RandomState | None = 0
    """The seed of random choices, such as landmarks; `declare` finds it here as an integer.

    The default is 0, in Python as on the command line, so that two fits to the same bags are equal. None draws a new
    seed for every fit.
    """

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {}
    """The candidates by field among which an honest evaluation chooses where nobody says otherwise."""
    in_selection: ClassVar[Mapping[str, object]] = {}
    """What candidates are fitted with while one of them is chosen, where nobody says otherwise."""

    is_exemplary: ClassVar[bool] = False
    """Stands in a comparison for which nobody named models; that must not take a newcomer's minute."""

    # To scikit-learn every argument but X and y is metadata, unless it is told otherwise.
    __metadata_request__fit: ClassVar[Mapping[str, str]] = {"bags": UNUSED}
    __metadata_request__predict: ClassVar[Mapping[str, str]] = {"bags": UNUSED}
    __metadata_request__decision_function: ClassVar[Mapping[str, str]] = {"bags": UNUSED}
    __metadata_request__score: ClassVar[Mapping[str, str]] = {"bags": UNUSED}

    @property
    def fits_kernels(self) -> bool:
        """Whether `declare` gets kernels fitted to the instances; a model that makes other points fits them itself."""
        return True

    @property
    def has_symmetric_classes(self) -> bool:
        """Whether exchanging the two classes changes nothing but the sign of the scores, with these hyper-parameters.

        A model that looks for witnesses of one class returns False, and `fit` warns if the user has not said which
        class is positive. False is the default; a model whose classes are symmetric overrides this property.
        """
        return False

    @abstractmethod
    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program | SemiInfinite:
        """The model's program over training bags; y is -1/+1, a bag of weight 2 counts as two."""

    def review(self, result: Result) -> None:  # most models have nothing to say
        """Look at an answer before it is kept: warn, or raise a MiloptError to refuse it."""

    def program(
        self, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Program | SemiInfinite:
        """The program that `fit` would solve, over the bags scaled alike."""
        probe, training = self._training(bags, y, sample_weight)
        if training.classes.size > 2:
            raise BagsError(
                f"There are {training.classes.size} different labels, and fit solves one program for each: "
                "give y == label for the one of that label."
            )
        return probe.declare(training.bags, training.signs()[0], training.weight)

    def fit(self, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Declare the program over these bags and solve it; for more than two classes one program a class."""
        options = _in_form(self.form, self.options)
        with recollection():
            probe, training = self._training(bags, y, sample_weight)
            began, compiled = working_seconds(), jit_seconds()
            limit = options.time_limit if isinstance(options, Options) else None
            with deadline(limit):
                programs = [probe.declare(training.bags, signs, training.weight) for signs in training.signs()]
            declaring, compiling = working_seconds() - began, jit_seconds() - compiled
            if limit is not None:
                assert options is not None
                options = replace(options, time_limit=max(limit - declaring - compiling, LEAST_SECONDS))
            results: list[Result] = []
            for result in solve_each(programs, self.solver, self.scheme, options):
                _look(result)
                probe.review(result)
                results.append(with_constant_scores_told(result, training.bags, training.place))
        # Only now: a fit that fails leaves the last one as it was.
        vars(self).pop("feature_names_in_", None)
        vars(self).update({name: value for name, value in vars(probe).items() if name.endswith("_in_")})
        self.classes_ = training.classes
        given = self._bare()
        if isinstance(given.random_state, np.random.RandomState):
            given.random_state = probe.random_state  # what was drawn from it, for it has moved on
        self._fitted = Fitted(given, probe._bare(), training, declaring, versions(results), tuple(results), compiling)
        return self

    @property
    def results_(self) -> tuple[Result, ...]:
        """One result a program: one for two classes, otherwise one a class."""
        return self._known().results

    @property
    def result_(self) -> Result:
        """The result, where there are two classes."""
        if len(self._known().solved) > 1:
            raise AttributeError(f"There are {len(self.results_)} classes, and so as many results: take results_.")
        return self.results_[0]

    @property
    def positive_label_(self) -> object:
        """The label of the positive class: y is +1 on its bags; None for more than two classes."""
        return self._known().training.positive_label

    def decision_function(self, bags: object) -> Floats:
        """Score each bag: (n,) for two classes; (n, k) for k classes, of which the largest wins.

        For two classes, a positive score means the second class, `classes_[1]`, as scikit-learn expects it. This holds
        whichever class is `positive_label_`; `explain` gives the score that speaks for `positive_label_`.
        """
        return self._known().scores(self._scaled(bags))

    def predict(self, bags: object) -> npt.NDArray[Any]:
        """Predict the label of each bag, one of `classes_`; for two classes, a score of exactly 0 is the first.

        `positive_label_` is the class whose witnesses the model looks for.
        """
        return self.labels(self.decision_function(bags))

    def labels(self, scores: Floats) -> npt.NDArray[Any]:
        """The labels that `decision_function`'s scores stand for; of two classes, a score of exactly 0 is the first."""
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return cast("npt.NDArray[Any]", self.classes_[chosen])

    def instance_scores(self, bags: object) -> list[Floats]:
        """Return one array of instance scores per bag: (n_i,) for two classes, (n_i, k) for k classes.

        For two classes, a positive score means `classes_[1]`, as in `decision_function`.
        """
        scaled = self._scaled(bags)
        return np.split(self._known().instance_scores(scaled.instances), scaled.offsets[1:-1])

    def predict_instances(self, bags: object) -> list[npt.NDArray[Any]]:
        """One array of labels a bag, one label an instance."""
        return [self.labels(scores) for scores in self.instance_scores(bags)]

    def score(self, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """The share of bags labelled right, each counted by its weight."""
        predicted, labels = self.predict(bags), as_labels(y)
        if labels.size != predicted.size:
            raise BagsError(f"There are {labels.size} labels for {predicted.size} bags: give one a bag.")
        return float(np.average(predicted == labels, weights=as_weights(sample_weight, labels.size)))

    def explain(self, bag: Points | Bags) -> Explanation:
        """Which instances of one bag, a 2-D array or bags of which there is one, carry its score."""
        return explained(self._known(), *self._shown(bag))

    def report(self) -> Report:
        """The fit in short: data, program, solver, status, certificate, seconds; `as_dict()` for machines."""
        return reported(type(self), self._known())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file, without pickle; `milopt.load_model` reads it."""
        from milopt.estimator.saving import save_model

        save_model(self, self._known(), path)

    def set_params(self, **values: object) -> Self:
        """Set hyper-parameters by name, as scikit-learn does; all of them or, where one is unknown, none."""
        for name in values:
            if name not in self._fields:
                known = ", ".join(self._fields)
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {known}.")
        for name, value in values.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        return tags

    def _training(
        self, given: object, y: object, sample_weight: npt.ArrayLike | None
    ) -> tuple[BagClassifier, TrainingSet]:
        """A copy of the model that may declare, with numbers for what depends on the data, and what it declares over.

        The model itself is not touched.
        """
        probe = copy.copy(self)
        bags = training_bags(probe, given)
        kernels = {
            name: as_kernel(value)
            for name in self._fields
            if isinstance(value := getattr(self, name), Kernel) or isinstance(getattr(type(self), name), Kernel)
        }
        scale = "none" if any(kernel.takes_points_as_they_are for kernel in kernels.values()) else self.scale
        labels = training_labels(self, y)
        training = training_set(bags, labels, sample_weight, self.class_weight, scale, self.positive)
        for name in self._fields:
            if annotation_of(type(self), name) in (bool, "bool"):
                setattr(probe, name, truth(name, getattr(self, name)))
        for name, kernel in kernels.items():
            setattr(probe, name, kernel.fitted_to(training.bags) if self.fits_kernels else kernel)
        probe.random_state = _seed(self.random_state)
        if is_chosen_by_order(self.positive, training.classes) and not self.has_symmetric_classes:
            warn_of_order(type(self).__name__, training.classes, stacklevel=3)
        return probe, training

    def _bare(self) -> BagClassifier:
        """A model with the same hyper-parameters, fitted on nothing."""
        return type(self)(**self.get_params(deep=False))

    def _known(self) -> Fitted:
        if "_fitted" not in vars(self):
            raise UnfittedError(f"This {type(self).__name__} is not fitted yet; call fit first.")
        return self._fitted

    def _scaled(self, given: object) -> Bags:
        return self._known().training.scaling(new_bags(self, given))

    def _shown(self, bag: Points | Bags) -> tuple[ShownBag, object]:
        """One bag to be looked at, and its predicted label."""
        training = self._known().training
        given = new_bags(self, single(bag))
        scaled = training.scaling(given)
        cut = given.cut if isinstance(given, Windows) else self.windows_in_
        return ShownBag(given, scaled, cut), self.labels(self._known().scores(scaled))[0]


def _look(result: Result) -> None:
    program = result.program
    if not result.values and not result.functions and result.ensemble is None:
        raise UncertifiedError(f"{program.name} ended without a point: {result.termination}. {result.message}".strip())
    if result.point is not PointStatus.CERTIFIED:
        proof = f" ({result.certificate})" if result.certificate else ""
        message = f"{program.name} by {result.solver} ended as {result.termination}, point {result.point}{proof}."
        warnings.warn(f"{message} {result.message}".strip(), MiloptWarning, stacklevel=3)


def _in_form(form: str | None, options: Options | None) -> Options | None:
    """The options with the form that a model asks for; `coordinates` is what they call the primal."""
    if form is None:
        return options
    one_of("form", form, ("dual", "primal"))
    return replace(options or Options(), form="dual" if form == "dual" else "coordinates")


def _seed(random_state: object) -> int:
    """The seed as numpy takes it, for whatever a model draws with it."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**32:
            raise ParameterError(f"random_state must lie between 0 and 2**32 - 1, not at {random_state}.")
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise ParameterError(f"random_state must be an integer, None or a RandomState, not {random_state!r}.") from None
