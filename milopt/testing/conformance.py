"""Framework of conformance checks: run all cases, accept stated exceptions, and raise one error for other failures.

The subject is the solver, scheme or model that is checked.

A case is a named function that returns if its subject conforms and raises otherwise:

    CaseError              the subject does not do what the case requires; the author may state an exception for this
    WrongAnswerError       the subject led to a wrong answer; no stated exception covers a wrong answer
    NotApplicableError     the case does not apply to the subject, with the reason

Any other Python exception that the subject raises is a failure as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from milopt.errors import MiloptWarning, ParameterError
from milopt.name_suggestions import unknown_name_error


class CaseError(AssertionError):
    """Error for a subject that does not do what a case requires; the message is one sentence."""


class WrongAnswerError(CaseError):
    """Error for a wrong answer, which no stated exception covers."""


class NotApplicableError(Exception):
    """Signal that a case does not apply to the subject; the message is the reason."""


class ConformanceError(AssertionError):
    """Error for a solver, scheme or model that does not conform; the message has one line per failed case.

    Parameters
    ----------
    report : ConformanceReport
        Outcomes of all cases.
    """

    def __init__(self, report: ConformanceReport) -> None:
        super().__init__(str(report))
        self.report = report


@dataclass(frozen=True)
class ConformanceCase:
    """One case of a check: its name and the function that runs it.

    `run` is called with True if the case is among the stated exceptions, so that it may use a shorter time limit. Most
    cases ignore this argument, `is_excepted`.
    """

    name: str
    run: Callable[[bool], None]


@dataclass
class ConformanceReport:
    """Outcomes of all cases of a check.

    Attributes
    ----------
    subject : str
        Name of the solver, scheme or model.
    passed : list of str
        Cases that passed.
    excepted : dict of str to str
        Cases that fail, with the reason that was stated in `except_for`.
    unneeded : dict of str to str
        Stated exceptions whose case passes or does not apply.
    left_out : dict of str to str
        Cases that do not apply to the subject, with the reason.
    failed : dict of str to str
        Cases that fail, with the problem.
    """

    subject: str
    passed: list[str] = field(default_factory=list)
    excepted: dict[str, str] = field(default_factory=dict)
    unneeded: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        counts = f"{len(self.passed)} cases passed, {len(self.failed)} failed, {len(self.excepted)} excepted"
        lines = [f"{self.subject}: {counts}, {len(self.left_out)} do not apply."]
        lines += [f"  {name}: {sentence}" for name, sentence in self.failed.items()]
        lines += [f"  excepted and passed: {name} ({reason})" for name, reason in self.unneeded.items()]
        return "\n".join(lines)


def run_cases(
    subject: str, cases: Sequence[ConformanceCase], except_for: Mapping[str, str] | None, only: Collection[str] | None
) -> ConformanceReport:
    """Run the cases; return a report if no case fails, otherwise raise a ConformanceError.

    `except_for` maps the names of cases that may fail (the stated exceptions) to reasons; a warning is given if such a
    case passes or does not apply. `only` are the names of the cases to run, or None for all.
    """
    exceptions = _check_exceptions(except_for, cases)
    chosen = _select_cases(only, cases)
    report = ConformanceReport(subject)
    for case in chosen:
        is_excepted = case.name in exceptions
        try:
            case.run(is_excepted)
        except NotApplicableError as reason:
            report.left_out[case.name] = str(reason)
        except WrongAnswerError as failure:
            note = " (no exception covers a wrong answer)" if is_excepted else ""
            report.failed[case.name] = f"{failure}{note}"
            continue
        except Exception as failure:
            # Any exception of the subject's code is a failure of its case and must not hide the other cases.
            if is_excepted:
                report.excepted[case.name] = exceptions[case.name]
            else:
                report.failed[case.name] = _failure_message(failure)
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
    """Raise a CaseError with the sentence unless the condition holds."""
    if not condition:
        raise CaseError(sentence)


def _failure_message(failure: Exception) -> str:
    """Return the message of a failure; if it is not a `CaseError`, the type of the exception is added."""
    if isinstance(failure, CaseError):
        return str(failure)
    return f"it raised {type(failure).__name__}: {failure}"


def _check_exceptions(except_for: object, cases: Sequence[ConformanceCase]) -> Mapping[str, str]:
    """Return the stated exceptions, {} for None; raise an error if a name is not that of a case or has no reason."""
    if except_for is None:
        return {}
    if not isinstance(except_for, Mapping):
        raise ParameterError(f"except_for must map names of cases to reasons; it is {except_for!r}.")
    for name, reason in except_for.items():
        _check_case_name(name, cases)
        if not isinstance(reason, str) or not reason.strip():
            raise ParameterError(f"The exception for {name!r} needs a reason as text, not {reason!r}.")
    return except_for


def _select_cases(only: Collection[str] | None, cases: Sequence[ConformanceCase]) -> Sequence[ConformanceCase]:
    """Return the cases with the names `only`, or all cases if `only` is None."""
    if only is None:
        return cases
    if isinstance(only, str):
        raise ParameterError(f"only must be a list of names of cases: write [{only!r}].")
    for name in only:
        _check_case_name(name, cases)
    return [case for case in cases if case.name in only]


def _check_case_name(name: object, cases: Sequence[ConformanceCase]) -> None:
    """Raise an error if there is no case of this name."""
    known = [case.name for case in cases]
    if name not in known:
        raise unknown_name_error("case", str(name), known)
