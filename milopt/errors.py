"""The one exception tree: every mistake a person can make ends in a `MiloptError` of one sentence.

`exit_code` is what the command line returns for it: 2 bad input, 3 an uncertified point or a solver that failed, 4 a
missing solver.
"""

from __future__ import annotations


class MiloptError(Exception):
    """Root of the tree; the message says what is wrong, where, and what to do."""

    exit_code = 2


class BagsError(MiloptError, ValueError):
    """The data are not bags: empty, ragged, not finite, or not matching their labels."""


class BagsTypeError(BagsError, TypeError):
    """The data hold things that are no numbers at all."""


class DataError(MiloptError, ValueError):
    """A data file or frame cannot be read; the message gives the file and, where there is one, the line."""


class ParameterError(MiloptError, ValueError):
    """A hyper-parameter, option or program parameter is out of its range."""


class DeclarationError(MiloptError, ValueError):
    """A program was declared wrongly: names, shapes, or operations an expression does not have."""


class ConvexityError(MiloptError):
    """The program is not convex where the chosen route needs it to be."""


class UnsupportedError(MiloptError):
    """The solver does not take this kind of program; the message says who could."""


class UnknownNameError(MiloptError, LookupError):
    """No solver, model or block has this name; the message gives the near names."""


class ModelFileError(MiloptError, ValueError):
    """A saved model cannot be written, or a file is not one that can be read."""


class MissingSolverError(MiloptError):
    """The solver is known but not installed; the message gives the command that installs it."""

    exit_code = 4


class SolverError(MiloptError):
    """A solver failed on a program that it takes; the message has the words of the solver."""

    exit_code = 3


class UncertifiedError(MiloptError):
    """The point does not carry the certificate that was promised."""

    exit_code = 3


class TimeLimitError(MiloptError, TimeoutError):
    """The time limit passed before there was a program to solve."""

    exit_code = 3


class MiloptWarning(UserWarning):
    """Something a person should know, and that does not stop the work."""


class PositiveLabelWarning(MiloptWarning):
    """Alphabetical order chose the positive class; the message gives the class and how to choose."""
