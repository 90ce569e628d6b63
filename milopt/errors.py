"""Exceptions of milopt: every user error raises a subclass of `MiloptError`.

`exit_code` is the exit code of the command line: 2 for bad input, 3 for a point without a certificate or a solver that
failed, 4 for a missing solver.
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
    """Exit code of the command line."""


class BagsError(MiloptError, ValueError):
    """Invalid bags or labels: empty, ragged, not finite, or of different lengths."""


class BagsTypeError(BagsError, TypeError):
    """Bags that contain objects which are not numbers."""


class DataError(MiloptError, ValueError):
    """Data file or frame that cannot be read; the message names the file and, if known, the line."""


class ParameterError(MiloptError, ValueError):
    """Hyper-parameter, option or program parameter out of its range."""


class DeclarationError(MiloptError, ValueError):
    """Invalid declaration of a program: a wrong name, shape or operation."""


class ConvexityError(MiloptError):
    """Program that is not convex although the chosen solver or scheme requires convexity."""


class UnsupportedError(MiloptError):
    """Program, cone or operation that a solver, a scheme or milopt does not support."""


class UnknownNameError(MiloptError, LookupError):
    """Unknown name of a solver, model or block; the message lists similar names, or all known names."""


class ModelFileError(MiloptError, ValueError):
    """Model that cannot be written, or file that is not a readable saved model."""


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
    """Time limit that was reached before a solver could start, such as in kernel values or a convexity test."""

    exit_code = 3


class MiloptWarning(UserWarning):
    """Warning about a problem that does not stop the computation."""


class PositiveLabelWarning(MiloptWarning):
    """Warning that the positive class was chosen by alphabetical order; the message explains how to choose it."""
