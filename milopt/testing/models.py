"""Conformance check of models."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping

from milopt import BagClassifier
from milopt.errors import MiloptWarning, ParameterError
from milopt.testing.conformance import ConformanceCase, ConformanceReport, run_cases
from milopt.testing.model_cases import model_cases
from milopt.testing.model_fields import field_cases, scikit_learn_cases


def check_model(
    model: type[BagClassifier], *, except_for: Mapping[str, str] | None = None, only: Collection[str] | None = None
) -> ConformanceReport:
    """Check that a model does what milopt, scikit-learn and users rely on.

    The cases are: documented fields with defaults; `declare`; fits that are certified, repeatable and equal for all
    solvers; labels of any type, and three classes; weights; scores that depend neither on the order of bags nor on the
    order of instances; symmetric classes, if the model states them; reports; saving and loading; and all of
    scikit-learn's own checks of estimators. `model_case_names` lists them. The cases use the default hyper-parameters.

    Parameters
    ----------
    model : type
        Subclass of `BagClassifier`.
    except_for : mapping of str to str, optional
        Cases that the model does not pass, with the reason. If such a case passes or does not apply, a warning is
        given.
    only : collection of str, optional
        Names of the cases to run. By default, all cases are run.

    Returns
    -------
    ConformanceReport
        Cases that passed, that were excepted, and that do not apply, with reasons.

    Raises
    ------
    ConformanceError
        If a case fails. The message has one sentence per failed case.

    Examples
    --------
    >>> import milopt
    >>> from milopt.testing import check_model
    >>> report = check_model(milopt.models.MISVM, only=["order of instances", "symmetric classes"])
    >>> report.passed, report.left_out
    (['order of instances'], {'symmetric classes': 'it does not state that its classes are symmetric'})
    """
    if not isinstance(model, type) or not issubclass(model, BagClassifier):
        raise ParameterError(f"check_model needs a class, as in check_model(MyModel), not {model!r}.")
    with warnings.catch_warnings():
        # Fits of small synthetic bags may warn; only the warning about a stated exception that is not needed is shown.
        warnings.filterwarnings("ignore", "(?!.*no exception is needed)", MiloptWarning)
        return run_cases(model.__name__, _all_cases(model), except_for, only)


def model_case_names(model: type[BagClassifier]) -> list[str]:
    """Return the names of the cases of `check_model` for a model; the checks of scikit-learn depend on the model."""
    return [case.name for case in _all_cases(model)]


def _all_cases(model: type[BagClassifier]) -> list[ConformanceCase]:
    """Return all cases of a model."""
    return [*field_cases(model), *model_cases(model), *scikit_learn_cases(model)]
