"""Ctrl-C while compiled code runs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

LEFT_BEHIND = """
import os, signal, threading, time
from milopt.solving.interrupt import run_interruptible

signal.signal(signal.SIGINT, signal.default_int_handler)

def deaf():
    time.sleep(1.5)
    os.write(1, b"ended\\n")

threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
print(run_interruptible(deaf, lambda: None, patience=0.1).name, flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process of its own")
def test_the_process_does_not_end_before_a_call_that_was_left_behind() -> None:
    """Compiled code that asks a dead interpreter whether to stop would abort it."""
    done = subprocess.run([sys.executable, "-c", LEFT_BEHIND], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["ABANDONED", "ended"]
