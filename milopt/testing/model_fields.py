"""The cases about the fields of a model: documented, with defaults, and as scikit-learn handles parameters."""

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
from milopt.testing.conformance import Case, CaseError, require

MUTABLE = (list, dict, set, np.ndarray)


def field_cases(model: type[BagClassifier]) -> list[Case]:
    """Return the cases about the fields of a model."""
    checks = {
        "fields, documented": _check_documented,
        "fields, defaults": _check_defaults,
        "fields, clone and parameters": _check_parameters,
        "fields, grid": _check_grid,
    }
    return [Case(name, partial(check, model)) for name, check in checks.items()]


def scikit_learn_cases(model: type[BagClassifier]) -> list[Case]:
    """Return scikit-learn's own checks of estimators, one case per check."""
    return [Case(name, partial(_run_check, estimator, check)) for name, estimator, check in _scikit_learn(model)]


def _scikit_learn(model: type[BagClassifier]) -> Iterator[tuple[str, Any, Any]]:
    from sklearn.utils.estimator_checks import estimator_checks_generator

    for estimator, check in estimator_checks_generator(model()):
        function = check.func if isinstance(check, partial) else check
        named = [f"{key}={value}" for key, value in getattr(check, "keywords", {}).items()]
        yield ", ".join(["scikit-learn", function.__name__, *named]), estimator, check


def _run_check(estimator: Any, check: Any, is_excepted: bool) -> None:
    from unittest import SkipTest

    from milopt.testing.conformance import NotApplicableError

    try:
        check(estimator)
    except SkipTest as reason:
        raise NotApplicableError(str(reason)) from None
    except AssertionError as error:
        raise CaseError(f"it raised AssertionError: {error}") from error


def _own_fields(model: type[BagClassifier]) -> list[str]:
    return [name for name in model._fields if name not in BagClassifier._fields]


def _check_documented(model: type[BagClassifier], is_excepted: bool) -> None:
    told = "its class has no docstring of its own"
    require((model.__doc__ or "").strip() and model.__doc__ != BagClassifier.__doc__, told)
    documented = {name for cls in model.__mro__ if issubclass(cls, BagClassifier) for name in _documented(cls)}
    missing = [name for name in _own_fields(model) if name not in documented]
    told = f"the fields {', '.join(missing)} have no docstring: write one below each, or name them in that of the class"
    require(not missing, told)


def _documented(cls: type) -> set[str]:
    """Return the fields with a text below them, or with a name in backquotes, or before a colon, in the docstring."""
    found = set(re.findall(r"`(\w+)`", cls.__doc__ or "")) | set(re.findall(r"(?m)^\s*(\w+) : ", cls.__doc__ or ""))
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    except (OSError, TypeError, SyntaxError):
        return found  # A class without a source, such as one typed into a console.
    statements = body.body if isinstance(body, ast.ClassDef) else []
    for statement, following in pairwise(statements):
        is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and is_text:
            found.add(statement.target.id)
    return found


def _check_defaults(model: type[BagClassifier], is_excepted: bool) -> None:
    made = model()
    for name in _own_fields(model):
        default = getattr(model, name)
        kind = type(default).__name__
        told = f"the default of {name} is a {kind}, which all models share: take a tuple, or None"
        require(not isinstance(default, MUTABLE), told)
        require(getattr(made, name) is default, f"{name} of a new model is not its default")


def _check_parameters(model: type[BagClassifier], is_excepted: bool) -> None:
    from sklearn.base import clone

    made = model()
    parameters = made.get_params(deep=False)
    require(set(parameters) == set(model._fields), "get_params does not return the fields of the class")
    require(repr(clone(made)) == repr(made), "a clone has other parameters")
    require(made.set_params(**parameters) is made, "set_params must return the classifier itself")
    same = all(made.get_params(deep=False)[name] is value for name, value in parameters.items())
    require(same, "set_params does not set what get_params returned")


def _check_grid(model: type[BagClassifier], is_excepted: bool) -> None:
    for member in ("grid", "in_selection"):
        mapping = getattr(model, member)
        require(isinstance(mapping, Mapping), f"{member} must map fields to values, not be {mapping!r}")
        unknown = [name for name in mapping if name not in model._fields]
        told = f"{member} names {', '.join(unknown)}, and the model has no such field"
        require(not unknown, told)
    for name, values in model.grid.items():
        is_tuple = isinstance(values, tuple) and bool(values)
        require(is_tuple, f"grid[{name!r}] must be a tuple of candidates, not {values!r}")
