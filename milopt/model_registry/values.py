"""A hyper-parameter's value as text and back, without evaluating anything.

    10   0.5   1e-3   inf   true   none   mean   "10"   (0.1, 1)   {-1: 1, 1: 5}
    rbf   rbf(s=0.1)   rbf(s=median)   rbf(s=4/median)   linear   polynomial(degree=2, gamma=1, coef0=1)
    dtw   dtw(s=0.1, band=3)   globalalignment(s=median, triangular=5)
    boxcounting(bins=50, rule=fast)   setkernel(kernel=rbf(s=median), normalize=feature)   minimax(power=2)
    options(time_limit=10)

What is none of these is a string as it stands; quotes make a string of what would be something else. `spelled` gives
text from which `parse_value` makes an equal value.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import cast

import numpy as np

from milopt.bag_kernels.box_counting import BoxCounting
from milopt.bag_kernels.random_boxes import RandomBoxes
from milopt.bag_kernels.set_kernels import Minimax, SetKernel
from milopt.declaration.kernels.alignment import DTW, GlobalAlignment
from milopt.declaration.kernels.kernel import RBF, Linear, Polynomial
from milopt.errors import MiloptError, ParameterError
from milopt.names import quoted, unknown
from milopt.solving.options import Options

KERNELS: Mapping[str, type] = {
    kernel.__name__.casefold(): kernel
    for kernel in (RBF, Linear, Polynomial, DTW, GlobalAlignment, BoxCounting, RandomBoxes, SetKernel, Minimax)
}
_MAKERS: Mapping[str, type] = {**KERNELS, "options": Options}
_WORDS: Mapping[str, object] = {"none": None, "true": True, "false": False, "inf": math.inf, "nan": math.nan}
_LONGEST = 2000
_OPENING = ("(", "[", "{", '"', "'")


class _NotAValueError(Exception):
    """The text is no number, word, collection or maker: a plain string, unless it opens like one of these."""


def parse_value(text: str) -> object:
    """The value that a text stands for."""
    bare = _bare(text)
    try:
        return _value(_syntax(bare))
    except _NotAValueError:
        name, parenthesis, _ = bare.partition("(")
        if bare.startswith(_OPENING) or (parenthesis and name.strip().casefold() in _MAKERS):
            raise _unreadable(bare) from None
        return bare


def parse_values(text: str) -> list[tuple[object, str]]:
    """The values that a text separates by commas, each with its own text."""
    bare = _bare(text)
    if not bare:
        return []
    whole = f"({bare},)"
    try:
        several = _syntax(whole)
        if not isinstance(several, ast.Tuple):
            raise _NotAValueError
        return [(_value(one), ast.get_source_segment(whole, one) or "") for one in several.elts]
    except _NotAValueError:
        raise _unreadable(whole) from None


def spelled(value: object) -> str:
    """The text of a value: `parse_value` makes an equal one of it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float)):
        return "none" if value is None else repr(value).lower()
    if isinstance(value, str):
        return _spelled_text(value)
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(spelled_part, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, Mapping):
        pairs = (f"{spelled_part(key)}: {spelled_part(held)}" for key, held in value.items())
        return f"{{{', '.join(pairs)}}}"
    for name, maker in _MAKERS.items():
        if type(value) is maker:
            return _spelled_call(name, value)
    raise ParameterError(
        f"{value!r} has no text: give it as a default in a model class of a file, and name that as path/file.py:Class."
    )


def spelled_part(value: object) -> str:
    """The text of a value among others: strings are in quotes, but for words and ratios such as 4/median."""
    if not isinstance(value, str):
        return spelled(value)
    try:
        is_plain = _value(_syntax(value)) == value
    except (_NotAValueError, MiloptError):
        is_plain = False
    return str(value) if is_plain else repr(str(value))


def _bare(text: str) -> str:
    bare = text.strip()
    if len(bare) > _LONGEST:
        raise ParameterError(f"A value of {len(bare)} characters is too long: at most {_LONGEST} are read.")
    return bare


def _unreadable(text: str) -> ParameterError:
    return ParameterError(f"The value {text} cannot be read: look at its brackets, quotes and commas.")


def _spelled_text(value: str) -> str:
    try:
        plain = parse_value(value)
    except ParameterError:
        return repr(value)
    return value if isinstance(plain, str) and plain == value else repr(value)


def _spelled_call(name: str, value: object) -> str:
    default = type(value)()
    arguments = [field.name for field in fields(_MAKERS[name])]
    given = [argument for argument in arguments if getattr(value, argument) != getattr(default, argument)]
    inside = ", ".join(f"{argument}={spelled_part(getattr(value, argument))}" for argument in given)
    # Kernels are known by their name alone; other makers need their parentheses, or they would be strings.
    return f"{name}({inside})" if inside or name not in KERNELS else name


def _syntax(text: str) -> ast.expr:
    """The syntax tree of a text, which is looked at and never run."""
    try:
        with warnings.catch_warnings():
            # About literals that stand where a name is expected: the text is not a program.
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _NotAValueError from None


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str, type(None))):
        return node.value
    if isinstance(node, ast.Name):
        return _word(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        number = _value(node.operand)
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise _NotAValueError
        return -number if isinstance(node.op, ast.USub) else number
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _ratio(node)
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_value(part) for part in node.elts)
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [_value(key) for key in node.keys if key is not None]
        if any(isinstance(key, (dict, tuple)) for key in keys):
            raise _NotAValueError
        return dict(zip(keys, map(_value, node.values), strict=True))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.casefold() in _MAKERS:
        return _made(node.func.id.casefold(), node)
    raise _NotAValueError


def _word(word: str) -> object:
    folded = word.casefold()
    if folded in _WORDS:
        return _WORDS[folded]
    return KERNELS[folded]() if folded in KERNELS else word


def _ratio(node: ast.BinOp) -> str:
    """A number over a word, such as 4/median, which some fields take as text."""
    left, right = node.left, node.right
    if (
        not isinstance(left, ast.Constant)
        or not isinstance(left.value, (int, float))
        or not isinstance(right, ast.Name)
    ):
        raise _NotAValueError
    return f"{left.value!r}/{right.id}"


def _made(name: str, call: ast.Call) -> object:
    """A kernel or options from its arguments, by name or in order."""
    maker = cast(Callable[..., object], _MAKERS[name])
    known = [field.name for field in fields(_MAKERS[name])]
    arguments: dict[str, object] = {}
    if len(call.args) > len(known):
        raise ParameterError(
            f"{name} takes {len(known)} arguments ({', '.join(known) or 'none'}), not {len(call.args)}."
        )
    given = [*zip(known, call.args, strict=False), *((keyword.arg, keyword.value) for keyword in call.keywords)]
    for argument, node in given:
        if argument is None:
            raise _NotAValueError
        if argument not in known:
            raise unknown("argument", argument, known, f" in {name}")
        if argument in arguments:
            raise ParameterError(f"{name} is given {quoted(argument)} twice.")
        arguments[argument] = _value(node)
    return maker(**arguments)
