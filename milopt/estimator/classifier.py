"""Base class of all models: annotated hyper-parameters, a `declare` method, and the scikit-learn interface.

A model is a scikit-learn classifier. Models work with `clone`, `GridSearchCV`, `Pipeline`, calibration and the other
tools of scikit-learn. Bags may be given in every form that `as_bags` accepts. A 2-D array means bags of one instance
each, with a warning.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from milopt.declaration.checks import check_bool, check_choice
from milopt.declaration.kernels.gram_cache import result_cache
from milopt.declaration.kernels.kernel import Kernel
from milopt.declaration.programs.program import Program
from milopt.declaration.programs.semi_infinite import SemiInfinite
from milopt.errors import BagsError, MiloptWarning, ParameterError, UncertifiedError
from milopt.estimator.class_weights import ClassWeight
from milopt.estimator.constant_scores import warn_if_scores_are_constant
from milopt.estimator.declaration import declare_program
from milopt.estimator.explained_bag import ExplainedBag, as_single_bag
from milopt.estimator.explanation import Explanation, explain_bag
from milopt.estimator.fields import Fields, annotation_of
from milopt.estimator.fitted import FittedAttributes, FittedState
from milopt.estimator.inputs import check_new_bags, check_training_bags, check_training_labels
from milopt.estimator.kernel_parameters import kernel_parameters, replace_parameter, resolve_kernel
from milopt.estimator.positive_label import is_chosen_by_order, warn_about_label_order
from milopt.estimator.report import Report
from milopt.estimator.report_content import build_report, package_versions
from milopt.estimator.scikit_learn import UNUSED, BaseEstimator, ClassifierMixin, UnfittedError, check_random_state
from milopt.estimator.training_set import TrainingSet, build_training_set
from milopt.jit_time import jit_seconds, seconds_without_jit
from milopt.outcome.result import Result
from milopt.schemes.scheme import Scheme
from milopt.schemes.solve import solve_each
from milopt.schemes.step_progress import OnStep, StepPrinter, join_callbacks
from milopt.solving.options import Options

MIN_SOLVER_SECONDS = 1e-3
"""Smallest time limit of the solver in seconds, used if declaring the programs took the whole time of the fit."""


class BagClassifier(Fields, FittedAttributes, ClassifierMixin, BaseEstimator, ABC):
    """Base class of bag classifiers that are declared as optimisation programs.

    A subclass annotates its hyper-parameters with default values and implements `declare`, which returns the
    optimisation program for the training bags. The constructor is generated from the annotations: all parameters are
    keyword-only, and the parameters below are added to those of the subclass. For two classes, one program is solved.
    For more than two classes, one program per class separates that class from the others.

    Parameters
    ----------
    solver : str or tuple of str, default="auto"
        Name of a solver (see `milopt.available_solvers`), or several names to try in order. "auto" tries the installed
        solvers that support the program. Models solved by column generation also accept "master=NAME,oracle=NAME".
    scheme : str, Scheme or None, default=None
        Algorithm that reduces the program to convex ones, for example "ccp" or `ConvexConcave(max_steps=10)`. None
        selects the scheme that fits the program.
    form : {"primal", "dual"} or None, default=None
        Form in which functions of a kernel space are passed to the solver. None selects the form that the solver
        prefers.
    options : Options or None, default=None
        Options of the solver, such as the time limit and the tolerance. None uses the default options.
    scale : {"minmax01", "zscore", "none"}, default="minmax01"
        Scaling of the features, fitted to the training instances: to [0, 1] (sparse instances are divided by the
        largest magnitude of each feature), to mean 0 and standard deviation 1, or none.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class by label, 1 for labels that are left out. "balanced" weights the classes inversely to their
        frequencies. None means 1 for all.
    positive : label or None, default=None
        Label of the positive class, which has y = +1 in the program; only for two classes. None selects the larger
        number or True; for other labels, it selects the last one in alphabetical order, with a warning if the choice
        matters.
    random_state : int, RandomState or None, default=0
        Seed of the random choices of the model, such as landmarks. None uses a new seed for every fit.
    verbose : bool, default=False
        Whether `fit` prints a line per step of the scheme to stderr: objective, bound, gap and residual.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes, sorted.
    positive_label_ : label or None
        Label of the positive class. None for more than two classes.
    result_ : Result
        Result of the optimisation, for two classes.
    results_ : tuple of Result
        Result of each program: one for two classes, otherwise one per class.
    n_features_in_ : int
        Number of features of an instance.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Names of the features, if the training bags have names. New bags are read by these names.
    windows_in_ : WindowSettings or None
        Length and stride of the windows, if the training bags are windows of time series.
    receives_fitted_kernels : bool
        Whether `declare` receives kernels that are already fitted to the training instances.
    has_symmetric_classes : bool
        Whether exchanging the two classes only changes the sign of the scores.

    Examples
    --------
    A linear classifier of bag means, fitted by linear programming:

    >>> import numpy as np
    >>> import milopt
    >>> class MeanClassifier(milopt.BagClassifier):
    ...     C: float = 1.0
    ...     def declare(self, bags, y, weight):
    ...         program = milopt.Program("means")
    ...         w = program.variable("w", bags.dimension)
    ...         slack = program.variable("slack", len(bags), lower=0)
    ...         program.minimize(milopt.norm1(w) + self.C * (weight @ slack))
    ...         program.subject_to(y * (bags.mean(bags.instances) @ w) >= 1 - slack)
    ...         program.score(lambda new: new.mean(new.instances) @ w)
    ...         return program
    >>> bags = [[[1.0, 0.2], [0.8, 0.1]], [[0.9, 0.3]], [[-1.0, 0.1]], [[-0.7, 0.3], [-0.9, 0.2]]]
    >>> model = MeanClassifier(C=10.0, scale="none").fit(bags, [1, 1, 0, 0])
    >>> model.predict(bags)
    array([1, 1, 0, 0])
    """

    solver: str | tuple[str, ...] = "auto"
    scheme: str | Scheme | None = None
    form: str | None = None
    options: Options | None = None
    scale: str = "minmax01"
    class_weight: ClassWeight = None
    positive: object = None
    random_state: int | np.random.RandomState | None = 0
    verbose: bool = False

    grid: ClassVar[Mapping[str, tuple[object, ...]]] = {}
    """Candidate values by hyper-parameter, from which `milopt.evaluate` selects by default."""
    in_selection: ClassVar[Mapping[str, object]] = {}
    """Hyper-parameters that `milopt.evaluate` sets while it compares candidates, but not in the last fit.

    Values that the user fixes, or that are in the grid, take precedence.
    """

    _program_data: ClassVar[tuple[str, ...]] = ()
    """Private attributes that `declare` reads besides the hyper-parameters. They are saved with the fitted model."""

    in_default_comparison: ClassVar[bool] = False
    """Whether `milopt compare` includes this model when no models are given. Only fast models should set it."""

    # scikit-learn treats every argument except X and y as metadata, unless the class marks the argument as UNUSED.
    __metadata_request__fit: ClassVar[Mapping[str, str]] = {"bags": UNUSED, "on_step": UNUSED}
    __metadata_request__predict: ClassVar[Mapping[str, str]] = {"bags": UNUSED}
    __metadata_request__decision_function: ClassVar[Mapping[str, str]] = {"bags": UNUSED}
    __metadata_request__score: ClassVar[Mapping[str, str]] = {"bags": UNUSED}

    @property
    def receives_fitted_kernels(self) -> bool:
        """True if `declare` receives kernels that are already fitted to the training instances.

        A model whose kernels compare other points overrides this property and fits its kernels in `declare`.
        """
        return True

    @property
    def has_symmetric_classes(self) -> bool:
        """True if exchanging the two classes only changes the sign of the scores, with these hyper-parameters.

        For a model that returns False, the default, `fit` warns if the positive class was chosen by alphabetical order.
        Models with symmetric classes override this property.
        """
        return False

    @abstractmethod
    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program | SemiInfinite:
        """Build the optimisation program for the training bags.

        Parameters
        ----------
        bags : Bags
            Training bags, already scaled.
        y : ndarray of shape (n_bags,)
            Labels, -1 or +1.
        weight : ndarray of shape (n_bags,)
            Weight of each bag. A bag of weight 2 counts as two bags.

        Returns
        -------
        Program or SemiInfinite
            Program with an objective, constraints and a score for new bags.
        """

    def check_result(self, result: Result) -> None:
        """Check a result before the fit accepts it.

        The default accepts every result. A model may override this method to warn, or to raise a `MiloptError`.

        Parameters
        ----------
        result : Result
            Result of one program.
        """

    def program(
        self, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> Program | SemiInfinite:
        """Return the program that `fit` would solve, without solving it.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Training bags, each of shape (n_instances, n_features).
        y : array-like of shape (n_bags,)
            Labels of two classes.
        sample_weight : array-like of shape (n_bags,) or None, default=None
            Weight of each bag. None means 1 for all.

        Returns
        -------
        Program or SemiInfinite
            Program over the scaled bags.

        Raises
        ------
        BagsError
            If there are more than two classes, since `fit` then solves several programs.

        Examples
        --------
        >>> import milopt
        >>> from milopt.models import SetKernelSVM
        >>> data = milopt.data.toy_bags("clusters", bags=20)
        >>> program = SetKernelSVM().program(data.bags, data.labels)
        >>> [*program.variables], [*program.constraints]
        (['b', 'slack'], ['margin'])
        """
        probe, training = self._prepare_training(bags, y, sample_weight)
        if training.classes.size > 2:
            raise BagsError(
                f"There are {training.classes.size} different labels, and fit solves one program per label: "
                "give y == label for the program of one label."
            )
        return declare_program(probe, training.bags, training.signs()[0], training.weight)

    def fit(
        self,
        bags: object,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        on_step: OnStep | None = None,
    ) -> Self:
        """Fit the model: build the program for the training bags and solve it.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Training bags, each of shape (n_instances, n_features).
        y : array-like of shape (n_bags,)
            Label of each bag.
        sample_weight : array-like of shape (n_bags,) or None, default=None
            Weight of each bag. A bag of weight 2 counts as two bags; bags of weight 0 are ignored. None means 1 for
            all.
        on_step : callable or None, default=None
            Called as ``on_step(step)`` with every `milopt.Step` as soon as it is made.

        Returns
        -------
        Self
            The fitted model.

        Raises
        ------
        UncertifiedError
            If a solver returned no point at all. A point without a certificate only gives a warning.

        Examples
        --------
        >>> import milopt
        >>> from milopt.models import SetKernelSVM
        >>> data = milopt.data.toy_bags("clusters", bags=20)
        >>> model = SetKernelSVM(C=10.0).fit(data.bags, data.labels)
        >>> model.result_.termination == "optimal"
        True
        """
        with result_cache():
            declared = self._declare_fit(*self._prepare_training(bags, y, sample_weight))
            probe = declared.probe
            titles = _program_titles(declared.programs, declared.training)
            show = join_callbacks(on_step, StepPrinter(titles) if probe.verbose else None)
            self._accept_results(
                declared, solve_each(declared.programs, self.solver, self.scheme, declared.options, show)
            )
        return self

    def _declare_fit(self, probe: BagClassifier, training: TrainingSet) -> DeclaredFit:
        """Declare the programs of a fit, with the time that is left for solving them in the options."""
        options = _options_with_form(self.form, self.options)
        began, compiled = seconds_without_jit(), jit_seconds()
        limit = options.time_limit if isinstance(options, Options) else None
        with deadline(limit):
            programs = [declare_program(probe, training.bags, signs, training.weight) for signs in training.signs()]
        declaring, compiling = seconds_without_jit() - began, jit_seconds() - compiled
        if limit is not None:
            assert options is not None
            options = replace(options, time_limit=max(limit - declaring - compiling, MIN_SOLVER_SECONDS))
        return DeclaredFit(probe, training, programs, options, declaring, compiling)

    def _accept_results(self, declared: DeclaredFit, results: Iterable[Result]) -> None:
        """Check the results of a fit one by one, and set the fitted attributes."""
        probe, training = declared.probe, declared.training
        accepted: list[Result] = []
        for result in results:
            _check_has_point(result)
            probe.check_result(result)
            accepted.append(warn_if_scores_are_constant(result, training.bags, training.class_indices))
        # Attributes are set only now, so that a failed fit does not change those of the previous fit.
        vars(self).pop("feature_names_in_", None)
        vars(self).update({name: value for name, value in vars(probe).items() if name.endswith("_in_")})
        self.classes_ = training.classes
        given = self._unfitted_copy()
        if isinstance(given.random_state, np.random.RandomState):
            given.random_state = probe.random_state  # the seed that was drawn from the generator
        self._fitted = FittedState(
            given,
            probe._unfitted_copy(),
            training,
            declared.declare_seconds,
            package_versions(result.solver for result in accepted),
            tuple(accepted),
            declared.declare_jit_seconds,
        )

    @property
    def results_(self) -> tuple[Result, ...]:
        """Results of the programs: one for two classes, otherwise one per class."""
        return self._fitted_state().results

    @property
    def result_(self) -> Result:
        """Result of the optimisation, for two classes."""
        if len(self._fitted_state().stored_results) > 1:
            raise AttributeError(f"The model has {len(self.results_)} classes and one result per class: use results_.")
        return self.results_[0]

    @property
    def positive_label_(self) -> object:
        """Label of the positive class, whose bags have y = +1; None for more than two classes."""
        return self._fitted_state().training.positive_label

    def decision_function(self, bags: object) -> Floats:
        """Compute the scores of bags.

        For two classes, a positive score means `classes_[1]`, as in scikit-learn, also if `positive_label_` is
        `classes_[0]`. In `explain`, a positive score means `positive_label_`.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        ndarray of shape (n_bags,) or (n_bags, n_classes)
            One score per bag for two classes, otherwise one column per class.

        Raises
        ------
        UnfittedError
            If the model is not fitted.
        BagsError
            If the bags are invalid, or do not have the features of the training bags.

        Examples
        --------
        >>> import milopt
        >>> from milopt.models import SetKernelSVM
        >>> data = milopt.data.toy_bags("clusters", bags=20)
        >>> model = SetKernelSVM().fit(data.bags, data.labels)
        >>> scores = model.decision_function(data.bags)
        >>> bool(((scores > 0) == (model.predict(data.bags) == model.classes_[1])).all())
        True
        """
        return self._fitted_state().score_new_bags(self.check_bags(bags))

    def predict(self, bags: object) -> npt.NDArray[Any]:
        """Predict the label of each bag.

        For two classes, a score of exactly 0 gives `classes_[0]`. For more, the class with the largest score is
        predicted.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        ndarray of shape (n_bags,)
            Labels from `classes_`.

        Raises
        ------
        UnfittedError
            If the model is not fitted.
        BagsError
            If the bags are invalid, or do not have the features of the training bags.

        Examples
        --------
        >>> import milopt
        >>> from milopt.models import SetKernelSVM
        >>> data = milopt.data.toy_bags("clusters", bags=20)
        >>> model = SetKernelSVM().fit(data.bags, data.labels)
        >>> model.predict(data.bags[:3]).tolist()
        [-1, 1, -1]
        """
        return self.labels(self.decision_function(bags))

    def labels(self, scores: Floats) -> npt.NDArray[Any]:
        """Convert scores of `decision_function` into labels.

        Parameters
        ----------
        scores : ndarray of shape (n,) or (n, n_classes)
            Scores of bags or instances.

        Returns
        -------
        ndarray of shape (n,)
            Labels from `classes_`. For two classes, a score of exactly 0 gives `classes_[0]`.
        """
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return cast("npt.NDArray[Any]", self.classes_[chosen])

    def instance_scores(self, bags: object) -> list[Floats]:
        """Compute the scores of the instances in each bag.

        For two classes, a positive score means `classes_[1]`, as in `decision_function`. If the program only scores
        bags, each instance is scored as a bag of one.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        list of ndarray
            One array per bag, of shape (n_instances,) for two classes, otherwise (n_instances, n_classes).

        Raises
        ------
        UnfittedError
            If the model is not fitted.
        BagsError
            If the bags are invalid, or do not have the features of the training bags.

        Examples
        --------
        >>> import milopt
        >>> from milopt.models import SetKernelSVM
        >>> data = milopt.data.toy_bags("clusters", bags=20)
        >>> model = SetKernelSVM().fit(data.bags, data.labels)
        >>> [scores.size for scores in model.instance_scores(data.bags)] == data.bags.sizes.tolist()
        True
        """
        given = self.check_bags(bags)
        return np.split(self._fitted_state().score_new_instances(given), given.offsets[1:-1])

    def predict_instances(self, bags: object) -> list[npt.NDArray[Any]]:
        """Predict the label of every instance in each bag.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        list of ndarray
            One array of labels per bag, of shape (n_instances,).

        Raises
        ------
        UnfittedError
            If the model is not fitted.
        BagsError
            If the bags are invalid, or do not have the features of the training bags.

        Examples
        --------
        >>> import milopt
        >>> from milopt.models import SetKernelSVM
        >>> data = milopt.data.toy_bags("clusters", bags=20)
        >>> model = SetKernelSVM().fit(data.bags, data.labels)
        >>> len(model.predict_instances(data.bags[:2]))
        2
        """
        return [self.labels(scores) for scores in self.instance_scores(bags)]

    def score(self, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Compute the accuracy on bags with known labels.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.
        y : array-like of shape (n_bags,)
            True labels.
        sample_weight : array-like of shape (n_bags,) or None, default=None
            Weight of each bag. None means 1 for all.

        Returns
        -------
        float
            Weighted fraction of the bags whose label is predicted correctly.

        Raises
        ------
        UnfittedError
            If the model is not fitted.
        BagsError
            If the bags are invalid, do not have the features of the training bags, or there is not one label per bag.

        Examples
        --------
        >>> import milopt
        >>> from milopt.models import SetKernelSVM
        >>> data = milopt.data.toy_bags("clusters", bags=20)
        >>> model = SetKernelSVM().fit(data.bags, data.labels)
        >>> model.score(data.bags, data.labels)
        1.0
        """
        predicted, labels = self.predict(bags), as_labels(y)
        if labels.size != predicted.size:
            raise BagsError(f"There are {labels.size} labels for {predicted.size} bags: give one label per bag.")
        return float(np.average(predicted == labels, weights=as_weights(sample_weight, labels.size)))

    def explain(self, bag: Points | Bags) -> Explanation:
        """Explain the score of one bag by its instances.

        Parameters
        ----------
        bag : array of shape (n_instances, n_features), or Bags of length 1
            The bag to explain.

        Returns
        -------
        Explanation
            Score and contribution of each instance; `print` shows it as a table.

        Raises
        ------
        UnfittedError
            If the model is not fitted.
        BagsError
            If `bag` is not one bag, or does not have the features of the training bags.

        Examples
        --------
        >>> import milopt
        >>> from milopt.models import SetKernelSVM
        >>> data = milopt.data.toy_bags("clusters", bags=20)
        >>> model = SetKernelSVM().fit(data.bags, data.labels)
        >>> explanation = model.explain(data.bags[0])
        >>> explanation.instance_scores.size == len(data.bags[0])
        True
        """
        return explain_bag(self._fitted_state(), *self._prepare_explained_bag(bag))

    def check_bags(self, bags: object) -> Bags:
        """Convert bags, and check that they have the features of the training bags.

        Parameters
        ----------
        bags : list of array, 3-D array or Bags
            Bags with the features of the training bags.

        Returns
        -------
        Bags
            The bags, not scaled.

        Raises
        ------
        UnfittedError
            If the model is not fitted.
        BagsError
            If the bags are invalid, or do not have the features of the training bags.
        """
        self._fitted_state()
        return check_new_bags(self, bags)

    def report(self) -> Report:
        """Summarise the fit: data, program, solver, status, certificate and seconds.

        Returns
        -------
        Report
            `str(report)` is a text for users, `report.as_dict()` is JSON data.

        Raises
        ------
        UnfittedError
            If the model is not fitted.

        Examples
        --------
        >>> import milopt
        >>> from milopt.models import SetKernelSVM
        >>> data = milopt.data.toy_bags("clusters", bags=20)
        >>> model = SetKernelSVM().fit(data.bags, data.labels)
        >>> model.report().as_dict()["status"]
        'optimal'
        """
        return build_report(type(self), self._fitted_state())

    def save(self, path: str | PathLike[str]) -> None:
        """Save the fitted model to a file, without pickle; `milopt.load_model` loads it.

        Parameters
        ----------
        path : str or path-like
            File to write. An existing file is replaced.

        Raises
        ------
        ModelFileError
            If a hyper-parameter cannot be stored, for example a kernel of another package.

        Examples
        --------
        >>> import milopt
        >>> from milopt.models import SetKernelSVM
        >>> data = milopt.data.toy_bags("clusters", bags=20)
        >>> model = SetKernelSVM().fit(data.bags, data.labels)
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model.milopt")
        ...     loaded = milopt.load_model(f"{folder}/model.milopt")
        >>> bool((loaded.predict(data.bags) == model.predict(data.bags)).all())
        True
        """
        from milopt.estimator.saving import save_model

        save_model(self, self._fitted_state(), path)

    def set_params(self, **values: object) -> Self:
        """Set hyper-parameters by name, as in scikit-learn.

        Parameters
        ----------
        **values : object
            New values by hyper-parameter, such as ``C=1.0``; ``kernel__s`` is the parameter s of the kernel. If a name
            is unknown, no value is changed.

        Returns
        -------
        Self
            The model itself.

        Raises
        ------
        ParameterError
            If a name is not that of a hyper-parameter.

        Examples
        --------
        >>> from milopt.models import MISVM
        >>> MISVM().set_params(C=1.0, kernel__s=0.5)
        MISVM(C=1.0, kernel=RBF(s=0.5))
        """
        changed = {name: value for name, value in values.items() if name in self._fields}
        for name, value in values.items():
            field, nested, path = name.partition("__")
            if field not in self._fields or (nested and not isinstance(getattr(type(self), field), Kernel)):
                names = ", ".join(self._fields)
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {names}.")
            if nested:
                changed[field] = replace_parameter(field, changed.get(field, getattr(self, field)), path, value)
        for name, value in changed.items():
            setattr(self, name, value)
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the hyper-parameters by name, as in scikit-learn.

        Parameters
        ----------
        deep : bool, default=True
            Whether to add the parameters of kernels, by names such as ``kernel__s``.

        Returns
        -------
        dict
            Values by name.

        Examples
        --------
        >>> from milopt.models import MISVM
        >>> MISVM(C=1.0).get_params()["C"]
        1.0
        """
        values = super().get_params(deep=deep)
        for name in self._fields if deep else ():
            if isinstance(getattr(type(self), name), Kernel):
                values |= kernel_parameters(name, values[name])
        return values

    def __sklearn_tags__(self) -> Any:
        """Return the scikit-learn tags; sparse and three-dimensional input is supported."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        return tags

    def _prepare_training(
        self, given: object, y: object, sample_weight: npt.ArrayLike | None
    ) -> tuple[BagClassifier, TrainingSet]:
        """Check the training data; return (a copy of the model that can declare programs, the training set).

        In the copy, kernels that depend on the data are fitted, and the random state is an integer. The model itself is
        not changed.
        """
        probe = copy.copy(self)
        bags = check_training_bags(probe, given)
        kernels = {
            name: resolve_kernel(value)
            for name in self._fields
            if isinstance(value := getattr(self, name), Kernel) or isinstance(getattr(type(self), name), Kernel)
        }
        scale = "none" if any(kernel.requires_unscaled_input for kernel in kernels.values()) else self.scale
        labels = check_training_labels(self, y)
        training = build_training_set(bags, labels, sample_weight, self.class_weight, scale, self.positive)
        for name in self._fields:
            if annotation_of(type(self), name) in (bool, "bool"):
                setattr(probe, name, check_bool(name, getattr(self, name)))
        for name, kernel in kernels.items():
            setattr(probe, name, kernel.fitted_to(training.bags) if self.receives_fitted_kernels else kernel)
        probe.random_state = _as_seed(self.random_state)
        if is_chosen_by_order(self.positive, training.classes) and not self.has_symmetric_classes:
            warn_about_label_order(type(self).__name__, training.classes, stacklevel=3)
        return probe, training

    def _unfitted_copy(self) -> BagClassifier:
        """Return an unfitted model with the same hyper-parameters and the same `_program_data`."""
        model = type(self)(**self.get_params(deep=False))
        for name in self._program_data:
            setattr(model, name, getattr(self, name))
        return model

    def _fitted_state(self) -> FittedState:
        """Return the state of the fit, or raise `UnfittedError`."""
        if "_fitted" not in vars(self):
            raise UnfittedError(f"This {type(self).__name__} is not fitted yet; call fit first.")
        return self._fitted

    def _scale_new_bags(self, given: object) -> Bags:
        """Check new bags, and scale them like the training bags."""
        return self._fitted_state().training.scaling(check_new_bags(self, given))

    def _prepare_explained_bag(self, bag: Points | Bags) -> tuple[ExplainedBag, object]:
        """Return (the bag prepared for an explanation, its predicted label)."""
        training = self._fitted_state().training
        given = check_new_bags(self, as_single_bag(bag))
        scaled = training.scaling(given)
        settings = given.window_settings if isinstance(given, Windows) else self.windows_in_
        return ExplainedBag(given, scaled, settings), self.labels(self._fitted_state().scores(scaled))[0]


