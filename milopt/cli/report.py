"""`milopt report`: one HTML page of the JSON results of other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Output of `milopt fit`, `compare`, `evaluate` or `rank` with --json."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="Title of the page; by default, the models and data sets.")
    ] = "",
) -> None:
    """Write one self-contained HTML page of results: tables, certificates, plots, versions, commands."""
    from milopt.files import check_can_write, write_text
    from milopt.reporting.documents import read_documents
    from milopt.reporting.page import make_page

    check_can_write(output, "The report")
    documents = [document for path in files for document in read_documents(path)]
    write_text(output, make_page(documents, title))
    typer.echo(f"{output}: {len(documents)} result{'' if len(documents) == 1 else 's'}")
