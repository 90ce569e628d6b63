"""Store of finished tasks: a directory with one JSON file per task, named by the digest of the task.

Files are written atomically. A file whose content does not match its name is ignored, and its task is run again.
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
from milopt.files import remove_stale_temporary_files, replace_atomically


class TaskStore:
    """Directory of finished tasks, which several runs may share."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).expanduser()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Write a test file: permissions do not show that a disk is full, or that the path is not a directory.
            with tempfile.TemporaryFile(dir=self.folder) as file:
                file.write(b" " * 1024)
                file.flush()
        except OSError as error:
            raise self._write_error(error) from error
        remove_stale_temporary_files(self.folder)

    def load(self, task: Task) -> Record | None:
        """Load the record of a finished task; None if the file is missing or, with a warning, if it is invalid."""
        file = self._path(task)
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            if content["task"] == task.content and content["sha256"] == _checksum(content["task"], content["record"]):
                return Record.from_dict(content["record"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            # The file may contain anything; the warning below is sufficient.
            pass
        warnings.warn(
            f"{file} does not contain the task of its name; the task is run again.", MiloptWarning, stacklevel=2
        )
        return None

    def save(self, task: Task, record: Record) -> None:
        """Write the record of a finished task; raise `ParameterError` if the file cannot be written."""
        plain = record.as_dict()
        content = {"task": task.content, "record": plain, "sha256": _checksum(task.content, plain)}
        text = json.dumps(content, indent=1, allow_nan=False)
        try:
            replace_atomically(self._path(task), lambda beside: beside.write_text(text, encoding="utf-8"))
        except OSError as error:
            raise self._write_error(error) from error

    def _write_error(self, error: OSError) -> ParameterError:
        """Return the error for a directory that cannot be written to."""
        return ParameterError(f"The results cannot be stored in {self.folder}: {error.strerror}.")

    def _path(self, task: Task) -> Path:
        """Return the path of the file of a task."""
        return self.folder / f"{task.key}.json"


def _checksum(task: Any, record: Any) -> str:
    """Return the SHA-256 checksum of a task and its record."""
    return hashlib.sha256(json.dumps([task, record], sort_keys=True).encode()).hexdigest()
