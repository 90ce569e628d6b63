"""Solve many programs over atoms and print a table of what the answers are worth, per atom.

python -m tests.atoms.run --count 2000 --seed 0 --jobs 2
python -m tests.atoms.run --count 500 --dc              atoms on their other side, by the convex-concave procedure
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
from functools import partial

from tests.atoms.grow import draw
from tests.atoms.grow_dc import draw_dc
from tests.atoms.judge import Judgement, Verdict, judged
from tests.atoms.judge_dc import judged_dc
from tests.atoms.kinds import KINDS
from tests.atoms.trees import shown

PORTION = 10
"""Programs that a process judges at a time."""


def judge_seeds(seeds: Sequence[int], solvers: list[str], dc: bool) -> list[Judgement]:
    """Judge the programs of some seeds."""
    found: list[Judgement] = []
    for seed in seeds:
        found += judged_dc(draw_dc(seed), solvers or None) if dc else judged(draw(seed), solvers or None)
    return found


def judge_all(seeds: range, solvers: list[str], dc: bool, jobs: int) -> Iterator[Judgement]:
    """Judge the programs of all seeds in a number of processes."""
    portions = [seeds[k : k + PORTION] for k in range(0, len(seeds), PORTION)]
    if jobs == 1:
        for portion in portions:
            yield from judge_seeds(portion, solvers, dc)
        return
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for some in pool.map(partial(judge_seeds, solvers=solvers, dc=dc), portions):
            yield from some


def table(judgements: Sequence[Judgement], dc: bool) -> str:
    """Count programs and verdicts per kind of atom: of all atoms, or of those on their other side in DC programs."""
    verdicts = [one for one in Verdict if any(j.verdict is one for j in judgements)]
    width = max(map(len, KINDS))
    lines = [" " * width + "  programs" + "".join(f"  {one.value}" for one in verdicts)]
    for name in [*KINDS, "all"]:
        mine = [j for j in judgements if name == "all" or name == j.focus or (not dc and name in j.kinds)]
        counts = Counter(j.verdict for j in mine)
        numbers = "".join(f"  {counts[one]:{len(one.value)}d}" for one in verdicts)
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
    parser.add_argument("--all", action="store_true", help="also print what is uncertified, refused or undecided")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the program of a seed and end")
    given = parser.parse_args()
    if given.show is not None:
        print(shown((draw_dc if given.dc else draw)(given.show)))
        return 0
    began, judgements = time.monotonic(), []
    seeds = range(given.seed, given.seed + given.count)
    for one in judge_all(seeds, [name for name in given.solvers.split(",") if name], given.dc, given.jobs):
        judgements.append(one)
        settled = one.verdict in (Verdict.EQUAL, Verdict.STATIONARY)
        if one.verdict.is_failure or (given.all and not settled):
            print(told(one), flush=True)
    print(table(judgements, given.dc))
    print(f"{len(judgements)} solves of {given.count} programs in {time.monotonic() - began:.0f} s")
    return 1 if any(one.verdict.is_failure for one in judgements) else 0


if __name__ == "__main__":
    sys.exit(main())
