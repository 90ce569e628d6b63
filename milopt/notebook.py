"""Whether the program runs in a notebook, and a line of progress in the output of its cell."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import Any, Self, TextIO

from milopt.html import element

MIN_SECONDS_BETWEEN_UPDATES = 0.2
"""Time between two updates of a line of progress, so that a fast loop does not flood the notebook."""


def is_notebook() -> bool:
    """Return True if the program runs in a cell of a Jupyter notebook; IPython is not imported for that."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_shell is not None and hasattr(get_shell(), "kernel")


def is_stream_watched(stream: TextIO) -> bool:
    """Return True if someone reads a stream while the program runs: it is a terminal, or belongs to a notebook."""
    return stream.isatty() or is_notebook()


class NotebookProgress:
    """Line of progress below a cell of a notebook, which is cleared at the end; elsewhere, nothing is shown.

    Use it as a context manager, and call `update` with the number of finished items.

    Parameters
    ----------
    text : str
        What the program does, such as "comparing on musk1".
    unit : str
        Name of the items that are counted, in the plural.

    Examples
    --------
    >>> from milopt.notebook import NotebookProgress
    >>> with NotebookProgress("fitting", "folds") as line:
    ...     line.update(1, 10)
    """

    def __init__(self, text: str, unit: str) -> None:
        self._text, self._unit = text, unit
        self._handle: Any = None
        self._last_update = -MIN_SECONDS_BETWEEN_UPDATES
        self._start = monotonic()

    def __enter__(self) -> Self:
        if is_notebook():
            from IPython.display import display

            self._handle = display(self._render_line(f"{self._text} ..."), raw=True, display_id=True)
        return self

    def update(self, done: int, total: int) -> None:
        """Show how many items are finished; updates in quick succession are left out, except the last one."""
        now = monotonic()
        if self._handle is None or (now - self._last_update < MIN_SECONDS_BETWEEN_UPDATES and done < total):
            return
        self._last_update = now
        elapsed = now - self._start
        left = f", about {elapsed * (total - done) / done:.0f} s left" if 0 < done < total else ""
        text = f"{self._text}: {done} of {total} {self._unit} in {elapsed:.0f} s{left}"
        self._handle.update(self._render_line(text, done, total), raw=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            self._handle.update({"text/plain": ""}, raw=True)

    @staticmethod
    def _render_line(text: str, done: int | None = None, total: int = 1) -> dict[str, str]:
        """Return the line as text, and as HTML with a bar if `done` is not None."""
        bar = [] if done is None else [element("progress", value=str(done), max=str(total)), " "]
        return {"text/plain": text, "text/html": element("div", *bar, text)}
