"""Exceptions of milopt: every user error raises a subclass of `MiloptError`.

`exit_code` is the exit code of the command line: 2 for bad input, 3 if the solver failed, the time limit was reached or
the point has no certificate, 4 for a solver that is not installed.
"""

from __future__ import annotations


class MiloptError(Exception):
    """Base class of all exceptions of milopt.

    The message states the problem, its place and a remedy.

    Attributes
    ----------
    exit_code : int
        Exit code of the command line for this error.

    Examples
    --------
    >>> import milopt
    >>> try:
    ...     milopt.RBF(s=-1.0)
    ... except milopt.MiloptError as error:
    ...     print(type(error).__name__, error.exit_code)
    ParameterError 2
    """

    exit_code = 2
    """Exit code of the command line for this error."""


class BagsError(MiloptError, ValueError):
    """Invalid bags or labels, such as empty or ragged bags, values that are not finite, or a wrong number of labels."""


class BagsTypeError(BagsError, TypeError):
    """Bags that contain objects which are not numbers."""


class DataError(MiloptError, ValueError):
    """Data file or frame that cannot be read; the message names the file and, if known, the line."""


class ParameterError(MiloptError, ValueError):
    """Invalid value or type of a hyper-parameter, an option, an argument or a program parameter."""


class DeclarationError(MiloptError, ValueError):
    """Invalid declaration of a program, such as a wrong name, shape or operation."""


class ConvexityError(MiloptError):
    """Program that is not convex although the chosen solver or scheme requires convexity."""


class UnsupportedError(MiloptError):
    """Program, cone or operation that a solver, a scheme or milopt does not support."""


class UnknownNameError(MiloptError, LookupError):
    """Unknown name of a solver, model or block; the message lists similar names, or all known names."""


class ModelFileError(MiloptError, ValueError):
    """File of a model or Gram matrix that cannot be written, or that is not a readable saved model or Gram matrix."""


class MissingSolverError(MiloptError):
    """Known solver that is not installed; the message gives the command that installs it."""

    exit_code = 4


class SolverError(MiloptError):
    """Failure of a solver on a program that it supports; the message contains the solver's own message."""

    exit_code = 3


class UncertifiedError(MiloptError):
    """Point without the certificate that the caller required."""

    exit_code = 3


class TimeLimitError(MiloptError, TimeoutError):
    """Time limit that was reached before the solver started, such as while kernel values were computed."""

    exit_code = 3


class MiloptWarning(UserWarning):
    """Warning about a problem that does not stop the computation."""


class PositiveLabelWarning(MiloptWarning):
    """Warning that the positive class was chosen by alphabetical order; the message explains how to choose it."""
