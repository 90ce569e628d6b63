"""Solve many random programs and print a table of what the answers are worth.

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
from tests.fuzz.judge import Judgement, Verdict

ROOT = Path(__file__).resolve().parents[2]
WALL_SECONDS = 60.0
"""How long a program of a handful of variables may take before it counts as a hang."""
START_SECONDS = 600.0
"""How long a process may take to start and to compile what `native` needs."""


class Worker:
    """A process of `tests.fuzz.worker`, started again after a hang or a crash of the interpreter."""

    def __init__(self, wall: float) -> None:
        self.wall = wall
        self._process: subprocess.Popen[str] | None = None
        self._lines: Queue[str | None] = Queue()

    def judge(self, seed: int, solver: str, theme: str) -> list[Judgement]:
        """Judge one program by one solver."""
        process = self._running()
        assert process.stdin is not None
        process.stdin.write(f"{seed} {solver}\n")
        process.stdin.flush()
        found: list[Judgement] = []
        while True:
            line = self._line(self.wall)
            if line == "":
                self.close()
                return [
                    *found,
                    Judgement(seed, theme, solver, Verdict.HANG, f"no answer in {self.wall:g} s", len(found)),
                ]
            if line is None:
                self.close()
                return [*found, Judgement(seed, theme, solver, Verdict.CRASH, "the interpreter ended", len(found))]
            answer = json.loads(line)
            if answer is None:
                return found
            verdict, detail, solve = answer
            found.append(Judgement(seed, theme, solver, Verdict(verdict), detail, solve))

    def _line(self, wall: float) -> str | None:
        """The next line: empty if there is none in time, None if the process has ended."""
        try:
            return self._lines.get(timeout=wall)
        except Empty:
            return ""

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _running(self) -> subprocess.Popen[str]:
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
) -> Iterator[Judgement]:
    """Judge the programs of seeds, each by the solvers drawn for it or by those given."""
    tasks: Queue[tuple[int, str, str]] = Queue()
    for seed in seeds:
        description = draw(seed)
        if not themes or description.theme in themes:
            for solver in solvers or description.solvers:
                tasks.put((seed, solver, description.theme))
    found: Queue[list[Judgement] | Exception | None] = Queue()

    def work() -> None:
        worker = Worker(wall)
        try:
            while True:
                try:
                    seed, solver, theme = tasks.get_nowait()
                except Empty:
                    return
                found.put(worker.judge(seed, solver, theme))
        except Exception as error:
            # Raised again in the thread that waits for judgements.
            found.put(error)
        finally:
            worker.close()
            found.put(None)

    for _ in range(jobs):
        threading.Thread(target=work, daemon=True).start()
    ended = 0
    while ended < jobs:
        some = found.get()
        if isinstance(some, Exception):
            raise some
        if some is None:
            ended += 1
        else:
            yield from some


def table(judgements: Sequence[Judgement]) -> str:
    """Count the verdicts by theme."""
    themes = sorted({one.theme for one in judgements})
    verdicts = [one for one in Verdict if any(j.verdict is one for j in judgements)]
    counts = Counter((one.theme, one.verdict) for one in judgements)
    width = max([len("all"), *map(len, themes)])
    lines = [" " * width + "".join(f"  {one.value}" for one in verdicts)]
    for theme in [*themes, "all"]:
        numbers = [sum(n for (t, v), n in counts.items() if v is one and theme in (t, "all")) for one in verdicts]
        lines.append(
            theme.ljust(width) + "".join(f"  {n:{len(one.value)}d}" for one, n in zip(verdicts, numbers, strict=True))
        )
    return "\n".join(lines)


def told(one: Judgement) -> str:
    """One line for a judgement."""
    which = f", solve {one.solve}" if one.solve else ""
    return f"{one.verdict.value}: seed {one.seed} ({one.theme}{which}) by {one.solver}: {one.detail}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--solvers", default="", help="solvers for every program, with commas; else as drawn")
    parser.add_argument("--themes", default="", help="only programs of these themes, with commas")
    parser.add_argument("--wall", type=float, default=WALL_SECONDS, help="seconds after which a solve is a hang")
    parser.add_argument("--all", action="store_true", help="tell what is uncertified or undecided too")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the program of a seed as a script and end")
    given = parser.parse_args()
    solvers = [name for name in given.solvers.split(",") if name]
    if given.show is not None:
        description = draw(given.show)
        print(f"# theme {description.theme}; drawn for {', '.join(description.solvers)}")
        print(script(description, (solvers or description.solvers)[0]), end="")
        return 0
    began, judgements = time.monotonic(), []
    seeds = range(given.seed, given.seed + given.count)
    themes = [name for name in given.themes.split(",") if name]
    for one in fuzz(seeds, solvers, themes, given.wall, given.jobs):
        judgements.append(one)
        if one.verdict.is_failure or (given.all and one.verdict in (Verdict.UNCERTIFIED, Verdict.UNDECIDED)):
            print(told(one), flush=True)
    print(table(judgements))
    print(f"{len(judgements)} solves of {given.count} programs in {time.monotonic() - began:.0f} s")
    failures = [one for one in judgements if one.verdict.is_failure]
    if failures:
        print("To reproduce one: python -m tests.fuzz.run --show SEED --solvers SOLVER > case.py && python case.py")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
