"""Hyper-parameters as annotated fields: they become a keyword-only `__init__`, which does nothing but keep them.

class MISVM(BagClassifier):
    C: float = 1.0                                  # MISVM(C=10.0)
    grid: ClassVar[...] = {"C": (1.0, 10.0)}        # a ClassVar is no field
"""

from __future__ import annotations

import inspect
import typing
from typing import ClassVar, dataclass_transform


@dataclass_transform(kw_only_default=True)
class Fields:
    """The base of what has annotated fields; a subclass's own come before those that it inherits."""

    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **keywords: object) -> None:
        if "__init__" in vars(cls):
            raise TypeError(
                f"{cls.__name__} has an __init__ of its own: annotate its hyper-parameters with defaults instead."
            )
        own = [name for name, annotation in inspect.get_annotations(cls).items() if _is_field(name, annotation)]
        missing = [name for name in own if not hasattr(cls, name)]
        if missing:
            raise TypeError(f"{cls.__name__}.{missing[0]} needs a default: every hyper-parameter has one.")
        cls._fields = (*own, *(name for name in cls._fields if name not in own))
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters = [inspect.Parameter(name, kind, default=getattr(cls, name)) for name in cls._fields]
        signature = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *parameters])

        def initialise(self: Fields, **values: object) -> None:
            unknown = set(values) - set(cls._fields)
            if unknown:
                raise TypeError(
                    f"{cls.__name__} has no parameter {sorted(unknown)[0]!r}; it has {', '.join(cls._fields)}."
                )
            for name in cls._fields:
                setattr(self, name, values.get(name, getattr(cls, name)))

        initialise.__signature__ = signature  # type: ignore[attr-defined]  # what inspect and scikit-learn read
        initialise.__name__ = "__init__"
        initialise.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = initialise  # type: ignore[method-assign, assignment]  # generated from the fields
        # scikit-learn reads the signatures of the class here.
        super().__init_subclass__(**keywords)


def annotation_of(cls: type, name: str) -> object:
    """How a field is annotated where it was last, as text where the module says so; None where it is not."""
    found = (inspect.get_annotations(one).get(name) for one in cls.__mro__)
    return next((one for one in found if one is not None), None)


def _is_field(name: str, annotation: object) -> bool:
    if name.startswith("_") or name.endswith("_"):
        return False
    if isinstance(annotation, str):
        return not annotation.removeprefix("typing.").startswith("ClassVar")
    return annotation is not ClassVar and typing.get_origin(annotation) is not ClassVar
