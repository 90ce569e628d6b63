"""Pages of the public classes and functions, by topic; autosummary writes one page per name."""

from __future__ import annotations

import rst

import milopt
import milopt.data
import milopt.display
import milopt.errors
import milopt.models
import milopt.testing
from milopt.declaration import atoms
from milopt.declaration.kernels.kernel import Kernel
from milopt.errors import MiloptError
from milopt.estimator import BagClassifier
from milopt.schemes.registered import scheme_class, scheme_names

ALIASES = """\
.. py:data:: Signs

   Type of the labels y that a model's `declare` gets, for annotations: an array of -1.0 and +1.0, one per bag.

.. py:data:: Weights

   Type of the weights of bags, for annotations: an array of numbers, 1 by default. A bag of weight 2 counts as two.

"""
DATA = ("Bags", "as_bags", "load_data", "from_series", "load_gram")
SOLVING = ("solve", "compare", "explain", "Session", "Options", "available_solvers", "get_solver")
RESULTS = ("Result", "Step", "Termination", "PointStatus")
LEARNING = (
    "BagClassifier",
    "BagFeatures",
    "InstanceTransformer",
    "load_model",
    "evaluate",
    "rank",
    "score_bags",
    "score_instances",
)
PROGRAMS = ("Program", "read_program", "concatenate", "hstack", "stack", "vstack")


def topics() -> dict[str, list[str]]:
    """Return the public names by topic; names of `milopt.__all__` without a topic of their own come last."""
    values = {name: getattr(milopt, name) for name in milopt.__all__}
    kinds = {name: value for name, value in values.items() if isinstance(value, type)}
    names_by_topic = {
        "Programs": list(PROGRAMS),
        "Atoms": sorted(name for name in values if name in atoms.__all__),
        "Solving": list(SOLVING),
        "Results": list(RESULTS),
        "Schemes": ["Scheme"],
        "Bags and data": [*DATA, *(f"data.{name}" for name in data_names())],
        "Kernels": [name for name, value in kinds.items() if issubclass(value, Kernel)],
        "Models and evaluation": [*LEARNING, *(f"models.{name}" for name in models_without_program())],
        "Displays": [f"display.{name}" for name in milopt.display.__all__],
        "Checks for extensions": [f"testing.{name}" for name in milopt.testing.__all__],
    }
    named = {name for names in names_by_topic.values() for name in names} | {
        scheme_class(n).__name__ for n in scheme_names()
    }
    others = set(milopt.__all__) - set(milopt._SUBMODULES) - named - {"MiloptError", "Signs", "Weights"}
    return names_by_topic | ({"Others": sorted(others)} if others else {})


def data_names() -> list[str]:
    """Return the public names of `milopt.data` that `milopt` does not export."""
    return sorted(name for name, value in vars(milopt.data).items() if _is_public(name, value, "milopt.data"))


def models_without_program() -> list[str]:
    """Return the exported estimators that are not declared as programs, which have no page among the models."""
    return [name for name in milopt.models.__all__ if not issubclass(getattr(milopt.models, name), BagClassifier)]


def _is_public(name: str, value: object, package: str) -> bool:
    """Return True for a class or function that is defined below a package and not exported by `milopt` itself."""
    home = getattr(value, "__module__", "")
    return home.startswith(f"{package}.") and not name.startswith("_") and name not in milopt.__all__


def pages() -> dict[str, str]:
    """Return the index of the public names, and the page of the errors."""
    text = rst.title("Classes and functions")
    text += ":doc:`/reference/models/index` and :doc:`/reference/schemes/index` have pages of their own.\n\n"
    text += ".. currentmodule:: milopt\n\n"
    for topic, names in topics().items():
        lines = "\n".join(f"   {name}" for name in names)
        text += rst.title(topic, "-") + f".. autosummary::\n   :toctree: .\n\n{lines}\n\n"
    return {"api/index.rst": text + rst.title("Types for annotations", "-") + ALIASES, "errors.rst": errors()}


def errors() -> str:
    """Return the page of the errors with their exit codes."""
    values = [value for value in vars(milopt.errors).values() if isinstance(value, type)]
    kinds = [value for value in values if issubclass(value, MiloptError)]
    rows = [
        (
            f":exc:`milopt.errors.{kind.__name__}`",
            str(kind.exit_code),
            rst.codes(base.__name__ for base in kind.__bases__ if base is not Exception),
        )
        for kind in kinds
    ]
    codes = [
        ("0", "success"),
        ("1", "a crash: an error that is not a mistake of the user; please report it"),
        ("2", "wrong usage or bad input"),
        ("3", "no certificate: the solver failed, or the time limit was reached"),
        ("4", "the solver is not installed"),
        ("130", "Ctrl-C"),
    ]
    text = rst.title("Errors and exit codes")
    text += (
        "Every mistake of a user raises a subclass of :exc:`milopt.errors.MiloptError` with one sentence: the "
        "problem, its place and a remedy. The command line prints the sentence and ends with the exit code of "
        "the error; ``MILOPT_TRACEBACK=1`` shows the traceback.\n\n"
    )
    text += rst.title("Exit codes of the command line", "-") + rst.table(("code", "meaning"), codes, "10 90")
    text += rst.title("Exceptions", "-") + rst.table(("exception", "exit code", "base classes"), rows, "40 15 45")
    names = sorted((value.__name__ for value in values), key=lambda name: name != "MiloptError")
    return text + "".join(f".. autoexception:: milopt.errors.{name}\n   :no-inherited-members:\n\n" for name in names)
