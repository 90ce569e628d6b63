"""Summary of a fit, as text for users (`str`), as a table for notebooks, and as JSON data (`as_dict`).

The JSON data is built by `milopt.estimator.report_content`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from milopt.estimator.sparsity import format_sparsity
from milopt.html import entries_table, view
from milopt.outcome.generalisation import GeneralisationBounds

Json = dict[str, Any]


@dataclass(frozen=True)
class Report:
    """Summary of a fit: data, program, solver, status, certificate and seconds.

    Returned by `BagClassifier.report`. `print` shows it as text.

    Parameters
    ----------
    content : dict
        The summary as JSON data.
    bounds : GeneralisationBounds or None, default=None
        Generalisation bounds of the program with the weakest ones. None if a program has no bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from milopt.models import SetKernelSVM
    >>> bags = np.random.default_rng(0).normal(size=(20, 4, 2))
    >>> y = np.repeat([-1, 1], 10)
    >>> bags[y == 1] += 3
    >>> report = SetKernelSVM().fit(bags, y).report()
    >>> report.as_dict()["status"]
    'optimal'
    """

    content: Json
    bounds: GeneralisationBounds | None = None

    @classmethod
    def from_dict(cls, content: Json) -> Report:
        """Return the report for JSON data of `as_dict`.

        Parameters
        ----------
        content : dict
            JSON data. Other keys, such as those of `milopt fit --json`, are kept.

        Returns
        -------
        Report
            The report.
        """
        bounds = content["bounds"]
        has_bounds = bounds is not None and "reason" not in bounds
        return cls(content, GeneralisationBounds.from_dict(bounds) if has_bounds else None)

    def as_dict(self) -> Json:
        """Return the summary as JSON data.

        Returns
        -------
        dict
            With the keys `model`, `parameters`, `solver`, `data`, `status`, `objective`, `certificate`, `seconds`,
            `iterations`, `history`, `programs` and others.
        """
        return self.content

    def entries(self) -> list[tuple[str, str]]:
        """Return the summary as a list of pairs: the name of an entry, and its text.

        Returns
        -------
        list of tuple of str
            Model, data, programs, solver, status, objective, certificate and others.
        """
        content = self.content
        data, seconds = content["data"], content["seconds"]
        low, middle, high = data["instances_per_bag"]
        used = {
            name: content["resolved"].get(name, value)
            for name, value in content["parameters"].items()
            if value is not None and name != "verbose"
        }
        chosen = ", ".join(f"{name}={value}" for name, value in used.items())
        classes = ", ".join(f"{count} of class {label}" for label, count in data["classes"].items())
        entries = [
            ("model", f"{content['model']} ({chosen})"),
            (
                "data",
                f"{data['bags']} bags ({classes}), {data['instances']} instances ({low} to {high} per bag, median "
                f"{middle:g}), {_format_count(data['features'], 'feature')}{', sparse' if data['sparse'] else ''}",
            ),
        ]
        if content["positive_label"] is not None:
            entries.append(("positive", f"class {content['positive_label']}"))
        entries += [(_program_title(content, part), _format_program(part)) for part in content["programs"]]
        entries += [
            ("solver", f"{content['solver']}, scheme {content['scheme']}"),
            *[("form", text) for text in dict.fromkeys(part["form"] for part in content["programs"]) if text],
            *_attempt_lines(content["programs"]),
            (
                "status",
                ". ".join(filter(None, (f"{content['status']}, point {content['point']}", content["message"]))),
            ),
            ("objective", "-" if content["objective"] is None else f"{content['objective']:.8g}"),
            ("certificate", _format_certificate(content["certificate"])),
            ("iterations", f"{content['iterations']} in {_format_count(len(content['history']), 'step')}"),
            ("seconds", ", ".join(f"{name} {value:.3g}" for name, value in seconds.items())),
            ("training", f"accuracy {content['train_accuracy']:.4g}"),
            *self._bounds_lines(),
            *([("sparsity", format_sparsity(content["sparsity"]))] if content["sparsity"] else []),
            ("versions", ", ".join(f"{name} {value}" for name, value in content["versions"].items())),
        ]
        return entries

    def rows(self) -> list[dict[str, object]]:
        """Return one row per number or text of the summary, with numbers that are not rounded.

        Returns
        -------
        list of dict
            Rows with an `entry`, such as "certificate.gap", and its `value`. Lists, such as the steps, are left out.
        """
        return [{"entry": name, "value": value} for name, value in _leaves(self.content, "")]

    def __str__(self) -> str:
        """Format the summary as text, one line per entry."""
        return "\n".join(f"{name:<12}{text}" for name, text in self.entries())

    def __repr__(self) -> str:
        """Return model, solver, status and objective in one line."""
        content = self.content
        objective = "none" if content["objective"] is None else f"{content['objective']:.8g}"
        status = f"{content['status']}, {content['point']}, objective {objective}"
        return f"Report({content['model']!r} by {content['solver']}: {status})"

    def _repr_html_(self) -> str:
        """Return the summary as a table for a notebook."""
        return view(entries_table("", self.entries()))

    def _bounds_lines(self) -> list[tuple[str, str]]:
        """Return a list of one pair (heading, text) about the generalisation bounds; empty if the model has none."""
        if self.content["bounds"] is None:
            return []
        return [("bounds", self.content["bounds"]["reason"] if self.bounds is None else self.bounds.line())]


def _format_count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _program_title(content: Json, part: Json) -> str:
    """Return the heading of a program's line: "program", or its class if there are several programs."""
    return "program" if len(content["programs"]) == 1 else f"  {part['class']}"


def _format_program(part: Json) -> str:
    """Return the name, kind and size of a program as text."""
    size = part["program"]
    counts = "" if size["rows"] is None else f", {size['rows']} rows, {size['columns']} columns"
    if size["evaluations"]:
        counts += f", {size['evaluations']} evaluations of functions"
    return f"{size['name']}: {size['kind']}{counts}"


def _attempt_lines(programs: Sequence[Json]) -> list[tuple[str, str]]:
    """Return pairs (heading, text), one for each program for which more than one solver was tried."""
    return [
        (
            "tried",
            ", ".join(
                f"{attempt['solver']} ({attempt['status']}, point {attempt['point']})" for attempt in part["attempts"]
            ),
        )
        for part in programs
        if len(part["attempts"]) > 1
    ]


def _format_certificate(certificate: Json | None) -> str:
    """Return the residuals of a certificate as text."""
    if certificate is None:
        return "none"
    return ", ".join(f"{name} {'?' if value is None else f'{value:.1e}'}" for name, value in certificate.items())


def _leaves(content: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, object]]:
    """Yield the numbers and texts of nested dictionaries with the path of their keys."""
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        elif value is not None and not isinstance(value, (list, tuple)):
            yield f"{prefix}{name}", value
