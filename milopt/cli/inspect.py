"""`milopt inspect`: the program that a model becomes on a data set."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milopt.cli import arguments as given
from milopt.cli.output import print_json
from milopt.cli.progress import progress

if TYPE_CHECKING:
    from milopt.compilation.compile_program import FormName, WitnessChoice
    from milopt.declaration.programs.program import Program


class Format(StrEnum):
    """How to show a program."""

    summary = "summary"
    lp = "lp"
    mps = "mps"
    cbf = "cbf"
    latex = "latex"
    spy = "spy"


class Form(StrEnum):
    """How functions of a kernel's space become columns."""

    coordinates = "coordinates"
    dual = "dual"


def inspect(
    data: given.Data,
    model: given.Model,
    part: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which of the model's programs: a label, where there are more than two; master or oracle, "
            "in column generation.",
            show_default=False,
        ),
    ] = None,
    iteration: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="After so many rounds of column generation.", show_default=False),
    ] = None,
    view: Annotated[
        Format, typer.Option("--format", "-f", help="A summary, a file for solvers, LaTeX, or a sparsity plot.")
    ] = Format.summary,
    form: Annotated[
        Form, typer.Option(help="In lp, mps, cbf and spy: functions in coordinates, or the dual program.")
    ] = Form.coordinates,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there instead of to stdout.")
    ] = None,
    settings: given.Settings = None,
    positive: given.Positive = None,
    seed: given.Seed = 0,
    window: given.Window = "0.2",
    stride: given.Stride = 1,
    znormalise: given.Znormalise = False,
    data_dir: given.DataDir = None,
    as_json: given.Json = False,
) -> None:
    """Show the program that a model becomes: a summary, LP, MPS, CBF, LaTeX, or where it has its numbers.

    A program that needs witnesses is written as its first convex step: where an oracle starts, or at each bag's mean.
    """
    from milopt.cli.parts import chosen_part
    from milopt.errors import ParameterError

    if view is Format.spy:
        from milopt.inspection.sparsity import check_picture

        if output is None:
            raise ParameterError("A sparsity plot needs a file to go to: add -o spy.png.")
        check_picture(output)
    estimator = given.estimator(model, settings, seed=seed)
    found = given.read_data(data, window, stride, znormalise, data_dir)
    if positive is not None:
        estimator.set_params(positive=given.label_of(positive, found))
    with progress(f"declaring {model} on {found.name}"):
        name, program, witnesses = chosen_part(estimator, model, found, part, iteration)
        text = written(program, view, form.value, output, witnesses)
    if part is None and name == "master" and not iteration:
        others = "--iteration N shows it after N rounds, --part oracle what prices new ones"
        typer.echo(f"{model} is semi-infinite: this is its master, which has no column yet. {others}.", err=True)
    if as_json:
        from milopt.inspection.summary import summarise
        from milopt.solving.refusal import in_words

        summary = summarise(program)
        print_json(
            {
                "model": model,
                "data": found.name,
                "part": name,
                "iteration": iteration,
                "name": program.name,
                "kind": program.kind,
                "features": in_words(program.features(), program.cones()),
                "headline": summary.headline,
                "tables": {
                    table.title: [dict(zip(table.header, row, strict=True)) for row in table.rows]
                    for table in summary.tables
                },
                "warnings": summary.warnings,
                "format": view.value,
                "form": form.value,
                "file": output,
                "text": text if output is None else None,
            }
        )
    elif output is None:
        typer.echo(text)


def written(
    program: Program, view: Format, form: FormName, output: Path | None, witnesses: WitnessChoice = None
) -> str:
    """The text of a program, also in the file where one is given; of a picture, the file alone."""
    from milopt.files import write_text

    if view is Format.spy:
        assert output is not None
        program.spy(output, form=form, witnesses=witnesses)
        return ""
    if view is Format.summary:
        text = program.summary()
        if output is not None:
            write_text(output, text + "\n")
        return text
    if view is Format.latex:
        return program.to_latex(output)
    write = {Format.lp: program.to_lp, Format.mps: program.to_mps, Format.cbf: program.to_cbf}[view]
    return write(output, form=form, witnesses=witnesses)
