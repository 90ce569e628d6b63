"""The base of every model: hyper-parameters as annotated fields, `declare` as the method, fit and predict over bags."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from typing import ClassVar, Self, cast, dataclass_transform

import numpy as np
import numpy.typing as npt

from milopt.declaration.bags import Bags, as_bags
from milopt.declaration.kernels import Kernel
from milopt.declaration.labels import Signs, Weights, as_classes, as_labels, as_signs, as_weights
from milopt.declaration.program import Program
from milopt.errors import BagsError, MiloptError, ParameterError
from milopt.outcome.result import Result
from milopt.schemes.scheme import Scheme
from milopt.schemes.solve import solve
from milopt.solving.options import Options


@dataclass_transform(kw_only_default=True)
class _Fields:
    """What tells type checkers that annotated fields of a subclass are keyword arguments of its `__init__`."""


class BagClassifier(_Fields, ABC):
    """A classifier of bags. A subclass annotates its hyper-parameters with defaults and declares its program.

    The annotated fields become a keyword-only `__init__`; `solver`, `scheme` and `options` come with every model.
    """

    solver: str | tuple[str, ...] = "auto"
    scheme: str | Scheme | None = None
    options: Options | None = None

    _fields: ClassVar[tuple[str, ...]] = ("solver", "scheme", "options")

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        own = [name for name in inspect.get_annotations(cls) if not name.startswith("_") and not name.endswith("_")]
        missing = [name for name in own if not hasattr(cls, name)]
        if missing:
            raise TypeError(f"{cls.__name__}.{missing[0]} needs a default: every hyper-parameter has one.")
        cls._fields = (*own, *(name for name in cls._fields if name not in own))
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter(name, kind, default=getattr(cls, name)) for name in cls._fields]
        signature = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *parameters])

        def initialise(self: BagClassifier, **values: object) -> None:
            unknown = set(values) - set(cls._fields)
            if unknown:
                raise TypeError(
                    f"{cls.__name__} has no parameter {sorted(unknown)[0]!r}; it has {', '.join(cls._fields)}."
                )
            for name in cls._fields:
                setattr(self, name, values.get(name, getattr(cls, name)))

        initialise.__signature__ = signature  # type: ignore[attr-defined]  # what inspect and scikit-learn read
        initialise.__name__ = "__init__"
        cls.__init__ = initialise  # type: ignore[method-assign]  # generated from the fields

    @abstractmethod
    def declare(self, bags: Bags, y: Signs, weight: Weights) -> Program:
        """The model's program over training bags; y is -1/+1, weight has mean 1."""

    def program(self, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Program:
        """The program that `fit` would solve."""
        return self._declared(bags, as_classes(y)[1], sample_weight)

    def fit(self, bags: object, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Declare the program over these bags and solve it."""
        classes, signs = as_classes(y)
        program = self._declared(bags, signs, sample_weight)
        result = solve(program, self.solver, self.scheme, self.options)
        if not result.values and not result.functions:
            raise MiloptError(f"{program.name} ended without a point: {result.termination}. {result.message}".strip())
        # Only now: a fit that fails leaves the last one as it was.
        self.result_: Result = result
        self.classes_: npt.NDArray[np.generic] = classes
        return self

    def decision_function(self, bags: object) -> npt.NDArray[np.float64]:
        """One score a bag; positive means the second class."""
        return self._fitted().score(as_bags(bags))

    def instance_scores(self, bags: object) -> list[npt.NDArray[np.float64]]:
        """One array of instance scores a bag."""
        checked = as_bags(bags)
        scores = self._fitted().instance_scores(checked.instances)
        return np.split(scores, checked.offsets[1:-1])

    def predict(self, bags: object) -> npt.NDArray[np.generic]:
        """The label of each bag; a score of exactly 0 is the first class."""
        positive = self.decision_function(bags) > 0
        return cast(npt.NDArray[np.generic], self.classes_[positive.astype(int)])

    def score(self, bags: object, y: npt.ArrayLike) -> float:
        """The share of bags labelled right."""
        predicted, labels = self.predict(bags), as_labels(y)
        if labels.size != predicted.size:
            raise BagsError(f"There are {labels.size} labels for {predicted.size} bags: give one a bag.")
        return float(np.mean(predicted == labels))

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The hyper-parameters by name, as scikit-learn asks for them; none of them has parameters of its own."""
        return {name: getattr(self, name) for name in self._fields}

    def set_params(self, **values: object) -> Self:
        """Set hyper-parameters by name, as scikit-learn does."""
        for name in values:
            if name not in self._fields:
                known = ", ".join(self._fields)
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {known}.")
        for name, value in values.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """The class with the hyper-parameters that are not at their default."""
        values = {name: repr(value) for name, value in self.get_params().items()}
        chosen = [f"{name}={value}" for name, value in values.items() if value != repr(getattr(type(self), name))]
        return f"{type(self).__name__}({', '.join(chosen)})"

    def _declared(self, given: object, y: Signs, sample_weight: npt.ArrayLike | None) -> Program:
        bags, model = as_bags(given), copy.copy(self)
        for name in self._fields:
            value = getattr(model, name)
            if isinstance(value, Kernel):
                setattr(model, name, value.fitted(bags.instances))
        return model.declare(bags, as_signs(y, len(bags)), as_weights(sample_weight, len(bags)))

    def _fitted(self) -> Result:
        if not hasattr(self, "result_"):
            raise ParameterError(f"This {type(self).__name__} is not fitted yet; call fit first.")
        return self.result_
