"""Conformance cases of the fields of a model: documentation, defaults, and scikit-learn's parameter interface.

The fields of a model are its hyper-parameters. Every case has a parameter `is_excepted` (see `ConformanceCase`), which
these cases do not use.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from milopt import BagClassifier
from milopt.testing.conformance import CaseError, ConformanceCase, require

MUTABLE_TYPES = (list, dict, set, np.ndarray)
"""Types that must not be defaults, because all models would share one mutable object."""


def field_cases(model: type[BagClassifier]) -> list[ConformanceCase]:
    """Return the cases about the fields of a model."""
    checks = {
        "fields, documented": _check_documented,
        "fields, defaults": _check_defaults,
        "fields, clone and parameters": _check_parameters,
        "fields, grid": _check_grid,
    }
    return [ConformanceCase(name, partial(check, model)) for name, check in checks.items()]


def scikit_learn_cases(model: type[BagClassifier]) -> list[ConformanceCase]:
    """Return scikit-learn's own checks of estimators, one case per check."""
    return [
        ConformanceCase(name, partial(_run_scikit_learn_check, estimator, check))
        for name, estimator, check in _scikit_learn_checks(model)
    ]


def _scikit_learn_checks(model: type[BagClassifier]) -> Iterator[tuple[str, Any, Any]]:
    """Yield (name of the case, estimator, check) for each check of scikit-learn for the model."""
    from sklearn.utils.estimator_checks import estimator_checks_generator

    for estimator, check in estimator_checks_generator(model()):
        function = check.func if isinstance(check, partial) else check
        named = [f"{key}={value}" for key, value in getattr(check, "keywords", {}).items()]
        yield ", ".join(["scikit-learn", function.__name__, *named]), estimator, check


def _run_scikit_learn_check(estimator: Any, check: Any, is_excepted: bool) -> None:
    """Run one check of scikit-learn; raise NotApplicableError if the check raises `SkipTest`."""
    from unittest import SkipTest

    from milopt.testing.conformance import NotApplicableError

    try:
        check(estimator)
    except SkipTest as reason:
        raise NotApplicableError(str(reason)) from None
    except AssertionError as error:
        raise CaseError(f"it raised AssertionError: {error}") from error


def _own_fields(model: type[BagClassifier]) -> list[str]:
    """Return the names of the fields that the model adds to those of `BagClassifier`."""
    return [name for name in model._fields if name not in BagClassifier._fields]


def _check_documented(model: type[BagClassifier], is_excepted: bool) -> None:
    """Check that the class has a docstring and that all fields it adds to `BagClassifier` are documented."""
    message = "its class has no docstring"
    require((model.__doc__ or "").strip() and model.__doc__ != BagClassifier.__doc__, message)
    documented = {name for cls in model.__mro__ if issubclass(cls, BagClassifier) for name in _documented_fields(cls)}
    missing = [name for name in _own_fields(model) if name not in documented]
    message = (
        f"the fields {', '.join(missing)} have no docstring: write one below each, or name them in that of the class"
    )
    require(not missing, message)


def _documented_fields(cls: type) -> set[str]:
    """Return the names of the fields that the class documents.

    A field is documented by a string below its definition, or by its name in the class docstring: in backquotes, or at
    the start of a line before " : ".
    """
    documented = set(re.findall(r"`(\w+)`", cls.__doc__ or "")) | set(
        re.findall(r"(?m)^\s*(\w+) : ", cls.__doc__ or "")
    )
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    except (OSError, TypeError, SyntaxError):
        return documented  # The class has no source file, for example in an interactive session.
    statements = body.body if isinstance(body, ast.ClassDef) else []
    for statement, following in pairwise(statements):
        is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and is_text:
            documented.add(statement.target.id)
    return documented


def _check_defaults(model: type[BagClassifier], is_excepted: bool) -> None:
    """Check that the defaults are not lists, dicts, sets or arrays, and that a new model has the defaults."""
    made = model()
    for name in _own_fields(model):
        default = getattr(model, name)
        kind = type(default).__name__
        message = f"the default of {name} is a {kind}, which all models share: use a tuple or None"
        require(not isinstance(default, MUTABLE_TYPES), message)
        require(getattr(made, name) is default, f"{name} of a new model is not its default")


def _check_parameters(model: type[BagClassifier], is_excepted: bool) -> None:
    """Check `get_params`, `set_params` and `clone`."""
    from sklearn.base import clone

    made = model()
    parameters = made.get_params(deep=False)
    require(set(parameters) == set(model._fields), "get_params does not return the fields of the class")
    require(repr(clone(made)) == repr(made), "a clone has other parameters")
    require(made.set_params(**parameters) is made, "set_params must return the classifier itself")
    same = all(made.get_params(deep=False)[name] is value for name, value in parameters.items())
    require(same, "set_params does not set what get_params returned")


def _check_grid(model: type[BagClassifier], is_excepted: bool) -> None:
    """Check that `grid` and `in_selection` are mappings from fields of the model.

    Each value of `grid` must be a nonempty tuple, the candidates for the field.
    """
    for member in ("grid", "in_selection"):
        mapping = getattr(model, member)
        require(isinstance(mapping, Mapping), f"{member} must map fields to values, not be {mapping!r}")
        unknown = [name for name in mapping if name not in model._fields]
        message = f"{member} names {', '.join(unknown)}, and the model has no such field"
        require(not unknown, message)
    for name, values in model.grid.items():
        is_tuple = isinstance(values, tuple) and bool(values)
        require(is_tuple, f"grid[{name!r}] must be a tuple of candidates, not {values!r}")
