"""`milopt inspect`: show the optimisation program of a model on a data set."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from milopt.cli import arguments
from milopt.cli.output import print_json
from milopt.cli.progress import show_progress
from milopt.cli.tables import OutputFormat

if TYPE_CHECKING:
    from milopt.compilation.compile_program import FormName, WitnessChoice
    from milopt.declaration.programs.program import Program


class Format(StrEnum):
    """Output formats of a program."""

    summary = "summary"
    lp = "lp"
    mps = "mps"
    cbf = "cbf"
    latex = "latex"
    spy = "spy"


class Form(StrEnum):
    """Forms in which a program with functions of a kernel's space is written: primal or dual."""

    primal = "primal"
    dual = "dual"


def inspect(
    data: arguments.DataArgument,
    model: arguments.ModelOption,
    part: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Program to show if the model has several: a label if there are more than two classes; master or "
            "oracle for column generation.",
            show_default=False,
        ),
    ] = None,
    iteration: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Show the program after N rounds of column generation.", show_default=False
        ),
    ] = None,
    view: Annotated[
        Format, typer.Option("--format", "-f", help="Summary, file format of solvers, LaTeX, or sparsity plot.")
    ] = Format.summary,
    form: Annotated[
        Form,
        typer.Option(help="In lp, mps, cbf and spy: the primal or the dual program."),
    ] = Form.primal,
    table_format: Annotated[
        OutputFormat, typer.Option("--tables", help="In summary: the format of the tables.")
    ] = OutputFormat.text,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of stdout.")
    ] = None,
    settings: arguments.SettingsOption = None,
    positive: arguments.PositiveOption = None,
    seed: arguments.SeedOption = 0,
    window: arguments.WindowOption = "0.2",
    stride: arguments.StrideOption = 1,
    znormalise: arguments.ZnormaliseOption = False,
    bag: arguments.BagColumnOption = "bag",
    label: arguments.LabelColumnOption = "label",
    features: arguments.FeatureColumnsOption = None,
    data_dir: arguments.DataDirOption = None,
    as_json: arguments.JsonOption = False,
) -> None:
    """Show the program of a model: a summary, LP, MPS, CBF, LaTeX, or a sparsity plot.

    LP, MPS and CBF files and plots of a DC program show its first convex step: at the start of an oracle, or with the
    mean of each bag as witness. LaTeX shows the program as declared, with its hyper-parameters as symbols.
    """
    from milopt.cli.parts import select_part, whole_problem
    from milopt.errors import ParameterError
    from milopt.files import write_text

    if view is Format.spy:
        from milopt.inspection.sparsity import check_image_file

        if output is None:
            raise ParameterError("A sparsity plot needs an image file: add -o spy.png.")
        check_image_file(output)
    estimator = arguments.make_estimator(model, settings, seed=seed)
    data_set = arguments.read_data(
        data, window, stride, znormalise, data_dir, arguments.TableColumnNames(bag, label, features)
    )
    if positive is not None:
        estimator.set_params(positive=arguments.parse_label(positive, data_set))
    with show_progress(f"declaring {model} on {data_set.name}"):
        whole = whole_problem(estimator, model, data_set, part) if view is Format.latex and iteration is None else None
        name, program, witnesses = select_part(estimator, model, data_set, part, iteration)
        if view is Format.summary and table_format is not OutputFormat.text:
            text = summary_tables(program, table_format)
        elif whole is not None:
            text = whole.to_latex()
        else:
            text = render_program(program, view, form.value, output, witnesses)
        if output is not None and (whole is not None or view is Format.summary):
            write_text(output, text + "\n")
    if part is None and name == "master" and not iteration and whole is None:
        hint = "--iteration N shows it after N rounds, --part oracle shows the program that finds new columns"
        typer.echo(f"{model} is semi-infinite: this is its master before column generation. {hint}.", err=True)
    if as_json:
        from milopt.inspection.summary import summarise
        from milopt.solving.solver_support import format_features

        summary = summarise(program)
        print_json(
            {
                "model": model,
                "data": data_set.name,
                "part": name,
                "iteration": iteration,
                "name": program.name,
                "kind": program.kind,
                "features": format_features(program.features(), program.cones()),
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


def summary_tables(program: Program, table_format: OutputFormat) -> str:
    """Return the tables of the summary of a program as CSV, Markdown or LaTeX, with a blank line between them."""
    from milopt.inspection.summary import summarise
    from milopt.table import format_csv

    tables = summarise(program).tables
    if table_format is OutputFormat.csv:
        rows = [[dict(zip(table.header, row, strict=True)) for row in table.rows] for table in tables]
        return "\n\n".join(format_csv(each) for each in rows if each)
    if table_format is OutputFormat.markdown:
        return "\n\n".join(f"{table.title}\n\n{table.markdown()}" for table in tables)
    return "\n\n".join(table.latex() for table in tables)


def render_program(
    program: Program, view: Format, form: FormName, output: Path | None, witnesses: WitnessChoice = None
) -> str:
    """Return a program as text, and write it to `output` if given; a sparsity plot is only written.

    A summary is not written.
    """
    if view is Format.spy:
        assert output is not None
        program.spy(output, form=form, witnesses=witnesses)
        return ""
    if view is Format.summary:
        return program.summary()
    if view is Format.latex:
        return program.to_latex(output)
    write = {Format.lp: program.to_lp, Format.mps: program.to_mps, Format.cbf: program.to_cbf}[view]
    return write(output, form=form, witnesses=witnesses)
