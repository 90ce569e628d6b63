"""Compiled functions: who waits for the first one is told why, once."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numba
import pytest

from milopt.compiled import Notice


@pytest.mark.parametrize(
    ("module", "is_terminal", "lines"),
    [("milopt.solvers.some", True, 1), ("milopt.solvers.some", False, 0), ("mine", True, 0)],
)
def test_at_a_terminal_the_first_compilation_is_told_once(module, is_terminal, lines, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    notice, function = Notice(), lambda x: x
    function.__module__ = module
    for _ in range(2):
        notice.on_start(SimpleNamespace(data={"dispatcher": numba.njit(function)}))
    assert capsys.readouterr().err.count("compiling native algorithms, once") == lines
