"""Descriptions of hyper-parameters: inherited by subclasses, and printed by `milopt models`."""

from __future__ import annotations

import inspect

import pytest

from milopt import BagClassifier, Program
from milopt.estimator.parameter_docs import parameter_descriptions
from milopt.model_registry import get_model, model_names
from milopt.models import MIORDM, MIRSVM, MISVM, ODM


class ModelWithoutDocstring(BagClassifier):
    def declare(self, bags, y, weight):
        return Program("nothing")


class DocumentedModel(ModelWithoutDocstring):
    """Classifier with a description of its parameter.

    Parameters
    ----------
    width : float, default=1.0
        Width of the margin.
        It is positive.

    Attributes
    ----------
    classes_ : ndarray
        Labels of the classes.
    """

    width: float = 1.0


class ModelWithoutParametersSection(ModelWithoutDocstring):
    """Classifier without a section of parameters.

    Examples
    --------
    >>> 1 + 1
    2
    """

    width: float = 1.0


class NarrowModel(DocumentedModel):
    """Classifier that describes an inherited parameter itself.

    Parameters
    ----------
    depth : int, default=2
        Number of layers.
    width : float, default=0.5
        Width of a narrow margin.
    """

    depth: int = 2
    width: float = 0.5


@pytest.mark.parametrize("name", model_names())
def test_every_parameter_of_every_model_is_described_in_the_order_of_the_constructor(name: str) -> None:
    model = get_model(name)
    descriptions = parameter_descriptions(model)
    assert list(descriptions) == list(inspect.signature(model).parameters)
    assert all(text.endswith(".") for text in descriptions.values())


def test_shared_parameters_are_added_to_the_docstring_of_a_subclass() -> None:
    shared = parameter_descriptions(BagClassifier)
    assert list(shared) == list(inspect.signature(BagClassifier).parameters)
    assert parameter_descriptions(DocumentedModel) == {"width": "Width of the margin. It is positive.", **shared}


def test_other_sections_of_the_docstring_stay_where_they_are() -> None:
    text = inspect.getdoc(DocumentedModel) or ""
    assert text.startswith("Classifier with a description of its parameter.\n\nParameters\n----------\nwidth : float")
    assert text.endswith("\n\nAttributes\n----------\nclasses_ : ndarray\n    Labels of the classes.")
    assert text.count("Parameters\n") == 1
    assert "\n\n\n" not in text


def test_parameters_of_a_model_are_inherited_by_its_variants() -> None:
    assert parameter_descriptions(MIORDM)["theta"] == parameter_descriptions(ODM)["theta"]
    assert parameter_descriptions(MIRSVM)["C"] == parameter_descriptions(MISVM)["C"]
    assert parameter_descriptions(MIRSVM)["scheme"] != parameter_descriptions(MISVM)["scheme"]


def test_a_description_in_the_subclass_replaces_the_inherited_one() -> None:
    described = parameter_descriptions(NarrowModel)
    assert list(described)[:3] == ["depth", "width", "solver"]
    assert described["width"] == "Width of a narrow margin."


def test_a_docstring_without_the_section_gets_one_with_the_inherited_parameters() -> None:
    assert parameter_descriptions(ModelWithoutParametersSection) == parameter_descriptions(BagClassifier)
    text = inspect.getdoc(ModelWithoutParametersSection) or ""
    assert text.startswith("Classifier without a section of parameters.\n\nParameters\n----------\nsolver : ")
    assert text.endswith("\n\nExamples\n--------\n>>> 1 + 1\n2")


def test_a_class_without_a_docstring_stays_without_one() -> None:
    assert ModelWithoutDocstring.__doc__ is None
    assert parameter_descriptions(ModelWithoutDocstring) == parameter_descriptions(BagClassifier)


def test_a_description_of_several_parameters_is_found_under_each_name() -> None:
    class Interval:
        """Interval of numbers.

        Parameters
        ----------
        low, high : float
            Ends of the interval.
        """

    assert parameter_descriptions(Interval) == {"low": "Ends of the interval.", "high": "Ends of the interval."}


def test_a_class_without_any_docstring_has_no_descriptions() -> None:
    class Empty:
        pass

    assert parameter_descriptions(Empty) == {}
