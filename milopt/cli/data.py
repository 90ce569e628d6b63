"""`milopt data`: the data sets that are known by name, how large each is, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from milopt.cli.arguments import DataDir, Json
from milopt.cli.output import print_json, print_table
from milopt.cli.progress import progress

if TYPE_CHECKING:
    from pathlib import Path

    from milopt.data import KnownSet

LICENCES = {
    "musk1": "CC BY 4.0",
    "musk2": "CC BY 4.0",
    "GunPoint": "UCR archive, by citation",
    "ItalyPowerDemand": "UCR archive, by citation",
}
"""Of the sets that ship, in short; PROVENANCE.txt beside them has it in full."""


def data(
    sizes: Annotated[bool, typer.Option(help="Read every set to tell its sizes.")] = True,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """The data sets that are known by name, how large each is, and where."""
    from milopt.data import known

    found = known(data_dir)
    rows: list[dict[str, Any]] = []
    with progress("reading", total=len(found)) as shown:
        for one in found:
            shown.update(f"reading {one.name}", done=len(rows))
            rows.append(_described(one, sizes, data_dir))
    if as_json:
        print_json({"data": rows})
        return
    counts = ("bags", "positive", "instances", "features")
    heads = ("name", *(counts if sizes else ()), "where", "licence")
    cells = [
        (
            row["name"],
            *((_counted(row), *(_number(row[count]) for count in counts[1:])) if sizes else ()),
            row["source"] if row["source"] == "embedded" else "folder",
            row["licence"] or "",
        )
        for row in rows
        if not row["reason"]
    ]
    print_table(heads, cells, right=counts, spare=("where", "licence"))
    for folder in sorted({row["source"] for row in rows} - {"embedded"}):
        typer.echo(f"folder: {folder}")
    for row in rows:
        if row["reason"]:
            typer.echo(f"{row['name']} cannot be read: {row['reason']}")


def _described(one: KnownSet, sizes: bool, data_dir: Path | None) -> dict[str, Any]:
    from milopt.data import load_data
    from milopt.errors import MiloptError

    about: dict[str, Any] = {
        "name": one.name,
        "source": one.source,
        "paths": [str(path) for path in one.paths],
        "licence": LICENCES.get(one.name) if one.source == "embedded" else None,
        **dict.fromkeys(("bags", "positive", "instances", "features", "classes", "test_bags", "reason")),
    }
    if not sizes:
        return about
    try:
        read = load_data(one.name, data_dir=data_dir)
    except MiloptError as error:
        return about | {"reason": str(error)}
    classes = sorted(set(read.labels.tolist()))
    return about | {
        "bags": len(read.bags),
        "positive": int((read.labels == classes[-1]).sum()) if len(classes) == 2 else None,
        "instances": int(read.bags.offsets[-1]),
        "features": read.bags.dimension,
        "classes": classes,
        "test_bags": None if read.test is None else len(read.test.bags),
    }


def _counted(row: dict[str, Any]) -> str:
    """Bags, and those of the test part where there is one."""
    return _number(row["bags"]) + (f"+{row['test_bags']}" if row["test_bags"] is not None else "")


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
