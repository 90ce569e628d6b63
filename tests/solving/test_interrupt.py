"""Ctrl-C while compiled code runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from milopt.interrupt import CallEnd, call_on_interrupt, run_interruptible

LEFT_BEHIND = """
import os, signal, threading
from milopt.interrupt import run_interruptible

signal.signal(signal.SIGINT, signal.default_int_handler)

left = threading.Event()

def deaf():
    os.kill(os.getpid(), signal.SIGINT)
    left.wait()
    os.write(1, b"ended\\n")

print(run_interruptible(deaf, lambda: None, patience=0.1).name, flush=True)
later = threading.Timer(0.5, left.set)
later.daemon = True
later.start()
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process of its own")
def test_the_process_waits_for_a_call_that_was_abandoned() -> None:
    """Compiled code that calls back into a finalised interpreter would abort the process."""
    done = subprocess.run([sys.executable, "-c", LEFT_BEHIND], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["ABANDONED", "ended"]


def test_nested_interrupt_handlers_are_all_called_and_the_original_handler_is_restored() -> None:
    seen: list[str] = []
    with call_on_interrupt(lambda: seen.append("outer")):
        with call_on_interrupt(lambda: seen.append("inner")):
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert seen == ["inner", "outer", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_call_in_a_thread_is_stopped_inside_noted_interrupt() -> None:
    seen: list[str] = []
    stop = threading.Event()
    with call_on_interrupt(lambda: seen.append("noted")):
        ended = run_interruptible(lambda: os.kill(os.getpid(), signal.SIGINT) or stop.wait(60), stop.set, patience=60.0)
        assert (ended, seen) == (CallEnd.STOPPED, ["noted"])
        signal.raise_signal(signal.SIGINT)
    assert seen == ["noted", "noted"]


def test_a_handler_of_other_code_is_not_replaced() -> None:
    seen: list[str] = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append("theirs"))
    try:
        with call_on_interrupt(lambda: seen.append("ours")):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert seen == ["theirs"]
