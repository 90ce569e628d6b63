"""Ctrl-C in worker processes."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

START_WORKERS = """
import signal
from joblib.externals.loky.process_executor import ProcessPoolExecutor
from milopt.evaluation.interrupt import block_interrupts_in_children

def blocked_signals():
    return sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, set())))

if __name__ == "__main__":
    with block_interrupts_in_children():
        workers = ProcessPoolExecutor(2)
        futures = [workers.submit(blocked_signals) for _ in range(4)]
    print([future.result() for future in futures], blocked_signals())
"""


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="this system has no signal masks")
def test_ctrl_c_is_blocked_in_workers_from_their_start_and_not_in_the_parent(tmp_path) -> None:
    # In a process of its own: the first worker of a process starts the resource trackers, which unblock signals.
    script = tmp_path / "workers.py"
    script.write_text(START_WORKERS)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{[[int(signal.SIGINT)]] * 4} []"
