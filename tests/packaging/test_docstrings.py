"""Public docstrings follow numpydoc, state every parameter, and have examples that run."""

from __future__ import annotations

import doctest
import inspect
import re

import pytest
from numpydoc.validate import validate

from milopt.model_registry import get_model, model_names
from tests.packaging.public_names import public_methods, public_objects

OBJECTS = public_objects()
METHODS = public_methods()
NOT_REQUIRED = {
    "ES01",  # an extended summary
    "SA01",  # a section See Also
    "GL01",  # the summary on the line after the quotes
    "YD01",  # a section Yields
    "PR08",  # capital letters at the start of a description, which may be a symbol
    "RT04",
}
NOT_REQUIRED_OF_METHODS = NOT_REQUIRED | {"EX01", "RT01"}


def errors(name: str, ignored: set[str]) -> list[str]:
    return [f"{code}: {text}" for code, text in validate(name)["errors"] if code not in ignored]


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
    ignored = NOT_REQUIRED_OF_METHODS | ({"PR01"} if inherited else set())
    assert errors(name, ignored) == []


@pytest.mark.parametrize("name", [name for name, value in OBJECTS.items() if ">>>" in (value.__doc__ or "")])
def test_example_of_a_public_object_prints_what_its_docstring_states(name: str) -> None:
    value = OBJECTS[name]
    examples = doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", {}, name, None, None)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    printed: list[str] = []
    runner.run(examples, out=printed.append)
    assert runner.failures == 0, "".join(printed)


@pytest.mark.parametrize("name", model_names())
def test_docstring_of_a_model_describes_every_hyper_parameter(name: str) -> None:
    model = get_model(name)
    parameters = inspect.signature(model).parameters
    described = re.findall(r"^ {0,4}(\w+(?:, \w+)*) : .+\n +\S", inspect.getdoc(model) or "", re.MULTILINE)
    assert set(parameters) <= {name for names in described for name in names.split(", ")}
