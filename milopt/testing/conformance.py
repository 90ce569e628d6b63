"""Cases of a conformance check: run all of them, accept stated exceptions, and raise one error about the rest.

A case is a named function that returns if its subject conforms and raises otherwise:

    CaseError       the subject does not do what the case asks for; an exception may cover it
    WrongAnswerError       the subject led to a wrong answer; no exception covers it
    NotApplicableError     the case does not concern the subject, with the reason

Any other exception that the subject raises is a failure as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from milopt.errors import MiloptWarning, ParameterError
from milopt.names import unknown


class CaseError(AssertionError):
    """The subject does not do what a case asks for; the message is one sentence."""


class WrongAnswerError(CaseError):
    """The subject led to a wrong answer, which no exception covers."""


class NotApplicableError(Exception):
    """A case does not concern the subject; the message is the reason."""


class ConformanceError(AssertionError):
    """A solver, scheme or model does not conform; the message has one line per failed case.

    Parameters
    ----------
    report : ConformanceReport
        All cases with their ends.
    """

    def __init__(self, report: ConformanceReport) -> None:
        super().__init__(str(report))
        self.report = report


@dataclass(frozen=True)
class Case:
    """One case of a check: `run` gets True if the case is among the stated exceptions."""

    name: str
    run: Callable[[bool], None]


@dataclass
class ConformanceReport:
    """The ends of all cases of a check, by name."""

    subject: str
    passed: list[str] = field(default_factory=list)
    excepted: dict[str, str] = field(default_factory=dict)
    """Cases that fail, and the reasons that were stated for it."""
    unneeded: dict[str, str] = field(default_factory=dict)
    """Stated exceptions whose case passes, or does not concern the subject."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Cases that do not concern the subject, and why."""
    failed: dict[str, str] = field(default_factory=dict)
    """Cases that fail, and what is wrong."""

    def __str__(self) -> str:
        counts = f"{len(self.passed)} cases passed, {len(self.failed)} failed, {len(self.excepted)} excepted"
        lines = [f"{self.subject}: {counts}, {len(self.left_out)} do not apply."]
        lines += [f"  {name}: {sentence}" for name, sentence in self.failed.items()]
        lines += [f"  excepted and passed: {name} ({reason})" for name, reason in self.unneeded.items()]
        return "\n".join(lines)


def run_cases(
    subject: str, cases: Sequence[Case], except_for: Mapping[str, str] | None, only: Collection[str] | None
) -> ConformanceReport:
    """Run cases; return the report if all pass or are excepted, and raise a ConformanceError otherwise."""
    exceptions = _checked_exceptions(except_for, cases)
    chosen = _chosen(only, cases)
    report = ConformanceReport(subject)
    for case in chosen:
        is_excepted = case.name in exceptions
        try:
            case.run(is_excepted)
        except NotApplicableError as reason:
            report.left_out[case.name] = str(reason)
        except WrongAnswerError as failure:
            told = " (no exception covers a wrong answer)" if is_excepted else ""
            report.failed[case.name] = f"{failure}{told}"
            continue
        except Exception as failure:
            # Whatever a stranger's code raises is a failure of its case, and must not hide the other cases.
            if is_excepted:
                report.excepted[case.name] = exceptions[case.name]
            else:
                report.failed[case.name] = _sentence(failure)
            continue
        else:
            report.passed.append(case.name)
        if is_excepted:
            report.unneeded[case.name] = exceptions[case.name]
    if report.failed:
        raise ConformanceError(report)
    if report.unneeded:
        names = ", ".join(repr(name) for name in report.unneeded)
        warnings.warn(f"{subject} passes {names}: no exception is needed.", MiloptWarning, stacklevel=3)
    return report


def require(condition: object, sentence: str) -> None:
    """Raise a CaseError unless a condition holds."""
    if not condition:
        raise CaseError(sentence)


def _sentence(failure: Exception) -> str:
    if isinstance(failure, CaseError):
        return str(failure)
    return f"it raised {type(failure).__name__}: {failure}"


def _checked_exceptions(except_for: object, cases: Sequence[Case]) -> Mapping[str, str]:
    """Return the stated exceptions; raise an error if one names no case or has no reason."""
    if except_for is None:
        return {}
    if not isinstance(except_for, Mapping):
        raise ParameterError(f"except_for maps names of cases to reasons, so it cannot be {except_for!r}.")
    for name, reason in except_for.items():
        _check_name(name, cases)
        if not isinstance(reason, str) or not reason.strip():
            raise ParameterError(f"The exception for {name!r} needs a reason in words, not {reason!r}.")
    return except_for


def _chosen(only: Collection[str] | None, cases: Sequence[Case]) -> Sequence[Case]:
    if only is None:
        return cases
    if isinstance(only, str):
        raise ParameterError(f"only takes a list of names of cases: write [{only!r}].")
    for name in only:
        _check_name(name, cases)
    return [case for case in cases if case.name in only]


def _check_name(name: object, cases: Sequence[Case]) -> None:
    known = [case.name for case in cases]
    if name not in known:
        raise unknown("case", str(name), known)
