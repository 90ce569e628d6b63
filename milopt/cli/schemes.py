"""`milopt schemes`: a list of the schemes (algorithms that solve programs) and their parameters."""

from __future__ import annotations

from milopt.cli.arguments import JsonOption, TableFormatOption
from milopt.cli.output import print_json, print_table
from milopt.cli.tables import OutputFormat, print_listing


def schemes(as_json: JsonOption = False, table_format: TableFormatOption = OutputFormat.text) -> None:
    """List the schemes (algorithms that solve programs) and their parameters."""
    from milopt.schemes.registered import scheme_names

    descriptions = [_describe_scheme(name) for name in scheme_names()]
    if as_json:
        print_json({"schemes": descriptions})
        return
    if table_format is not OutputFormat.text:
        cells = [
            (str(entry["name"]), str(entry["about"] or entry["reason"]), _format_parameters(entry["parameters"]))
            for entry in descriptions
        ]
        print_listing(("scheme", "about", "parameters"), cells, [], table_format)
        return
    # Parameters have a line of their own: beside them, the column "about" would be too narrow.
    rows: list[tuple[str, str]] = []
    for entry in descriptions:
        rows.append((str(entry["name"]), str(entry["about"] or entry["reason"])))
        if entry["parameters"]:
            rows.append(("", _format_parameters(entry["parameters"])))
    print_table(("scheme", "description, and parameters with defaults"), rows)


def _describe_scheme(name: str) -> dict[str, object]:
    """Return name, first docstring line and parameters of a scheme as JSON data, or why it cannot be loaded."""
    import inspect

    from milopt.errors import MiloptError
    from milopt.schemes.registered import scheme_class

    try:
        cls = scheme_class(name)
    except MiloptError as error:
        return {"name": name, "about": "", "parameters": {}, "reason": str(error)}
    about = (cls.__doc__ or "").strip().partition("\n")[0]
    fields = {field: repr(parameter.default) for field, parameter in inspect.signature(cls).parameters.items()}
    return {"name": name, "about": about, "parameters": fields, "reason": None}


def _format_parameters(fields: object) -> str:
    """Return parameters with their defaults, separated by commas."""
    assert isinstance(fields, dict)
    return ", ".join(f"{field}={default}" for field, default in fields.items())
