"""Hyper-parameters as annotated fields of a class, from which a keyword-only `__init__` is generated.

class MISVM(BagClassifier):
    C: float = 1.0                                  # MISVM(C=10.0)
    grid: ClassVar[...] = {"C": (1.0, 10.0)}        # a ClassVar is not a field
"""

from __future__ import annotations

import inspect
import typing
from typing import ClassVar, dataclass_transform

from milopt.estimator.parameter_docs import inherit_parameter_docs


@dataclass_transform(kw_only_default=True)
class Fields:
    """Base class that turns annotated fields into constructor parameters.

    The fields that a subclass annotates come before the inherited ones; every field needs a default. The generated
    `__init__` only stores the values. Descriptions of inherited fields are added to the docstring of the subclass.
    """

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **keywords: object) -> None:
        """Collect the fields of a subclass, and generate its `__init__`."""
        if "__init__" in vars(cls):
            raise TypeError(f"{cls.__name__} defines __init__: annotate its hyper-parameters with defaults instead.")
        own_fields = [
            name
            for name, annotation in inspect.get_annotations(cls).items()
            if _is_hyper_parameter_name(name, annotation)
        ]
        missing = [name for name in own_fields if not hasattr(cls, name)]
        if missing:
            raise TypeError(f"{cls.__name__}.{missing[0]} needs a default: every hyper-parameter has one.")
        cls._fields = (*own_fields, *(name for name in cls._fields if name not in own_fields))
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter(name, kind, default=getattr(cls, name)) for name in cls._fields]
        signature = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *parameters])

        def initialise(self: Fields, **values: object) -> None:
            """Store the hyper-parameters."""
            unknown = set(values) - set(cls._fields)
            if unknown:
                raise TypeError(
                    f"{cls.__name__} has no parameter {sorted(unknown)[0]!r}; it has {', '.join(cls._fields)}."
                )
            for name in cls._fields:
                setattr(self, name, values.get(name, getattr(cls, name)))

        initialise.__signature__ = signature  # type: ignore[attr-defined]  # read by inspect and scikit-learn
        initialise.__name__ = "__init__"
        initialise.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = initialise  # type: ignore[method-assign, assignment]  # generated from the fields
        inherit_parameter_docs(cls, cls._fields)
        # Called last, because scikit-learn reads the signatures of the new class in its `__init_subclass__`.
        super().__init_subclass__(**keywords)


def annotation_of(cls: type, name: str) -> object:
    """Return the annotation of a field in the class or its nearest base class, or None if there is none.

    It is a string if the module of the class postpones the evaluation of annotations.
    """
    annotations = (inspect.get_annotations(owner).get(name) for owner in cls.__mro__)
    return next((annotation for annotation in annotations if annotation is not None), None)


def _is_hyper_parameter_name(name: str, annotation: object) -> bool:
    """Return True if an annotated name is a hyper-parameter: no underscore at either end, and not a `ClassVar`."""
    if name.startswith("_") or name.endswith("_"):
        return False
    if isinstance(annotation, str):
        return not annotation.removeprefix("typing.").startswith("ClassVar")
    return annotation is not ClassVar and typing.get_origin(annotation) is not ClassVar
