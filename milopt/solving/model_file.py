"""A model class from a person's own file, `path/file.py:Class`, imported without being installed."""

from __future__ import annotations

import sys
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType

from milopt.errors import DeclarationError, UnknownNameError
from milopt.names import quoted, unknown

_RUNNING: ContextVar[Path | None] = ContextVar("_RUNNING", default=None)
"""The file that is being imported."""


def refuse_amid_import() -> None:
    """Say so where a file that is imported for its model sets to work itself: it would do so again and again."""
    file = _RUNNING.get()
    if file is not None:
        raise ReentryError(
            f'{file} sets to work while its model is imported: put the work under `if __name__ == "__main__":`.'
        )


class ReentryError(DeclarationError):
    """A file that is imported for its model starts what imports it."""


def load(path: str, name: str) -> type:
    """The class `name` of the file; the file runs afresh each time, so that an edit is seen."""
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        raise UnknownNameError(f"There is no file {quoted(path)}: the model is written as path/file.py:Class.")
    refuse_amid_import()
    module = _run(file)
    classes = [key for key, value in vars(module).items() if _defined_here(value, module)]
    if not name:
        raise UnknownNameError(f"No class of {path} was named: write {path}:Class, with {quoted(*classes)}.")
    if not hasattr(module, name):
        raise unknown("class", name, classes, f" in {path}")
    found = getattr(module, name)
    if not isinstance(found, type):
        raise DeclarationError(f"{quoted(name)} in {path} is not a class but of type {type(found).__name__}.")
    return found


def _run(file: Path) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location
    from zlib import crc32

    # Two files of one stem must not share a module, and a file called `numpy.py` must not hide numpy.
    spec = spec_from_file_location(f"milopt_model_{file.stem}_{crc32(bytes(file)):08x}", file)
    if spec is None or spec.loader is None:
        raise DeclarationError(f"{file} is not a Python file.")
    module = module_from_spec(spec)
    # Dataclasses look their module up by name while they are being made.
    sys.modules[spec.name] = module
    token = _RUNNING.set(file)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        if isinstance(error, ReentryError):
            raise
        raise DeclarationError(f"{file} cannot be imported{_line(error, file)}: {_sentence(error)}.") from error
    finally:
        _RUNNING.reset(token)
    return module


def _line(error: BaseException, file: Path) -> str:
    """Where in the file it went wrong, when it was there."""
    from traceback import extract_tb

    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
    if isinstance(error, SyntaxError) and error.filename == str(file):
        lines.append(error.lineno)
    return f" (line {lines[-1]})" if lines else ""


def _sentence(error: BaseException) -> str:
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {said}".rstrip(".: ")


def _defined_here(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and value.__module__ == module.__name__