@dataclass(frozen=True, eq=False)
class DeclaredFit:
    """Declared programs of a fit, one per class (one for two classes), with everything that their results need."""

    probe: BagClassifier
    """Copy of the model that declared the programs."""
    training: TrainingSet
    programs: list[Program | SemiInfinite]
    options: Options | None
    declare_seconds: float
    declare_jit_seconds: float


def _program_titles(programs: Sequence[Program | SemiInfinite], training: TrainingSet) -> list[str]:
    """Return a title per program: its name, and its class if there are more than two."""
    if len(programs) == 1:
        return [programs[0].name]
    return [f"{program.name}, class {label}" for program, label in zip(programs, training.classes, strict=True)]


def _check_has_point(result: Result) -> None:
    """Raise `UncertifiedError` if a result has no point, and warn if its point is not certified."""
    program = result.program
    if not result.values and not result.functions and result.ensemble is None:
        raise UncertifiedError(f"{program.name} ended without a point: {result.termination}. {result.message}".strip())
    if result.point is not PointStatus.CERTIFIED:
        proof = f" ({result.certificate})" if result.certificate else ""
        message = f"{program.name} by {result.solver} ended as {result.termination}, point {result.point}{proof}."
        warnings.warn(f"{message} {result.message}".strip(), MiloptWarning, stacklevel=3)


def _options_with_form(form: str | None, options: Options | None) -> Options | None:
    """Return the options with the given form; if `form` is None, return the options unchanged."""
    if form is None:
        return options
    check_choice("form", form, ("dual", "primal"))
    return replace(options or Options(), form=form)


def _as_seed(random_state: object) -> int:
    """Return an integer as it is, and otherwise draw a seed from the random state, which advances a `RandomState`."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**32:
            raise ParameterError(f"random_state must lie between 0 and 2**32 - 1, not at {random_state}.")
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise ParameterError(f"random_state must be an integer, None or a RandomState, not {random_state!r}.") from None
