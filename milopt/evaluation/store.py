"""Finished tasks kept in a folder, one small JSON file a task, named by all that decides its outcome.

A file appears whole or not at all. One that does not hold what its name says is not trusted: the task is done again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

from milopt.errors import MiloptWarning, ParameterError
from milopt.evaluation.record import Record
from milopt.evaluation.task import Task
from milopt.files import remove_leftovers, replace_whole


class Store:
    """A folder of finished tasks; several runs may share it."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Tried rather than asked: permissions do not tell of a full disk, or of a folder that is none.
            with tempfile.TemporaryFile(dir=self.folder) as file:
                file.write(b" " * 1024)
                file.flush()
        except OSError as error:
            raise self._refused(error) from error
        remove_leftovers(self.folder)

    def get(self, task: Task) -> Record | None:
        """The record of a task that was finished before."""
        file = self._file(task)
        try:
            held = json.loads(file.read_text(encoding="utf-8"))
            if held["task"] == task.content and held["sha256"] == _checksum(held["task"], held["record"]):
                return Record.from_dict(held["record"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            # Whatever a file may hold instead: the warning says enough.
            pass
        warnings.warn(
            f"{file} does not hold the task that it is named for; the task is done again.", MiloptWarning, stacklevel=2
        )
        return None

    def keep(self, task: Task, record: Record) -> None:
        """Write the record of a finished task."""
        plain = record.as_dict()
        held = {"task": task.content, "record": plain, "sha256": _checksum(task.content, plain)}
        text = json.dumps(held, indent=1, allow_nan=False)
        try:
            replace_whole(self._file(task), lambda beside: beside.write_text(text, encoding="utf-8"))
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> ParameterError:
        return ParameterError(f"The results cannot be kept in {self.folder}: {error.strerror}.")

    def _file(self, task: Task) -> Path:
        return self.folder / f"{task.key}.json"


def _checksum(task: Any, record: Any) -> str:
    return hashlib.sha256(json.dumps([task, record], sort_keys=True).encode()).hexdigest()
