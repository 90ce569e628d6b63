"""Pages of the registered models: program, solvers, hyper-parameters, class."""

from __future__ import annotations

from pathlib import Path

import rst
from program_directive import example_program

from milopt.estimator import BagClassifier
from milopt.estimator.parameter_docs import parameter_descriptions, parameter_types
from milopt.model_registry import format_value, get_model, model_names
from milopt.model_registry.settings import fields_of
from milopt.solving.explain import SupportTable, explain

DOCS = Path(__file__).resolve().parents[1]

PROGRAM = """\
The model declares this program on six bags of three instances in the plane, with its default hyper-parameters. Its kind
is *{kind}*, and its default scheme is {scheme}. A text in upright letters is the name of a variable or of a
constraint in the code.

.. milopt-program:: {name}

"""
PARTS = """\
Column generation adds rows to the master: for every column h that an oracle finds, the row
:math:`\\sum_i y_i d_i h(B_i) \\leq \\gamma`. An oracle is a DC program; it finds the column with the largest left side.
In every formula, y is a vector of signs: the labels, or, for columns of the other sign, minus the labels.

"""
SOLVERS = """\
Support of the program above. A larger program of the same form has the same support.

"""


def pages() -> dict[str, str]:
    """Return the index of the models and one page per model."""
    supports = {name: explain(example_program(name)) for name in model_names()}
    made = {f"models/{name}.rst": model_page(name, supports[name]) for name in supports}
    return {"models/index.rst": index_page(supports), **made}


def index_page(supports: dict[str, SupportTable]) -> str:
    """Return the page that lists the models."""
    rows = [
        (f":doc:`{name}`", rst.escape(summary_of(name)), example_program(name).kind, ", ".join(own_solvers(table)))
        for name, table in supports.items()
    ]
    text = (
        rst.title("Models")
        + "Every model is a scikit-learn classifier of bags, and is declared as a program. A solver is listed if it "
        "supports the program; `cvxpy:NAME` and `pyomo:NAME` are left out here.\n\n"
    )
    text += rst.table(("model", "method", "kind", "solvers"), rows, "15 45 12 28")
    return text + rst.contents(supports, hidden=True)


def model_page(name: str, table: SupportTable) -> str:
    """Return the page of a model."""
    program = example_program(name)
    cls = get_model(name)
    text = rst.title(name) + rst.escape(summary_of(name)) + "\n\n"
    guide = DOCS / "models" / f"{name.replace('-', '_')}.md"
    if guide.exists():
        text += f"The guide of this model, with examples: :doc:`/models/{guide.stem}`.\n\n"
    text += rst.title("Program", "-")
    text += PROGRAM.format(name=name, kind=program.kind, scheme=rst.code(program.default_scheme))
    text += PARTS if program.oracles else ""
    text += rst.title("Hyper-parameters", "-") + hyper_parameters(cls)
    text += rst.title("Solvers", "-") + SOLVERS + solver_table(table)
    text += rst.title("Class", "-")
    text += f".. autoclass:: milopt.models.{cls.__name__}\n   :no-inherited-members:\n\n"
    return text


def summary_of(name: str) -> str:
    """Return the first sentence of the docstring of a model, without the words that all models share."""
    first = (get_model(name).__doc__ or "").strip().partition("\n")[0]
    summary = first.removeprefix("Bag classifier: ")
    return summary[:1].upper() + summary[1:]


def own_solvers(table: SupportTable) -> list[str]:
    """Return the names of the supporting solvers that do not belong to a family."""
    return [solver for solver in table.supporting_solvers if ":" not in solver]


def hyper_parameters(cls: type[BagClassifier]) -> str:
    """Return the hyper-parameters of a model with type or allowed values, default, grid and description."""
    shared = fields_of(BagClassifier)
    descriptions, types = parameter_descriptions(cls), parameter_types(cls)
    rows = [
        (
            rst.code(field),
            rst.escape(types.get(field, "")),
            rst.code(format_value(default)),
            rst.codes(format_value(value) for value in cls.grid.get(field, ())),
            rst.escape(descriptions.get(field, "")),
        )
        for field, default in fields_of(cls).items()
        if field not in shared
    ]
    after = f"All models have {rst.codes(shared)} too; see :class:`milopt.BagClassifier`.\n\n"
    return rst.table(("name", "type", "default", "default grid", "meaning"), rows, "12 16 14 18 40") + after


def solver_table(table: SupportTable) -> str:
    """Return the solvers with the reason why each supports the program or does not."""
    rows = [(rst.code(entry.solver), "yes" if entry.supports else "no", rst.escape(entry.reason)) for entry in table]
    return rst.table(("solver", "supported", "reason"), rows, "18 12 70")
