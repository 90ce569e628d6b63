"""Public docstrings follow numpydoc, state every parameter, and have examples that run."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import textwrap
from typing import Any

import pytest
from numpydoc.validate import validate

from milopt.model_registry import get_model, model_names
from tests.packaging.public_names import public_methods, public_objects

OBJECTS = public_objects()
METHODS = public_methods()
DOCUMENTED = {**OBJECTS, **METHODS}
NOT_REQUIRED = {
    "ES01",  # an extended summary
    "SA01",  # a section See Also
    "GL01",  # the summary on the line after the quotes
    "YD01",  # a section Yields
    "PR08",  # capital letters at the start of a description, which may be a symbol
    "RT04",
}
MUST_HAVE_EXAMPLES = ("BagClassifier", "Bags", "Program", "Result", "Session")
"""Classes of `milopt` whose methods that users call most have examples."""
WITHOUT_EXAMPLES = {
    "BagClassifier": {"check_bags", "check_result", "declare", "labels"},
    "Program": {
        "add_unchecked",
        "as_own_expression",
        "bag_scores",
        "block",
        "family",
        "instance_scores",
        "maxima",
        "minimized_objective",
        "names_by_id",
        "remark",
    },
    "Result": {"require_ensemble"},
    "Session": {"close"},
}
"""Methods of these classes that need no example, because models, schemes or results call them rather than users."""


def errors(name: str, ignored: set[str]) -> list[str]:
    return [f"{code}: {text}" for code, text in validate(name)["errors"] if code not in ignored]


def may_lack_example(owner: object, method: str) -> bool:
    """Return True if the docstring of a method needs no example."""
    name: str = getattr(owner, "__name__", "")
    return name not in MUST_HAVE_EXAMPLES or method in WITHOUT_EXAMPLES.get(name, set())


def raises_itself(value: object) -> bool:
    """Return True if the body of a function, or of the constructor of a class, has a `raise` with an exception."""
    if not inspect.isclass(value):
        return has_raise(value)
    constructors = (vars(value).get(name) for name in ("__init__", "__post_init__"))
    return any(has_raise(function) for function in constructors if is_written_in(function, value))


def has_raise(function: Any) -> bool:
    """Return True if the body of a function has a `raise` with an exception."""
    body = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(body))


def is_written_in(function: Any, owner: type) -> bool:
    """Return True if a method is in the file of its class, and was not generated or inherited."""
    return getattr(getattr(function, "__code__", None), "co_filename", "") == inspect.getsourcefile(owner)


@pytest.mark.parametrize("name", OBJECTS)
def test_public_object_has_a_numpydoc_docstring(name: str) -> None:
    is_class_of_constants = "Enum" in [base.__name__ for base in getattr(OBJECTS[name], "__mro__", ())]
    ignored = NOT_REQUIRED | ({"PR01", "PR02"} if is_class_of_constants else set())
    assert errors(name, ignored) == []


@pytest.mark.parametrize("name", METHODS)
def test_public_method_has_a_numpydoc_docstring(name: str) -> None:
    owner = OBJECTS[name.rpartition(".")[0]]
    method = name.rpartition(".")[2]
    inherited = any(method in vars(base) for base in owner.__mro__[1:])  # type: ignore[attr-defined]
    ignored = NOT_REQUIRED | ({"PR01", "RT01"} if inherited else set())
    assert errors(name, ignored | ({"EX01"} if may_lack_example(owner, method) else set())) == []


@pytest.mark.parametrize("name", [name for name, value in DOCUMENTED.items() if ">>>" in (value.__doc__ or "")])
def test_example_of_a_public_object_prints_what_its_docstring_states(name: str) -> None:
    value = DOCUMENTED[name]
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", {}, name, None, None)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    printed: list[str] = []
    runner.run(examples, out=printed.append)
    assert runner.failures == 0, "".join(printed)


@pytest.mark.parametrize("name", [name for name, value in DOCUMENTED.items() if raises_itself(value)])
def test_docstring_of_a_public_object_states_the_errors_that_its_body_raises(name: str) -> None:
    assert "\nRaises\n------\n" in (inspect.getdoc(DOCUMENTED[name]) or "")


def test_raise_statements_are_found() -> None:
    names = {"milopt.maximum", "milopt.Program", "milopt.Program.parameter", "milopt.Session.variable"}
    assert all(raises_itself(DOCUMENTED[name]) for name in names)
    assert not raises_itself(DOCUMENTED["milopt.Program.maxima"])


@pytest.mark.parametrize("name", model_names())
def test_docstring_of_a_model_describes_every_hyper_parameter(name: str) -> None:
    model = get_model(name)
    parameters = inspect.signature(model).parameters
    described = re.findall(r"^ {0,4}(\w+(?:, \w+)*) : .+\n +\S", inspect.getdoc(model) or "", re.MULTILINE)
    assert set(parameters) <= {name for names in described for name in names.split(", ")}
