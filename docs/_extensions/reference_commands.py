"""Pages of the commands with their options, and of the JSON schemas of their output."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Any

import rst
import typer

import milopt.cli
from milopt.cli.app import app

SCHEMAS = Path(milopt.cli.__file__).parent / "schemas"


def pages() -> dict[str, str]:
    """Return the index of the commands, one page per command, and the page of the schemas."""
    group = typer.main.get_command(app)
    commands: dict[str, Any] = group.commands  # type: ignore[attr-defined]  # the class of click
    made = {f"commands/{name}.rst": command_page(name, command) for name, command in commands.items()}
    return {"commands/index.rst": index_page(commands), **made, "schemas.rst": schemas()}


def index_page(commands: dict[str, Any]) -> str:
    """Return the page that lists the commands."""
    rows = [(f":doc:`{name}`", first_paragraph(command.help)) for name, command in commands.items()]
    text = (
        rst.title("Commands") + "The guide to the command line, with examples: :doc:`/cli`. ``-h`` prints the help.\n\n"
    )
    return text + rst.table(("command", "purpose"), rows, "15 85") + rst.contents(commands, hidden=True)


def command_page(name: str, command: Any) -> str:
    """Return the page of a command: its help, its arguments and its options."""
    arguments = [p for p in command.params if p.param_type_name == "argument" and not p.hidden]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = " ".join(["milopt", name, "[OPTIONS]", *(parameter_names(argument) for argument in arguments)])
    text = rst.title(f"milopt {name}") + f".. code-block:: text\n\n   {usage}\n\n"
    text += "\n\n".join(rst.escape(" ".join(part.split())) for part in (command.help or "").split("\n\n")) + "\n\n"
    for heading, parameters in (("Arguments", arguments), ("Options", options)):
        if parameters:
            rows = [parameter_row(parameter) for parameter in parameters]
            text += rst.title(heading, "-") + rst.table(("name", "default", "meaning"), rows, "30 15 55")
    if (SCHEMAS / f"{name}.json").exists():
        text += f"The output of ``--json`` is described by its schema: :ref:`schema-{name}`.\n\n"
    return text


def parameter_names(parameter: Any) -> str:
    """Return the names of an option with the word for its value, or the word for an argument."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    if parameter.is_flag:
        return names
    default = parameter.default
    choices = "|".join(choice.value for choice in type(default)) if isinstance(default, Enum) else "VALUE"
    return f"{names} {parameter.metavar or choices}"


def parameter_row(parameter: Any) -> tuple[str, str, str]:
    """Return the names, the default and the help of an argument or option."""
    default = getattr(parameter.default, "value", parameter.default)
    is_plain = isinstance(default, (int, float, str)) and not isinstance(default, bool) and default != ""
    shown = "required" if parameter.required else rst.code(str(default)) if is_plain else ""
    return rst.code(parameter_names(parameter)), shown, rst.escape(getattr(parameter, "help", "") or "")


def first_paragraph(text: str | None) -> str:
    """Return the first paragraph of a help text on one line."""
    return rst.escape(" ".join((text or "").partition("\n\n")[0].split()))


def schemas() -> str:
    """Return the page of the JSON schemas: one table of fields per command."""
    text = rst.title("JSON output")
    text += (
        "Commands with ``--json`` print one JSON object. The schemas are files of milopt "
        "(``milopt/cli/schemas``), in the draft 2020-12 of JSON Schema; the tests check the output of every command. "
        "In the names, ``[]`` are the entries of an array and ``*`` is any key of an object.\n\n"
    )
    for path in sorted(SCHEMAS.glob("*.json")):
        schema = json.loads(path.read_text())
        rows_by_field = {row[0]: row for row in reversed(fields(inline(schema, schema.get("$defs", {}))))}
        rows = [(rst.code(name), kind, rst.escape(about)) for name, kind, about in reversed(rows_by_field.values())]
        text += f".. _schema-{path.stem}:\n\n" + rst.title(f"milopt {path.stem}", "-")
        text += rst.table(("field", "type", "meaning"), rows, "35 20 45")
    return text


def fields(schema: dict[str, Any], prefix: str = "") -> list[tuple[str, str, str]]:
    """Return name, type and description of each field of a schema; fields of inner objects follow their object."""
    rows = []
    for name, inner in inner_schemas(schema):
        path = f"{prefix}{name}" if name.startswith("[") else f"{prefix}.{name}".lstrip(".")
        if not name.startswith("[") or not list(inner_schemas(inner)):
            rows.append((path, type_of(inner), inner.get("description", "")))
        rows += fields(inner, path)
    return rows


def inline(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema with the definitions in place of the references to them."""
    if isinstance(schema, list):
        return [inline(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        target = inline(definitions[schema["$ref"].rpartition("/")[2]], definitions)
        return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return {key: inline(value, definitions) for key, value in schema.items() if key != "$defs"}


def inner_schemas(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the schemas directly below a schema, by the name of the field."""
    schemas = list(schema.get("properties", {}).items())
    if isinstance(schema.get("additionalProperties"), dict):
        schemas.append(("*", schema["additionalProperties"]))
    if isinstance(schema.get("items"), dict):
        schemas.append(("[]", schema["items"]))
    for alternative in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        schemas += inner_schemas(alternative)
    return schemas


def type_of(schema: dict[str, Any]) -> str:
    """Return the types of a schema, or its allowed values."""
    if "enum" in schema:
        return ", ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    kinds = schema.get("type", "")
    if not kinds:
        kinds = [type_of(part) for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ()))]
    return kinds if isinstance(kinds, str) else " or ".join(kind for kind in kinds if kind)
