"""Load a model class from a user's file, `path/file.py:Class`, without installing it."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType

from milopt.errors import DeclarationError, UnknownNameError
from milopt.name_suggestions import quote, unknown_name_error

_IMPORTED_FILE: ContextVar[Path | None] = ContextVar("_IMPORTED_FILE", default=None)
"""File that is being imported now; None if there is none."""


def check_not_importing() -> None:
    """Raise `ReentryError` if called while a file is imported for its model.

    Such a file runs work at import time, and the work would import the file again.
    """
    file = _IMPORTED_FILE.get()
    if file is not None:
        raise ReentryError(
            f'{file} starts a run while its model is imported: put the run under `if __name__ == "__main__":`.'
        )


class ReentryError(DeclarationError):
    """Error of a file that, while it is imported for its model, starts a run that imports the file again."""


def load_model_class(path: str, name: str) -> type:
    """Return the class `name` of a file. The file is executed again each time, so that edits take effect."""
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise UnknownNameError(f"There is no file {quote(path)}: the model is written as path/file.py:Class.")
    check_not_importing()
    module = _import_file(file)
    classes = [key for key, value in vars(module).items() if _is_defined_in(value, module)]
    if not name:
        raise UnknownNameError(f"No class of {path} was named: write {path}:Class, with {quote(*classes)}.")
    if not hasattr(module, name):
        raise unknown_name_error("class", name, classes, f" in {path}")
    loaded = getattr(module, name)
    if not isinstance(loaded, type):
        raise DeclarationError(f"{quote(name)} in {path} is not a class but of type {type(loaded).__name__}.")
    return loaded


def _import_file(file: Path) -> ModuleType:
    """Execute a file as a module and return the module."""
    from importlib.util import module_from_spec, spec_from_file_location
    from zlib import crc32

    # Two files with the same name must not share a module, and a file called `numpy.py` must not hide numpy.
    spec = spec_from_file_location(f"milopt_model_{file.stem}_{crc32(bytes(file)):08x}", file)
    if spec is None or spec.loader is None:
        raise DeclarationError(f"{file} is not a Python file.")
    module = module_from_spec(spec)
    # Dataclasses look up their module by name while they are created.
    sys.modules[spec.name] = module
    token = _IMPORTED_FILE.set(file)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        if isinstance(error, ReentryError):
            raise
        raise DeclarationError(
            f"{file} cannot be imported{_line_suffix(error, file)}: {_format_error(error)}."
        ) from error
    finally:
        _IMPORTED_FILE.reset(token)
    return module


def _line_suffix(error: BaseException, file: Path) -> str:
    """Return " (line N)" if the error was raised in the file, otherwise an empty text."""
    from traceback import extract_tb

    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
    if isinstance(error, SyntaxError) and error.filename == str(file):
        lines.append(error.lineno)
    return f" (line {lines[-1]})" if lines else ""


def _format_error(error: BaseException) -> str:
    """Return the type and the message of an error."""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {message}".rstrip(".: ")


def _is_defined_in(value: object, module: ModuleType) -> bool:
    """Return True if `value` is a class that is defined in `module`."""
    return isinstance(value, type) and value.__module__ == module.__name__
