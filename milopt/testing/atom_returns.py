"""Check of the signatures of an atom's members and of the types that they return."""

from __future__ import annotations

import inspect

import numpy as np

from milopt.declaration.atoms.atom import Atom
from milopt.declaration.atoms.membership import Membership
from milopt.declaration.programs.expression import Expression, Shape
from milopt.testing.atom_error import fail
from milopt.testing.atom_samples import AtomSamples
from milopt.testing.epigraph_program import new_variable
from milopt.testing.plain_notation import PlainNotation


def check_returns(atom: Atom, seed: int) -> None:
    """Call every member of an atom once; raise an error if a signature or the type or shape of a result is wrong."""
    at, samples = atom.segments, AtomSamples(atom, seed)
    runs, entries = (at.count,), (at.entry_count,)
    point = samples.random_point(0)
    _require_array(atom, "nearest", _call_member(atom, "nearest", point, at), entries)
    e = samples.point_in_domain(0)
    _require_array(atom, "value", _call_member(atom, "value", e, at), runs)
    if not isinstance(finite := _call_member(atom, "has_finite_slopes", e, e, at), (bool, np.bool_)):
        fail(atom, f"has_finite_slopes must return True or False, not {_describe_type(finite)}.")
    _require_array(atom, "slopes", _call_member(atom, "slopes", samples.point_with_slopes(0), at), entries)
    pair = _call_member(atom, "conjugate", point, at)
    if not isinstance(pair, tuple) or len(pair) != 2:
        fail(atom, f"conjugate must return a pair (slopes, constants) of arrays, not {_describe_type(pair)}.")
    _require_array(atom, "conjugate", pair[0], entries, "as the first of the pair ")
    _require_array(atom, "conjugate", pair[1], runs, "as the second of the pair ")
    _require_array(atom, "monotone", _call_member(atom, "monotone", e, e + 1.0, at), entries)
    _require_array(atom, "least", _call_member(atom, "least", e, e + 1.0, at), runs)
    _require_array(atom, "greatest", _call_member(atom, "greatest", e, e + 1.0, at), runs)
    if (weight := _call_member(atom, "quadratic", np.ones(at.count))) is not None:
        is_matrix = isinstance(weight, np.ndarray) and weight.ndim == 2
        _require_array(atom, "quadratic", weight, entries * 2 if is_matrix else entries)
    text = _call_member(atom, "latex", "" if atom.shape == () else "i", PlainNotation(atom.argument.shape == ()))
    if not isinstance(text, str):
        fail(atom, f"latex must return a text, not {_describe_type(text)}.")
    if not text.strip():
        fail(atom, "latex returns an empty text.")
    t, argument = new_variable("t", at.count), new_variable("e", at.entry_count)
    _check_memberships(atom, _call_member(atom, "epigraph", t, argument, at, new_variable))


def _check_memberships(atom: Atom, memberships: object) -> None:
    """Raise an error unless `epigraph` returns a list of memberships of expressions."""
    if not isinstance(memberships, (list, tuple)):
        fail(atom, f"epigraph must return a list of memberships, not {_describe_type(memberships)}.")
    for entry in memberships:
        if not isinstance(entry, Membership):
            fail(atom, f"epigraph must return a list of memberships; the list contains {_describe_type(entry)}.")
        if not isinstance(entry.rows, Expression):
            fail(
                atom,
                f"the rows of the membership {entry.name!r} must be an expression, not {_describe_type(entry.rows)}.",
            )


def _call_member(atom: Atom, name: str, *arguments: object) -> object:
    """Return the result of calling a member, or raise an error if its signature does not accept the arguments."""
    member = getattr(atom, name)
    try:
        inspect.signature(member).bind(*arguments)
    except TypeError:
        names = ", ".join(inspect.signature(getattr(Atom, name)).parameters)
        given = ", ".join(inspect.signature(getattr(type(atom), name)).parameters)
        fail(atom, f"{name} must have the signature {name}({names}), not {name}({given}).")
    return member(*arguments)


def _require_array(atom: Atom, name: str, result: object, shape: Shape, position: str = "") -> None:
    """Raise an error unless the result of a member is an array of real numbers with this shape.

    `position` names the part of a pair for the error, such as "as the first of the pair ".
    """
    if not isinstance(result, np.ndarray) or result.dtype.kind not in "biuf" or result.shape != shape:
        fail(atom, f"{name} must return {position}an array of numbers of shape {shape}, not {_describe_type(result)}.")


def _describe_type(result: object) -> str:
    """Describe the type of a wrong result for a message."""
    if result is None:
        return "None"
    if isinstance(result, np.ndarray):
        return f"an array of {result.dtype} of shape {result.shape}"
    if isinstance(result, tuple):
        return f"a tuple of {len(result)}"
    return f"an object of type {type(result).__name__}"
