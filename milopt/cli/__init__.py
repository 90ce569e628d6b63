"""The command line, `milopt`: results to stdout, progress to stderr, one sentence for every mistake.

Exit codes: 0 ok, 1 a crash, 2 usage or bad input, 3 a point without its certificate, 4 a missing solver, 130 Ctrl-C.
"""

from __future__ import annotations


def main() -> None:
    """Run the command that the arguments name; sets the exit code."""
    from milopt.cli.app import app

    app(prog_name="milopt")
