"""The JSON results of commands, recognised by their keys and read back into the objects that wrote them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from milopt.comparison.comparison import Comparison
from milopt.errors import DataError
from milopt.estimator.report import Report
from milopt.evaluation.ranking import Ranking
from milopt.evaluation.summary import EvaluationReport

Content: TypeAlias = Report | Comparison | EvaluationReport | Ranking
"""Result of a command."""

REQUIRED_KEYS: dict[type[Report] | type[Comparison] | type[EvaluationReport] | type[Ranking], frozenset[str]] = {
    Report: frozenset({"model", "programs", "certificate", "train_accuracy"}),
    Comparison: frozenset({"cells", "agreement"}),
    EvaluationReport: frozenset({"table", "records", "protocol"}),
    Ranking: frozenset({"models", "friedman", "critical_difference"}),
}
"""Keys by which the result of each command is recognised."""
COMMANDS_TEXT = "`milopt fit`, `compare`, `evaluate` or `rank` with --json"


@dataclass(frozen=True)
class Document:
    """Result of a command, with the file that it was read from and the command that wrote it."""

    source: str
    content: Content
    command: str
    versions: Mapping[str, str]


def read_documents(path: str | PathLike[str]) -> list[Document]:
    """Read the JSON result of a command from a file; raise `DataError` if the file is anything else.

    The result of `milopt evaluate` for several data sets has one document per data set.
    """
    name = str(path)
    try:
        plain = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise DataError(f"{name} is not JSON: give the output of {COMMANDS_TEXT}.") from None
    if isinstance(plain, dict) and isinstance(plain.get("evaluations"), list):
        return [as_document(each, name) for each in plain["evaluations"]]
    return [as_document(plain, name)]


def as_document(plain: object, source: str) -> Document:
    """Return the document of JSON data; raise `DataError` if the data is not the result of a command."""
    if isinstance(plain, dict):
        for cls, keys in REQUIRED_KEYS.items():
            if keys <= plain.keys():
                try:
                    return Document(source, cls.from_dict(plain), plain.get("command") or "", _versions(plain))
                except (LookupError, TypeError, ValueError, AttributeError) as error:
                    detail = " ".join(str(error).split()) or type(error).__name__
                    raise DataError(
                        f"{source} is not complete ({detail}): was it written by another version of milopt?"
                    ) from None
    raise DataError(f"{source} is not a result of milopt: give the output of {COMMANDS_TEXT}.")


def _versions(plain: Mapping[str, Any]) -> dict[str, str]:
    """Return the versions in the JSON data: of all packages, or of milopt only."""
    if "versions" in plain:
        return {str(name): str(version) for name, version in plain["versions"].items()}
    return {"milopt": str(plain["version"])} if "version" in plain else {}
