"""The command line `milopt`. Results go to stdout, progress to stderr; an error is one sentence.

Exit codes: 0 success, 1 crash, 2 wrong usage or bad input, 3 a point without certificate, 4 a solver is not installed,
130 Ctrl-C.
"""

from __future__ import annotations


def main() -> None:
    """Run the command that the arguments name, and exit with its exit code."""
    from milopt.cli.app import app

    app(prog_name="milopt")
