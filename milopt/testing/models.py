"""The conformance check of models."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping

from milopt import BagClassifier
from milopt.errors import MiloptWarning, ParameterError
from milopt.testing.conformance import Case, ConformanceReport, run_cases
from milopt.testing.model_cases import model_cases
from milopt.testing.model_fields import field_cases, scikit_learn_cases


def check_model(
    model: type[BagClassifier], *, except_for: Mapping[str, str] | None = None, only: Collection[str] | None = None
) -> ConformanceReport:
    """Raise an error if a model does not do what milopt, scikit-learn and its users rely on.

    The cases are: documented fields with defaults; `declare`; fits that are certified, repeatable and equal by all
    solvers; labels of any type and three classes; weights; scores that depend neither on the order of bags nor on that
    of instances; symmetric classes, if it states them; reports; saving and loading; and all of scikit-learn's own
    checks of estimators. `model_case_names` lists them. Cases use the defaults of the fields.

    Parameters
    ----------
    model : type
        The class, a subclass of BagClassifier.
    except_for : mapping of str to str, optional
        Cases that the model does not pass, with the reason. A case that passes all the same is told by a warning.
    only : collection of str, optional
        The names of the cases to run; by default all of them.

    Returns
    -------
    ConformanceReport
        The cases that passed, that were excepted, and that do not concern the model, each with the reason.

    Raises
    ------
    ConformanceError
        If a case fails; the message has one sentence per failed case.

    Examples
    --------
    >>> import milopt
    >>> from milopt.testing import check_model
    >>> report = check_model(milopt.models.MISVM, only=["order of instances", "symmetric classes"])
    >>> report.passed, report.left_out
    (['order of instances'], {'symmetric classes': 'it does not state that its classes are symmetric'})
    """
    if not isinstance(model, type) or not issubclass(model, BagClassifier):
        raise ParameterError(f"check_model takes a class, as in check_model(MyModel), not {model!r}.")
    with warnings.catch_warnings():
        # Fits of small made-up bags may warn; what a case needs to know it asks for.
        warnings.filterwarnings("ignore", "(?!.*no exception is needed)", MiloptWarning)
        return run_cases(model.__name__, _cases(model), except_for, only)


def model_case_names(model: type[BagClassifier]) -> list[str]:
    """Return the names of the cases of `check_model`; scikit-learn has some for certain classes only."""
    return [case.name for case in _cases(model)]


def _cases(model: type[BagClassifier]) -> list[Case]:
    return [*field_cases(model), *model_cases(model), *scikit_learn_cases(model)]
