"""Solve many programs over atoms and print a table of what the answers are worth, per atom.

python -m tests.atoms.run --count 2000 --seed 0 --jobs 2
python -m tests.atoms.run --count 500 --dc              atoms on their other side, by the convex-concave procedure
python -m tests.atoms.run --count 5000 --by-hand        the same beside a hand-written majorisation, step by step
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

from tests.atoms.grow import draw
from tests.atoms.grow_dc import draw_dc
from tests.atoms.judge import Judgement, Verdict, judged
from tests.atoms.judge_dc import judged_dc
from tests.atoms.kinds import KINDS
from tests.atoms.majorise import draw_strict, judged_by_hand
from tests.atoms.trees import Description, shown

PORTION = 10
"""Programs that a process judges at a time."""


class Trial(Enum):
    """What is drawn, and how the answers are judged."""

    CONVEX = "convex"
    DC = "dc"
    BY_HAND = "by-hand"

    def drawn(self, seed: int) -> Description:
        """Draw the program of a seed."""
        return {Trial.CONVEX: draw, Trial.DC: draw_dc, Trial.BY_HAND: draw_strict}[self](seed)

    def judged(self, description: Description, solvers: list[str] | None) -> Iterator[Judgement]:
        """Solve a program and judge the answers."""
        judge = {Trial.CONVEX: judged, Trial.DC: judged_dc, Trial.BY_HAND: judged_by_hand}[self]
        return judge(description, solvers)


def judge_seeds(seeds: Sequence[int], solvers: list[str], trial: Trial) -> list[Judgement]:
    """Judge the programs of some seeds."""
    return [one for seed in seeds for one in trial.judged(trial.drawn(seed), solvers or None)]


def judge_all(seeds: range, solvers: list[str], trial: Trial, jobs: int) -> Iterator[Judgement]:
    """Judge the programs of all seeds in a number of processes."""
    portions = [seeds[k : k + PORTION] for k in range(0, len(seeds), PORTION)]
    if jobs == 1:
        for portion in portions:
            yield from judge_seeds(portion, solvers, trial)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for some in pool.map(partial(judge_seeds, solvers=solvers, trial=trial), portions):
            yield from some


def table(judgements: Sequence[Judgement], trial: Trial) -> str:
    """Count programs and verdicts per kind of atom: of all atoms, or of those on their other side in DC programs."""
    verdicts = [one for one in Verdict if any(j.verdict is one for j in judgements)]
    width = max(map(len, KINDS))
    lines = [" " * width + "  programs" + "".join(f"  {one.value}" for one in verdicts)]
    if trial is Trial.BY_HAND:
        lines[0] += "  steps-compared"
    for name in [*KINDS, "all"]:
        mine = [
            j for j in judgements if name == "all" or name == j.focus or (trial is Trial.CONVEX and name in j.kinds)
        ]
        counts = Counter(j.verdict for j in mine)
        numbers = "".join(f"  {counts[one]:{len(one.value)}d}" for one in verdicts)
        if trial is Trial.BY_HAND:
            numbers += f"  {sum(j.steps for j in mine):14d}"
        lines.append(f"{name:{width}}  {len({j.seed for j in mine}):8d}{numbers}")
    return "\n".join(lines)


def told(one: Judgement) -> str:
    """Return one line for a judgement."""
    return f"{one.verdict.value}: seed {one.seed} ({one.focus}) by {one.solver}: {one.detail}"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first one")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--solvers", default="", help="solvers for every program, with commas; else those that take it")
    parser.add_argument("--dc", action="store_true", help="programs with an atom on its other side")
    parser.add_argument("--by-hand", action="store_true", help="the same beside a hand-written majorisation")
    parser.add_argument("--all", action="store_true", help="also print what is uncertified, refused or undecided")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the program of a seed and end")
    given = parser.parse_args()
    trial = Trial.BY_HAND if given.by_hand else Trial.DC if given.dc else Trial.CONVEX
    if given.show is not None:
        print(shown(trial.drawn(given.show)))
        return 0
    began, judgements = time.monotonic(), []
    seeds = range(given.seed, given.seed + given.count)
    for one in judge_all(seeds, [name for name in given.solvers.split(",") if name], trial, given.jobs):
        judgements.append(one)
        settled = one.verdict in (Verdict.EQUAL, Verdict.STATIONARY)
        if one.verdict.is_failure or (given.all and not settled):
            print(told(one), flush=True)
    print(table(judgements, trial))
    print(f"{len(judgements)} solves of {given.count} programs in {time.monotonic() - began:.0f} s")
    return 1 if any(one.verdict.is_failure for one in judgements) else 0


if __name__ == "__main__":
    sys.exit(main())
