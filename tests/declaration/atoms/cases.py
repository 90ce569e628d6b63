"""Atoms of every kind, for every shape that the functions of milopt support."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from milopt.declaration.atoms import (
    Atom,
    absolute,
    bag_log_sum_exp,
    bag_max,
    bag_sum_largest,
    entropy,
    exp,
    geo_mean,
    group_norms,
    huber,
    inv_pos,
    log,
    log1mexp,
    log_sum_exp,
    logistic,
    maximum,
    minimum,
    norm,
    norm1,
    norm_inf,
    positive_part,
    quad_form,
    quad_over_lin,
    relative_entropy,
    sqrt,
    square,
    sum_largest,
    sum_squares,
)
from milopt.declaration.bags.bags import Bags, as_bags
from milopt.declaration.programs.expression import Expression
from milopt.declaration.programs.leaves import Variable

BAGS: Bags = as_bags([np.arange(2.0 * size).reshape(size, 2) for size in (1, 3, 2, 4)])
W = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]])


def variable(*shape: int) -> Variable:
    """Return an unbounded variable."""
    size = int(np.prod(shape))
    return Variable("x", shape, np.full(size, -np.inf), np.full(size, np.inf), False)


def atom_of(expression: Expression) -> Atom:
    """Return the atom of an expression that is an atom or a negated atom."""
    ((leaf, _),) = expression.terms
    assert isinstance(leaf, Atom)
    return leaf


CASES: dict[str, Callable[[], Expression]] = {
    "absolute": lambda: absolute(variable(3)),
    "absolute of a scalar": lambda: absolute(variable()),
    "norm_inf": lambda: norm_inf(variable(4)),
    "norm_inf of a scalar": lambda: norm_inf(variable()),
    "sum_largest": lambda: sum_largest(variable(5), 2),
    "sum_largest, one": lambda: sum_largest(variable(4), 1),
    "sum_largest, all": lambda: sum_largest(variable(3), 9),
    "bag_sum_largest": lambda: bag_sum_largest(variable(10), BAGS, 2),
    "huber": lambda: huber(variable(3)),
    "huber of a scalar": lambda: huber(variable(), 0.3),
    "logistic": lambda: logistic(variable(3)),
    "logistic of a scalar": lambda: logistic(variable()),
    "exp": lambda: exp(variable(3)),
    "log_sum_exp": lambda: log_sum_exp(variable(4)),
    "log_sum_exp of three": lambda: log_sum_exp(variable(3), 0.0, [1.0, 2.0, 3.0]),
    "log_sum_exp of two scalars": lambda: log_sum_exp(variable(), 1.0),
    "bag_log_sum_exp": lambda: bag_log_sum_exp(variable(10), BAGS, 0.5),
    "bag_log_sum_exp, hot": lambda: bag_log_sum_exp(variable(10), BAGS, T=9.0),
    "entropy": lambda: entropy(variable(3)),
    "entropy of a scalar": lambda: entropy(variable()),
    "relative_entropy": lambda: relative_entropy(variable(2), variable(2)),
    "relative_entropy of a scalar": lambda: relative_entropy(variable(), 2.0),
    "geo_mean": lambda: geo_mean(variable(3)),
    "geo_mean of a scalar": lambda: geo_mean(variable()),
    "geo_mean along an axis": lambda: geo_mean(variable(2, 2), axis=1),
    "log": lambda: log(variable(3)),
    "log of a scalar": lambda: log(variable()),
    "sqrt": lambda: sqrt(variable(3)),
    "sqrt of a scalar": lambda: sqrt(variable()),
    "inv_pos": lambda: inv_pos(variable(3)),
    "inv_pos of a scalar": lambda: inv_pos(variable()),
    "quad_over_lin": lambda: quad_over_lin(variable(3), variable()),
    "quad_over_lin of a scalar": lambda: quad_over_lin(variable(), 2.0),
    "max": lambda: variable(4).max(),
    "max along an axis": lambda: variable(2, 3).max(axis=1),
    "min": lambda: variable(4).min(),
    "norm along an axis": lambda: norm(variable(2, 3), axis=0),
    "norm1 along an axis": lambda: norm(variable(2, 3), 1, axis=1),
    "norm_inf along an axis": lambda: norm(variable(3, 2), np.inf, axis=1),
    "log_sum_exp along an axis": lambda: log_sum_exp(variable(2, 3), axis=1),
    "log1mexp": lambda: log1mexp(variable(3)),
    "log1mexp of a scalar": lambda: log1mexp(variable()),
    "norm": lambda: norm(variable(4)),
    "norm of a scalar": lambda: norm(variable()),
    "group_norms": lambda: group_norms(variable(6), [1, 3, 2]),
    "norm1": lambda: norm1(variable(4)),
    "sum_squares": lambda: sum_squares(variable(3)),
    "square": lambda: square(variable(3)),
    "quad_form": lambda: quad_form(variable(3), W),
    "quad_form, diagonal": lambda: quad_form(variable(3), [1.0, 0.0, 3.0]),
    "maximum": lambda: maximum(variable(3), 0.0, 1.0),
    "maximum of two scalars": lambda: maximum(variable(), 0.0),
    "minimum": lambda: minimum(variable(3), 0.5),
    "positive_part": lambda: positive_part(variable(3)),
    "bag_max": lambda: bag_max(variable(10), BAGS),
}
