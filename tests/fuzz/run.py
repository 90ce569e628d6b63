"""Solve many random programs and print a table of verdicts on the answers.

python -m tests.fuzz.run --count 10000 --seed 0 --jobs 1
python -m tests.fuzz.run --seed 17 --count 1 --solvers highs,clarabel
python -m tests.fuzz.run --show 17                      the program of seed 17 as a script
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from queue import Empty, Queue

from tests.fuzz.as_script import script
from tests.fuzz.draw import draw
from tests.fuzz.judge import FuzzJudgement, FuzzVerdict

ROOT = Path(__file__).resolve().parents[2]
WALL_SECONDS = 60.0
"""Seconds after which a solve counts as a hang; the programs have only a few variables."""
START_SECONDS = 600.0
"""Seconds that a process may take to start and to compile the algorithms of `native`."""


class Worker:
    """Process of `tests.fuzz.worker`, which is restarted after a hang or a crash of the interpreter."""

    def __init__(self, wall: float) -> None:
        self.wall = wall
        self._process: subprocess.Popen[str] | None = None
        self._lines: Queue[str | None] = Queue()

    def judge(self, seed: int, solver: str, theme: str) -> list[FuzzJudgement]:
        """Return the judgements of the program of a seed by one solver."""
        process = self._running()
        assert process.stdin is not None
        process.stdin.write(f"{seed} {solver}\n")
        process.stdin.flush()
        judgements: list[FuzzJudgement] = []
        while True:
            line = self._line(self.wall)
            if line == "":
                self.close()
                return [
                    *judgements,
                    FuzzJudgement(
                        seed, theme, solver, FuzzVerdict.HANG, f"no answer in {self.wall:g} s", len(judgements)
                    ),
                ]
            if line is None:
                self.close()
                return [
                    *judgements,
                    FuzzJudgement(seed, theme, solver, FuzzVerdict.CRASH, "the interpreter ended", len(judgements)),
                ]
            answer = json.loads(line)
            if answer is None:
                return judgements
            verdict, detail, solve = answer
            judgements.append(FuzzJudgement(seed, theme, solver, FuzzVerdict(verdict), detail, solve))

    def _line(self, wall: float) -> str | None:
        """Return the next line of output: empty if there is none in time, None if the process has ended."""
        try:
            return self._lines.get(timeout=wall)
        except Empty:
            return ""

    def close(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _running(self) -> subprocess.Popen[str]:
        """Return the process, and start it if necessary."""
        if self._process is None:
            path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker"],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            self._lines = Queue()
            threading.Thread(target=_read, args=(self._process, self._lines), daemon=True).start()
            if not self._line(START_SECONDS):
                raise RuntimeError("The process that judges programs does not start: run python -m tests.fuzz.worker.")
        return self._process


def _read(process: subprocess.Popen[str], lines: Queue[str | None]) -> None:
    """Put the lines of output of a process into a queue, followed by None."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def fuzz(
    seeds: Iterable[int],
    solvers: Sequence[str] = (),
    themes: Sequence[str] = (),
    wall: float = WALL_SECONDS,
    jobs: int = 1,
) -> Iterator[FuzzJudgement]:
    """Yield the judgements of the programs of seeds, by `solvers` or by the solvers drawn for each program."""
    tasks: Queue[tuple[int, str, str]] = Queue()
    for seed in seeds:
        description = draw(seed)
        if not themes or description.theme in themes:
            for solver in solvers or description.solvers:
                tasks.put((seed, solver, description.theme))
    results: Queue[list[FuzzJudgement] | Exception | None] = Queue()

    def work() -> None:
        worker = Worker(wall)
        try:
            while True:
                try:
                    seed, solver, theme = tasks.get_nowait()
                except Empty:
                    return
                results.put(worker.judge(seed, solver, theme))
        except Exception as error:
            # The main thread raises the error again.
            results.put(error)
        finally:
            worker.close()
            results.put(None)

    for _ in range(jobs):
        threading.Thread(target=work, daemon=True).start()
    ended_threads = 0
    while ended_threads < jobs:
        result = results.get()
        if isinstance(result, Exception):
            raise result
        if result is None:
            ended_threads += 1
        else:
            yield from result


def table(judgements: Sequence[FuzzJudgement]) -> str:
    """Return a table of the number of verdicts per theme."""
    themes = sorted({j.theme for j in judgements})
    verdicts = [verdict for verdict in FuzzVerdict if any(j.verdict is verdict for j in judgements)]
    counts = Counter((j.theme, j.verdict) for j in judgements)
    width = max([len("all"), *map(len, themes)])
    lines = [" " * width + "".join(f"  {verdict.value}" for verdict in verdicts)]
    for theme in [*themes, "all"]:
        numbers = [
            sum(n for (t, v), n in counts.items() if v is verdict and theme in (t, "all")) for verdict in verdicts
        ]
        lines.append(
            theme.ljust(width) + "".join(f"  {n:{len(v.value)}d}" for v, n in zip(verdicts, numbers, strict=True))
        )
    return "\n".join(lines)


def format_judgement(judgement: FuzzJudgement) -> str:
    """Return a judgement as one line of text."""
    solve = f", solve {judgement.solve}" if judgement.solve else ""
    program = f"seed {judgement.seed} ({judgement.theme}{solve})"
    return f"{judgement.verdict.value}: {program} by {judgement.solver}: {judgement.detail}"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="number of programs")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument(
        "--solvers", default="", help="comma-separated solvers; by default those drawn for each program"
    )
    parser.add_argument("--themes", default="", help="comma-separated themes; by default all")
    parser.add_argument("--wall", type=float, default=WALL_SECONDS, help="seconds after which a solve counts as a hang")
    parser.add_argument("--all", action="store_true", help="also print uncertified and undecided answers")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the program of a seed as a script and exit")
    arguments = parser.parse_args()
    solvers = [name for name in arguments.solvers.split(",") if name]
    if arguments.show is not None:
        description = draw(arguments.show)
        print(f"# theme {description.theme}; drawn for {', '.join(description.solvers)}")
        print(script(description, (solvers or description.solvers)[0]), end="")
        return 0
    start_time, judgements = time.monotonic(), []
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    themes = [name for name in arguments.themes.split(",") if name]
    for judgement in fuzz(seeds, solvers, themes, arguments.wall, arguments.jobs):
        judgements.append(judgement)
        is_open = judgement.verdict in (FuzzVerdict.UNCERTIFIED, FuzzVerdict.UNDECIDED)
        if judgement.verdict.is_failure or (arguments.all and is_open):
            print(format_judgement(judgement), flush=True)
    print(table(judgements))
    print(f"{len(judgements)} solves of {arguments.count} programs in {time.monotonic() - start_time:.0f} s")
    has_failed = any(judgement.verdict.is_failure for judgement in judgements)
    if has_failed:
        print(
            "To reproduce a failure: python -m tests.fuzz.run --show SEED --solvers SOLVER > case.py && python case.py"
        )
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
