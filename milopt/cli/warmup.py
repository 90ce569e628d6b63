"""`milopt warmup`: compile all native code once, so that later commands do not wait for it."""

from __future__ import annotations

from functools import partial
from time import perf_counter

from milopt.cli.arguments import JsonOption, TableFormatOption
from milopt.cli.output import print_json
from milopt.cli.progress import ProgressLine, show_progress
from milopt.cli.tables import OutputFormat, print_listing


def warmup(as_json: JsonOption = False, table_format: TableFormatOption = OutputFormat.text) -> None:
    """Compile all native code, which is otherwise compiled at its first use (once per machine, about two minutes).

    The code is cached on disk: in the folder of milopt if it can be written to, otherwise in a folder of the user; set
    NUMBA_CACHE_DIR for another one.
    """
    from milopt.cli.native_code import NATIVE_PARTS, compile_part
    from milopt.jit import watch_compilation
    from milopt.jit_time import jit_seconds

    rows: list[dict[str, object]] = []
    with show_progress("compiling", total=len(NATIVE_PARTS), unit="parts") as line:
        for number, name in enumerate(NATIVE_PARTS):
            line.update(f"compiling {name}", done=number, total=len(NATIVE_PARTS))
            start, compiled = perf_counter(), jit_seconds()
            # A part may take half a minute, so that each of its functions is shown.
            with watch_compilation(partial(_show_function, line, name)):
                compile_part(name)
            compiling = jit_seconds() - compiled
            rows.append({"part": name, "compilation": compiling, "total": perf_counter() - start})
    if as_json:
        print_json({"parts": rows})
        return
    cells = [(str(row["part"]), f"{row['compilation']:.1f}", f"{row['total']:.1f}") for row in rows]
    heads = ("part", "seconds of compilation", "seconds")
    print_listing(heads, cells, [_summarise(rows)], table_format, right=heads[1:], values=rows)


def _show_function(line: ProgressLine, part: str, function: str) -> None:
    """Show the function of a part that is compiled."""
    line.update(f"compiling {part}: {function}")


def _summarise(rows: list[dict[str, object]]) -> str:
    """Return a sentence about how long the compilation took, or that there was none."""
    seconds = sum(float(str(row["compilation"])) for row in rows)
    if seconds < 0.1:
        return "All native code was compiled before."
    return f"All native code is compiled; that took {seconds:.0f} s."
