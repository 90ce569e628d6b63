"""Solve many random programs over atoms and print a table of verdicts on the answers, per kind of atom.

python -m tests.atoms.run --count 2000 --seed 0 --jobs 2
python -m tests.atoms.run --count 500 --dc              atoms on their other side, by the convex-concave procedure
python -m tests.atoms.run --count 5000 --by-hand        steps compared with a hand-written reference
python -m tests.atoms.run --seed 17 --count 1 --solvers clarabel,ecos
python -m tests.atoms.run --show 17                     the program of seed 17 as text
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from enum import Enum
from functools import partial

from tests.atoms.dc_sampling import draw_dc
from tests.atoms.judge import AtomJudgement, AtomVerdict, judge_program
from tests.atoms.judge_dc import judge_dc_program
from tests.atoms.kinds import KINDS
from tests.atoms.majorisation import draw_strict, judge_by_hand
from tests.atoms.sampling import draw
from tests.atoms.trees import TreeProgram, format_program

PROGRAMS_PER_TASK = 10
"""Number of programs that a process judges per task."""


class JudgingMode(Enum):
    """Kind of programs that are drawn, and the way in which their answers are judged."""

    CONVEX = "convex"
    DC = "dc"
    BY_HAND = "by-hand"

    def draw_program(self, seed: int) -> TreeProgram:
        """Draw the program of a seed."""
        return {JudgingMode.CONVEX: draw, JudgingMode.DC: draw_dc, JudgingMode.BY_HAND: draw_strict}[self](seed)

    def judge_program(self, description: TreeProgram, solvers: list[str] | None) -> Iterator[AtomJudgement]:
        """Solve a program and yield a judgement of each answer."""
        judge = {
            JudgingMode.CONVEX: judge_program,
            JudgingMode.DC: judge_dc_program,
            JudgingMode.BY_HAND: judge_by_hand,
        }[self]
        return judge(description, solvers)


def judge_seeds(seeds: Sequence[int], solvers: list[str], mode: JudgingMode) -> list[AtomJudgement]:
    """Judge the programs of some seeds."""
    return [judgement for seed in seeds for judgement in mode.judge_program(mode.draw_program(seed), solvers or None)]


def judge_all(seeds: range, solvers: list[str], mode: JudgingMode, jobs: int) -> Iterator[AtomJudgement]:
    """Judge the programs of all seeds in `jobs` processes."""
    portions = [seeds[k : k + PROGRAMS_PER_TASK] for k in range(0, len(seeds), PROGRAMS_PER_TASK)]
    if jobs == 1:
        for portion in portions:
            yield from judge_seeds(portion, solvers, mode)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for judgements in pool.map(partial(judge_seeds, solvers=solvers, mode=mode), portions):
            yield from judgements


def table(judgements: Sequence[AtomJudgement], mode: JudgingMode) -> str:
    """Return a table of programs and verdicts per kind of atom.

    A convex program counts for all of its atoms, and a DC program for the atom on its other side.
    """
    verdicts = [verdict for verdict in AtomVerdict if any(j.verdict is verdict for j in judgements)]
    width = max(map(len, KINDS))
    lines = [" " * width + "  programs" + "".join(f"  {verdict.value}" for verdict in verdicts)]
    if mode is JudgingMode.BY_HAND:
        lines[0] += "  steps-compared"
    for name in [*KINDS, "all"]:
        mine = [
            j
            for j in judgements
            if name == "all" or name == j.focus or (mode is JudgingMode.CONVEX and name in j.kinds)
        ]
        counts = Counter(j.verdict for j in mine)
        numbers = "".join(f"  {counts[verdict]:{len(verdict.value)}d}" for verdict in verdicts)
        if mode is JudgingMode.BY_HAND:
            numbers += f"  {sum(j.steps for j in mine):14d}"
        lines.append(f"{name:{width}}  {len({j.seed for j in mine}):8d}{numbers}")
    return "\n".join(lines)


def format_judgement(judgement: AtomJudgement) -> str:
    """Return a judgement as one line of text."""
    program = f"seed {judgement.seed} ({judgement.focus})"
    return f"{judgement.verdict.value}: {program} by {judgement.solver}: {judgement.detail}"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="number of programs")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--solvers", default="", help="comma-separated solvers; by default all that support a program")
    parser.add_argument("--dc", action="store_true", help="programs with an atom on its other side")
    parser.add_argument("--by-hand", action="store_true", help="compare the steps with a hand-written reference")
    parser.add_argument("--all", action="store_true", help="also print uncertified, refused and undecided answers")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the program of a seed and exit")
    arguments = parser.parse_args()
    mode = JudgingMode.BY_HAND if arguments.by_hand else JudgingMode.DC if arguments.dc else JudgingMode.CONVEX
    if arguments.show is not None:
        print(format_program(mode.draw_program(arguments.show)))
        return 0
    start_time, judgements = time.monotonic(), []
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    for judgement in judge_all(seeds, [name for name in arguments.solvers.split(",") if name], mode, arguments.jobs):
        judgements.append(judgement)
        is_settled = judgement.verdict in (AtomVerdict.EQUAL, AtomVerdict.STATIONARY)
        if judgement.verdict.is_failure or (arguments.all and not is_settled):
            print(format_judgement(judgement), flush=True)
    print(table(judgements, mode))
    print(f"{len(judgements)} solves of {arguments.count} programs in {time.monotonic() - start_time:.0f} s")
    return 1 if any(judgement.verdict.is_failure for judgement in judgements) else 0


if __name__ == "__main__":
    sys.exit(main())
