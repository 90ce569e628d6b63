"""`milopt schemes`: how programs are solved, with the parameters of each scheme."""

from __future__ import annotations

from milopt.cli.arguments import Json
from milopt.cli.output import print_json, print_table


def schemes(as_json: Json = False) -> None:
    """The schemes by which programs are solved, and their parameters."""
    from milopt.schemes.registered import scheme_names

    found = [_described(name) for name in scheme_names()]
    if as_json:
        print_json({"schemes": found})
        return
    rows = [(str(one["name"]), str(one["about"] or one["reason"]), _settings(one["parameters"])) for one in found]
    print_table(("scheme", "about", "parameters"), rows)


def _described(name: str) -> dict[str, object]:
    """Describe a scheme by the first line of its docstring; if it cannot be loaded, by the reason."""
    import inspect

    from milopt.errors import MiloptError
    from milopt.schemes.registered import scheme_class

    try:
        cls = scheme_class(name)
    except MiloptError as error:
        return {"name": name, "about": "", "parameters": {}, "reason": str(error)}
    about = (cls.__doc__ or "").strip().partition("\n")[0]
    fields = {field: repr(one.default) for field, one in inspect.signature(cls).parameters.items()}
    return {"name": name, "about": about, "parameters": fields, "reason": None}


def _settings(fields: object) -> str:
    assert isinstance(fields, dict)
    return ", ".join(f"{field}={default}" for field, default in fields.items())
