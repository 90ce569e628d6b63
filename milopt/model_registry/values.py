"""Conversion of hyper-parameter values to text and back, without evaluating code.

    10   0.5   1e-3   inf   true   none   mean   "10"   (0.1, 1)   {-1: 1, 1: 5}
    rbf   rbf(s=0.1)   rbf(s=median)   rbf(s=4/median)   linear   polynomial(degree=2, gamma=1, coef0=1)
    nystrom(rbf(s=median), rank=100, landmarks=sample)   randomfourier(count=500)   kernelsum((linear, rbf(s=1)))
    dtw   dtw(s=0.1, band=3)   globalalignment(s=median, triangular=5)
    boxcounting(bins=50, rule=fast)   setkernel(kernel=rbf(s=median), normalise=feature)   minimax(power=2)
    options(time_limit=10)

Any other text is a string. Quotes make a string of a text that would otherwise be another value. `parse_value` reads
the texts that `format_value` returns, and gives an equal value.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import cast

import numpy as np

from milopt.errors import MiloptError, ParameterError
from milopt.estimator.kernel_parameters import KERNELS
from milopt.name_suggestions import quote, unknown_name_error
from milopt.solving.options import Options

_CONSTRUCTORS: Mapping[str, type] = {**KERNELS, "options": Options}
"""Classes that a text may construct, by their names in texts."""
_VALUES_OF_WORDS: Mapping[str, object] = {"none": None, "true": True, "false": False, "inf": math.inf, "nan": math.nan}
"""Values of the words that are not strings."""
_MAX_TEXT_LENGTH = 2000
"""Maximum number of characters of a text."""
_OPENING_CHARACTERS = ("(", "[", "{", '"', "'")
"""First characters of collections and quoted strings."""


class _NotAValueError(Exception):
    """Error for a text that is not a number, word, collection or constructor call; it may be a plain string."""


def parse_value(text: str) -> object:
    """Return the value of a text (see the module docstring); a text without another meaning is a string.

    Raise `ParameterError` if brackets or quotes do not match.
    """
    stripped = _strip_and_check_length(text)
    try:
        return _evaluate(_parse_syntax(stripped))
    except _NotAValueError:
        name, parenthesis, _ = stripped.partition("(")
        if stripped.startswith(_OPENING_CHARACTERS) or (parenthesis and name.strip().casefold() in _CONSTRUCTORS):
            raise _unreadable_error(stripped) from None
        return stripped


def parse_values(text: str) -> list[tuple[object, str]]:
    """Return the values in a text that are separated by commas, as pairs (value, its text)."""
    stripped = _strip_and_check_length(text)
    if not stripped:
        return []
    whole = f"({stripped},)"
    try:
        several = _parse_syntax(whole)
        if not isinstance(several, ast.Tuple):
            raise _NotAValueError
        return [(_evaluate(part), ast.get_source_segment(whole, part) or "") for part in several.elts]
    except _NotAValueError:
        raise _unreadable_error(whole) from None


def format_value(value: object) -> str:
    """Return a text from which `parse_value` makes an equal value."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float)):
        return "none" if value is None else repr(value).lower()
    if isinstance(value, str):
        return _format_text(value)
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(format_nested_value, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Mapping):
        pairs = (f"{format_nested_value(key)}: {format_nested_value(entry)}" for key, entry in value.items())
        return f"{{{', '.join(pairs)}}}"
    for name, constructor in _CONSTRUCTORS.items():
        if type(value) is constructor:
            return _format_call(name, value)
    raise ParameterError(
        f"{value!r} cannot be written as text: make it a default of a class in a file, and give path/file.py:Class."
    )


def format_nested_value(value: object) -> str:
    """Return the text of a value inside a collection: strings are quoted, except words and ratios such as 4/median."""
    if not isinstance(value, str):
        return format_value(value)
    try:
        is_plain = _evaluate(_parse_syntax(value)) == value
    except (_NotAValueError, MiloptError):
        is_plain = False
    return str(value) if is_plain else repr(str(value))


