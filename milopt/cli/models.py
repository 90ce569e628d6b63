"""`milopt models`: the methods, their hyper-parameters, and the solvers that can take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from milopt.cli.arguments import Json, complete_model
from milopt.cli.output import page_width, print_json, print_table

if TYPE_CHECKING:
    from milopt.declaration.programs.program import Program
    from milopt.declaration.programs.semi_infinite import SemiInfinite
    from milopt.estimator import BagClassifier


def models(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]...", help="All by default.", autocompletion=complete_model, show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """The methods, their hyper-parameters, and the solvers that can take them."""
    from milopt.model_registry import model_names

    found = [_described(name) for name in names or model_names()]
    if as_json:
        print_json({"models": found})
        return
    for number, model in enumerate(found):
        if number:
            typer.echo()
        _show(model)


def _show(model: dict[str, Any]) -> None:
    import textwrap

    name, *rest = textwrap.wrap(f"{model['name']} ({model['kind']}): {model['about']}", page_width())
    typer.echo("\n".join([typer.style(name[: len(model["name"])], bold=True) + name[len(model["name"]) :], *rest]))
    fields = model["parameters"].items()
    rows = [(name, field["default"], ", ".join(field["grid"]) or "-") for name, field in fields]
    print_table(("parameter", "default", "default grid"), rows, indent=2)
    taken = f"solvers: {', '.join(model['solvers'])}"
    typer.echo(textwrap.fill(taken, page_width(), initial_indent="  ", subsequent_indent="    "))


def _described(name: str) -> dict[str, Any]:
    from milopt.estimator import BagClassifier
    from milopt.model_registry import get_model, spelled
    from milopt.model_registry.settings import fields_of
    from milopt.solving.explain import explain

    cls = get_model(name)
    shared = fields_of(BagClassifier)
    program = _small_program(cls)
    return {
        "name": name,
        "about": (cls.__doc__ or "").strip().partition("\n")[0],
        "kind": program.kind,
        "parameters": {
            field: {
                "default": spelled(default),
                "grid": [spelled(value) for value in cls.grid.get(field, ())],
            }
            for field, default in fields_of(cls).items()
            if field not in shared
        },
        "shared_parameters": {field: spelled(default) for field, default in shared.items()},
        "solvers": explain(program).takers,
    }


def _small_program(cls: type[BagClassifier]) -> Program | SemiInfinite:
    """The model's program on six small bags: which solvers take it depends on its pattern, not on its size."""
    import numpy as np

    bags = list(np.random.default_rng(0).uniform(size=(6, 3, 2)))
    make: Callable[..., BagClassifier] = cls
    return make().program(bags, [-1, 1, -1, 1, -1, 1])
