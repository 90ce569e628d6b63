"""The command `milopt models`: list the models with their hyper-parameters and supported solvers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milopt.cli.arguments import JsonOption, TableFormatOption, complete_model
from milopt.cli.output import page_width, print_json
from milopt.cli.tables import OutputFormat, print_listing

if TYPE_CHECKING:
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import SemiInfinite
    from milopt.estimator import BagClassifier


def models(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL]...",
            help="Models to list (default: all).",
            autocompletion=complete_model,
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
    table_format: TableFormatOption = OutputFormat.text,
) -> None:
    """List the models with their hyper-parameters and supported solvers."""
    from milopt.model_registry import model_names

    descriptions = [_describe_model(name) for name in names or model_names()]
    if as_json:
        print_json({"models": descriptions})
        return
    if table_format is not OutputFormat.text:
        _print_parameter_table(descriptions, table_format)
        return
    for number, model in enumerate(descriptions):
        if number:
            typer.echo()
        _print_model(model, with_shared_parameters=bool(names))


def _print_parameter_table(models: Sequence[dict[str, Any]], table_format: OutputFormat) -> None:
    """Print one row per hyper-parameter of the models, with a note about each model."""
    cells = [
        (
            model["name"],
            name,
            entry["type"],
            _remove_quotes(entry["default"]),
            ", ".join(entry["grid"]),
            entry["description"],
        )
        for model in models
        for name, entry in model["parameters"].items()
    ]
    notes = [f"{m['name']} ({m['kind']}): {m['about']} Solvers: {', '.join(m['solvers'])}." for m in models]
    print_listing(("model", "hyper-parameter", "type", "default", "grid", "description"), cells, notes, table_format)


def _print_model(model: dict[str, Any], with_shared_parameters: bool) -> None:
    """Print the summary of a model, its hyper-parameters with values and description, and its solvers.

    `model` is its description as JSON data.
    """
    name = model["name"]
    title = _wrap(f"{name} ({model['kind']}): {model['about']}")
    typer.echo(typer.style(title[: len(name)], bold=True) + title[len(name) :])
    for parameter, entry in model["parameters"].items():
        _print_parameter(parameter, entry["default"], entry["type"], entry["grid"], entry["description"])
    if with_shared_parameters:
        _print_shared_parameters(name)
    typer.echo(_wrap(f"solvers: {', '.join(model['solvers'])}", indent=2, hanging_indent=4))


def _print_shared_parameters(name: str) -> None:
    """Print the hyper-parameters that a model has in common with all models."""
    from milopt.estimator import BagClassifier
    from milopt.estimator.parameter_docs import parameter_descriptions, parameter_types
    from milopt.model_registry import format_value, get_model
    from milopt.model_registry.settings import fields_of

    cls = get_model(name)
    defaults, descriptions, types = fields_of(cls), parameter_descriptions(cls), parameter_types(cls)
    typer.echo("  shared by all models:")
    for parameter in fields_of(BagClassifier):
        default, description = format_value(defaults[parameter]), descriptions.get(parameter, "")
        _print_parameter(parameter, default, types.get(parameter, ""), (), description)


def _print_parameter(name: str, default: str, kind: str, grid: Sequence[str], description: str) -> None:
    """Print a hyper-parameter with its default, allowed values and default grid, and its description below.

    `kind` is its type as in the docstring.
    """
    from milopt.estimator.parameter_docs import allowed_values

    values = [*allowed_values(kind), *(["none"] if kind.endswith("or None") else [])]
    remarks = [f"one of {', '.join(values)}"] if allowed_values(kind) else []
    remarks += [f"default grid: {', '.join(grid)}"] if grid else []
    remark = f" ({'; '.join(remarks)})" if remarks else ""
    typer.echo(_wrap(f"{name} = {_remove_quotes(default)}{remark}", indent=2, hanging_indent=6))
    if description:
        typer.echo(_wrap(description, indent=6, hanging_indent=6))


def _wrap(text: str, indent: int = 0, hanging_indent: int = 0) -> str:
    """Break a text into lines of the page's width, at spaces only."""
    import textwrap

    return textwrap.fill(
        text,
        page_width(),
        initial_indent=" " * indent,
        subsequent_indent=" " * hanging_indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _remove_quotes(default: str) -> str:
    """Remove the quotes around the text of a string, so that the string "none" looks like None."""
    is_quoted = len(default) > 1 and default[0] == default[-1] and default[0] in "'\""
    return default[1:-1] if is_quoted else default


def _describe_model(name: str) -> dict[str, Any]:
    """Return name, summary, kind, hyper-parameters and supporting solvers of a model as JSON data."""
    from milopt.estimator import BagClassifier
    from milopt.estimator.parameter_docs import allowed_values, parameter_descriptions, parameter_types
    from milopt.model_registry import format_value, get_model
    from milopt.model_registry.settings import fields_of
    from milopt.solving.explain import explain

    cls = get_model(name)
    shared = fields_of(BagClassifier)
    descriptions, types = parameter_descriptions(cls), parameter_types(cls)
    program = _example_program(cls)
    return {
        "name": name,
        "about": (cls.__doc__ or "").strip().partition("\n")[0],
        "kind": program.kind,
        "parameters": {
            field: {
                "type": types.get(field, ""),
                "values": list(allowed_values(types.get(field, ""))),
                "default": format_value(default),
                "grid": [format_value(value) for value in cls.grid.get(field, ())],
                "description": descriptions.get(field, ""),
            }
            for field, default in fields_of(cls).items()
            if field not in shared
        },
        "shared_parameters": {field: format_value(default) for field, default in shared.items()},
        "solvers": explain(program).supporting_solvers,
    }


def _example_program(cls: type[BagClassifier]) -> Program | SemiInfinite:
    """Return the program of the model on six small bags; which solvers support it does not depend on the size.

    It does not depend on the values of a kernel either, so a kernel that would compile native code is replaced.
    """
    import numpy as np

    from milopt.bag_kernels.set_kernels import SetKernel
    from milopt.declaration.kernels.kernel import Kernel
    from milopt.model_registry.settings import fields_of

    bags = list(np.random.default_rng(0).uniform(size=(6, 3, 2)))
    make: Callable[..., BagClassifier] = cls
    defaults = fields_of(cls).items()
    replaced = {
        name: SetKernel() for name, value in defaults if isinstance(value, Kernel) and value.compiles_on_first_use
    }
    return make(**replaced).program(bags, [-1, 1, -1, 1, -1, 1])
