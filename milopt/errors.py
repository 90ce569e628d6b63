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
    """Invalid bags or labels, such as empty or ragged bags, values that are not finite, or a wrong number of labels.

    Examples
    --------
    >>> import milopt
    >>> try:
    ...     milopt.as_bags([[[1.0, 2.0]], []])
    ... except milopt.errors.BagsError as error:
    ...     print(error)
    Bag 1 of bags is empty: leave it out, or give it at least one instance.
    """


class BagsTypeError(BagsError, TypeError):
    """Bags that contain objects which are not numbers.

    Examples
    --------
    >>> import milopt
    >>> try:
    ...     milopt.as_bags([[[{}]]])
    ... except milopt.errors.BagsTypeError as error:
    ...     print(isinstance(error, milopt.errors.BagsError), isinstance(error, TypeError))
    True True
    """


class DataError(MiloptError, ValueError):
    """Data file or frame that cannot be read; the message names the file and, if known, the line.

    Examples
    --------
    >>> import milopt
    >>> try:
    ...     milopt.read_program("program.txt")
    ... except milopt.errors.DataError as error:
    ...     print(error)
    program.txt: the name must end in .mps, .qps, .lp or .cbf, optionally followed by .gz.
    """


class ParameterError(MiloptError, ValueError):
    """Invalid value or type of a hyper-parameter, an option, an argument or a program parameter.

    Examples
    --------
    >>> import milopt
    >>> try:
    ...     milopt.RBF(s=-1.0)
    ... except milopt.errors.ParameterError as error:
    ...     print(error)
    s of RBF must be a positive number, "median", "4/median" or None (for 1/D), not -1.0.
    """


class DeclarationError(MiloptError, ValueError):
    """Invalid declaration of a program, such as a wrong name, shape or operation.

    Examples
    --------
    >>> import numpy as np
    >>> import milopt
    >>> x = milopt.Program("small").variable("x", 2)
    >>> try:
    ...     x + np.ones(3)
    ... except milopt.errors.DeclarationError as error:
    ...     print(error)
    Shapes (2,) and (3,) do not match (x and a constant).
    """


class ConvexityError(MiloptError):
    """Program that is not convex although the chosen solver or scheme requires convexity.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("outside the unit ball")
    >>> x = program.variable("x", 2)
    >>> program.minimize(x[0])
    >>> constraint = program.subject_to(milopt.norm(x) >= 1)
    >>> try:
    ...     milopt.solve(program, solver="clarabel", scheme="direct")
    ... except milopt.errors.ConvexityError as error:
    ...     print(error)
    'outside the unit ball' is a DC program: norm(x) is on its non-convex side and needs a minorant...
    """


class UnsupportedError(MiloptError):
    """Program, cone or operation that a solver, a scheme or milopt does not support.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("exponential")
    >>> x = program.variable("x", lower=0.0)
    >>> program.minimize(x)
    >>> constraint = program.subject_to(milopt.exp(x) <= 2)
    >>> try:
    ...     milopt.solve(program, solver="highs")
    ... except milopt.errors.UnsupportedError as error:
    ...     print(error)
    highs cannot solve 'exponential': the program is of kind exponential cone program...
    """


class UnknownNameError(MiloptError, LookupError):
    """Unknown name of a solver, model or block; the message lists similar names, or all known names.

    Examples
    --------
    >>> import milopt
    >>> try:
    ...     milopt.get_solver("highz")
    ... except milopt.errors.UnknownNameError as error:
    ...     print(error)
    No solver is called "highz"; did you mean "highs"?
    """


class ModelFileError(MiloptError, ValueError):
    """File of a model or Gram matrix that cannot be written, or that is not a readable saved model or Gram matrix.

    Examples
    --------
    >>> import milopt
    >>> try:
    ...     milopt.load_model("missing.milopt")
    ... except milopt.errors.ModelFileError as error:
    ...     print(error)
    The model file missing.milopt cannot be read: No such file or directory.
    """


class MissingSolverError(MiloptError):
    """Known solver that is not installed; the message gives the command that installs it.

    Examples
    --------
    >>> import milopt
    >>> error = milopt.errors.MissingSolverError('The solver "scip" is not installed: run `pip install pyscipopt`.')
    >>> error.exit_code
    4
    """

    exit_code = 4


class SolverError(MiloptError):
    """Failure of a solver on a program that it supports; the message contains the solver's own message.

    Examples
    --------
    >>> import milopt
    >>> error = milopt.errors.SolverError("highs raised RuntimeError: out of memory.")
    >>> error.exit_code
    3
    """

    exit_code = 3


class UncertifiedError(MiloptError):
    """Point without the certificate that the caller required.

    Examples
    --------
    >>> import milopt
    >>> program = milopt.Program("unbounded")
    >>> program.minimize(program.variable("x"))
    >>> result = milopt.solve(program, solver="clarabel")
    >>> try:
    ...     result.require_certified()
    ... except milopt.errors.UncertifiedError as error:
    ...     print(error)
    unbounded by clarabel: unbounded, point none...
    """

    exit_code = 3


class TimeLimitError(MiloptError, TimeoutError):
    """Time limit that was reached before the solver started, such as while kernel values were computed.

    Examples
    --------
    >>> import milopt
    >>> error = milopt.errors.TimeLimitError("The time limit was reached while kernel values were computed.")
    >>> isinstance(error, TimeoutError), error.exit_code
    (True, 3)
    """

    exit_code = 3


class MiloptWarning(UserWarning):
    """Warning about a problem that does not stop the computation.

    Examples
    --------
    >>> import warnings
    >>> import milopt
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", milopt.errors.MiloptWarning)
    ...     warnings.warn("The best point is kept.", milopt.errors.MiloptWarning, stacklevel=1)
    """


class PositiveLabelWarning(MiloptWarning):
    """Warning that the positive class was chosen by alphabetical order; the message explains how to choose it.

    Examples
    --------
    >>> import warnings
    >>> import milopt
    >>> bags = [[[2.0]], [[0.0]], [[3.0]], [[-1.0]]]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = milopt.models.MISVM().fit(bags, ["dog", "cat", "dog", "cat"])
    >>> print(caught[0].message)
    MISVM does not treat the two classes alike, and no positive class was named: 'dog' is used, ...
    """
