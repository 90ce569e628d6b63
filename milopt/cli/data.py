"""`milopt data`: a list of the available data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from milopt.cli.arguments import DataDirOption, JsonOption, TableFormatOption
from milopt.cli.output import print_json
from milopt.cli.progress import show_progress
from milopt.cli.tables import OutputFormat, print_listing

if TYPE_CHECKING:
    from pathlib import Path

    from milopt.data import KnownDataSet

LICENCES = {
    "musk1": "CC BY 4.0",
    "musk2": "CC BY 4.0",
    "GunPoint": "UCR archive, by citation",
    "ItalyPowerDemand": "UCR archive, by citation",
}
"""Short form of the licences of the data sets that are part of milopt; PROVENANCE.txt has the full text."""


def data(
    sizes: Annotated[bool, typer.Option(help="Read every data set to show its size.")] = True,
    data_dir: DataDirOption = None,
    as_json: JsonOption = False,
    table_format: TableFormatOption = OutputFormat.text,
) -> None:
    """List the available data sets."""
    from milopt.data import known_data_sets

    known_sets = known_data_sets(data_dir)
    rows: list[dict[str, Any]] = []
    with show_progress("reading", total=len(known_sets)) as line:
        for known_set in known_sets:
            line.update(f"reading {known_set.name}", done=len(rows))
            rows.append(_describe_data_set(known_set, sizes, data_dir))
    if as_json:
        print_json({"data": rows})
        return
    counts = ("bags", "positive", "instances", "features")
    heads = ("name", *(counts if sizes else ()), "where", "licence")
    cells = [
        (
            row["name"],
            *((_format_bag_count(row), *(_format_number(row[count]) for count in counts[1:])) if sizes else ()),
            row["source"] if row["source"] == "embedded" else "folder",
            row["licence"] or "",
        )
        for row in rows
        if not row["reason"]
    ]
    folders = [f"folder: {folder}" for folder in sorted({row["source"] for row in rows} - {"embedded"})]
    unreadable = [f"{row['name']} cannot be read: {row['reason']}" for row in rows if row["reason"]]
    print_listing(heads, cells, [*folders, *unreadable], table_format, counts, spare=("where", "licence"))


def _describe_data_set(known_set: KnownDataSet, sizes: bool, data_dir: Path | None) -> dict[str, Any]:
    """Return name, source, licence and (if `sizes`) the sizes of a data set as JSON data.

    If the data set cannot be read, the entry "reason" states why.
    """
    from milopt.data import load_data
    from milopt.errors import MiloptError

    description: dict[str, Any] = {
        "name": known_set.name,
        "source": known_set.source,
        "paths": [str(path) for path in known_set.paths],
        "licence": LICENCES.get(known_set.name) if known_set.source == "embedded" else None,
        **dict.fromkeys(("bags", "positive", "instances", "features", "classes", "test_bags", "reason")),
    }
    if not sizes:
        return description
    try:
        read = load_data(known_set.name, data_dir=data_dir)
    except MiloptError as error:
        return description | {"reason": str(error)}
    classes = sorted(set(read.labels.tolist()))
    return description | {
        "bags": len(read.bags),
        "positive": int((read.labels == classes[-1]).sum()) if len(classes) == 2 else None,
        "instances": int(read.bags.offsets[-1]),
        "features": read.bags.dimension,
        "classes": classes,
        "test_bags": None if read.test is None else len(read.test.bags),
    }


def _format_bag_count(row: dict[str, Any]) -> str:
    """Return the number of bags, and after a plus the number of bags of the test part if there is one."""
    return _format_number(row["bags"]) + (f"+{row['test_bags']}" if row["test_bags"] is not None else "")


def _format_number(value: int | None) -> str:
    return "-" if value is None else str(value)