def _strip_and_check_length(text: str) -> str:
    """Remove surrounding spaces; raise `ParameterError` if the text is too long."""
    stripped = text.strip()
    if len(stripped) > _MAX_TEXT_LENGTH:
        raise ParameterError(f"A value of {len(stripped)} characters is too long: at most {_MAX_TEXT_LENGTH} are read.")
    return stripped


def _unreadable_error(text: str) -> ParameterError:
    """Return the error for a text with wrong brackets, quotes or commas."""
    return ParameterError(f"The value {text} cannot be read: check its brackets, quotes and commas.")


def _format_text(value: str) -> str:
    """Return the text of a string, in quotes if it would otherwise be read as another value."""
    try:
        plain = parse_value(value)
    except ParameterError:
        return repr(value)
    return value if isinstance(plain, str) and plain == value else repr(value)


def _format_call(name: str, value: object) -> str:
    """Return the text of a kernel or of options, with the arguments that differ from their defaults."""
    default = type(value)()
    arguments = [field.name for field in fields(_CONSTRUCTORS[name])]
    given = [
        argument
        for argument in arguments
        if isinstance(getattr(value, argument), np.ndarray) or getattr(value, argument) != getattr(default, argument)
    ]
    inside = ", ".join(f"{argument}={format_nested_value(getattr(value, argument))}" for argument in given)
    # The name of a kernel is sufficient. The name of another class without parentheses would be read as a string.
    return f"{name}({inside})" if inside or name not in KERNELS else name


def _parse_syntax(text: str) -> ast.expr:
    """Return the syntax tree of a text, which is never executed."""
    try:
        with warnings.catch_warnings():
            # Python warns about literals in place of names, but the text is not a program.
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _NotAValueError from None


def _evaluate(node: ast.expr) -> object:
    """Return the value of a syntax tree."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str, type(None))):
        return node.value
    if isinstance(node, ast.Name):
        return _evaluate_word(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = _evaluate(node.operand)
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise _NotAValueError
        return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _evaluate_ratio(node)
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_evaluate(part) for part in node.elts)
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [_evaluate(key) for key in node.keys if key is not None]
        if any(isinstance(key, (dict, tuple)) for key in keys):
            raise _NotAValueError
        return dict(zip(keys, map(_evaluate, node.values), strict=True))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.casefold() in _CONSTRUCTORS:
        return _call_constructor(node.func.id.casefold(), node)
    raise _NotAValueError


def _evaluate_word(word: str) -> object:
    """Return the value of a word: a constant, a kernel, or the word as a string."""
    folded = word.casefold()
    if folded in _VALUES_OF_WORDS:
        return _VALUES_OF_WORDS[folded]
    return KERNELS[folded]() if folded in KERNELS else word


def _evaluate_ratio(node: ast.BinOp) -> str:
    """Return a ratio of a number and a word, such as 4/median, as a string."""
    left, right = node.left, node.right
    if (
        not isinstance(left, ast.Constant)
        or not isinstance(left.value, (int, float))
        or not isinstance(right, ast.Name)
    ):
        raise _NotAValueError
    return f"{left.value!r}/{right.id}"


def _call_constructor(name: str, call: ast.Call) -> object:
    """Construct a kernel or options from arguments given by name or in order."""
    constructor = cast(Callable[..., object], _CONSTRUCTORS[name])
    known = [field.name for field in fields(_CONSTRUCTORS[name])]
    arguments: dict[str, object] = {}
    if len(call.args) > len(known):
        raise ParameterError(f"{name} has {len(known)} arguments ({', '.join(known) or 'none'}), not {len(call.args)}.")
    given = [*zip(known, call.args, strict=False), *((keyword.arg, keyword.value) for keyword in call.keywords)]
    for argument, node in given:
        if argument is None:
            raise _NotAValueError
        if argument not in known:
            raise unknown_name_error("argument", argument, known, f" in {name}")
        if argument in arguments:
            raise ParameterError(f"{name} is given {quote(argument)} twice.")
        arguments[argument] = _evaluate(node)
    return constructor(**arguments)
