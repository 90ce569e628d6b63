"""Table of peer problems per family: number of problems, lines in milopt and cvxpy, rewritten problems.

`documented` counts the problems on a page of another project, `known` those whose page states the answer, `derived`
those whose answer numpy and scipy compute from the same data.
"""

from __future__ import annotations

from tests.peers.problem import FAMILIES, PeerProblem, problems


def main() -> None:
    """Print the table."""
    all_problems = problems()
    widths = {
        "family": -14,
        "problems": 9,
        "documented": 12,
        "known": 7,
        "derived": 9,
        "milopt": 8,
        "cvxpy": 7,
        "rewritten": 11,
    }
    print("".join(name.rjust(width) if width > 0 else name.ljust(-width) for name, width in widths.items()))
    for family in (*FAMILIES, "all"):
        print(row(family, [problem for problem in all_problems if family in (problem.family, "all")]))
    documented = [problem for problem in all_problems if problem.is_documented]
    answered = sum(problem.has_answer for problem in documented)
    print(f"\nanswers known without milopt and cvxpy: {answered} of {len(documented)} documented problems\n")
    for problem in all_problems:
        if problem.rewritten:
            print(f"rewritten: {problem.name} ({problem.source}): {problem.rewritten}")
    longer = [problem for problem in all_problems if problem.lines[0] > problem.lines[1]]
    shorter = [problem for problem in all_problems if problem.lines[0] < problem.lines[1]]
    equal = len(all_problems) - len(longer) - len(shorter)
    print(f"\nlonger in milopt: {len(longer)}, shorter: {len(shorter)}, of equal length: {equal}")
    for problem in (problem for problem in longer if problem.lines[0] > problem.lines[1] + 2):
        print(f"  {problem.name}: {problem.lines[0]} lines against {problem.lines[1]}")


def row(family: str, some: list[PeerProblem]) -> str:
    """Return one line of the table."""
    ours, theirs = (sum(problem.lines[which] for problem in some) for which in (0, 1))
    rewritten = sum(bool(problem.rewritten) for problem in some)
    documented, known = sum(problem.is_documented for problem in some), sum(bool(problem.known) for problem in some)
    derived = sum(problem.derived is not None for problem in some)
    return f"{family:14}{len(some):9}{documented:12}{known:7}{derived:9}{ours:8}{theirs:7}{rewritten:11}"


if __name__ == "__main__":
    main()
