"""Print per family the number of problems, their lines in milopt and in cvxpy, and which were rewritten."""

from __future__ import annotations

from tests.peers.problem import FAMILIES, Problem, problems


def main() -> None:
    """Print the table."""
    found = problems()
    print(f"{'family':14}{'problems':>9}{'milopt lines':>14}{'cvxpy lines':>13}{'rewritten':>11}")
    for family in (*FAMILIES, "all"):
        print(row(family, [problem for problem in found if family in (problem.family, "all")]))
    print()
    for problem in found:
        if problem.rewritten:
            print(f"rewritten: {problem.name} ({problem.source}): {problem.rewritten}")
    longer = [problem for problem in found if problem.lines[0] > problem.lines[1]]
    shorter = [problem for problem in found if problem.lines[0] < problem.lines[1]]
    equal = len(found) - len(longer) - len(shorter)
    print(f"\nlonger in milopt: {len(longer)}, shorter: {len(shorter)}, of equal length: {equal}")
    for problem in sorted(longer, key=lambda problem: problem.lines[1] - problem.lines[0]):
        print(f"  {problem.name}: {problem.lines[0]} lines against {problem.lines[1]}")


def row(family: str, some: list[Problem]) -> str:
    """Return one line of the table."""
    ours, theirs = (sum(problem.lines[which] for problem in some) for which in (0, 1))
    rewritten = sum(bool(problem.rewritten) for problem in some)
    return f"{family:14}{len(some):9}{ours:14}{theirs:13}{rewritten:11}"


if __name__ == "__main__":
    main()
