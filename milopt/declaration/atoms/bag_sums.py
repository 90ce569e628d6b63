"""Sums and means over the instances of each bag. They are linear, so they need no atom."""

from __future__ import annotations

import scipy.sparse as sp

from milopt.declaration.atoms.bag_argument import resolve_bags
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression


def bag_sum(expression: Expression, bags: Bags | None = None) -> Expression:
    """Return the sum of an expression over the instances of each bag, sum_{x in B_i} e_x.

    Parameters
    ----------
    expression : Expression
        Vector e with one entry per instance, such as f(bags).
    bags : Bags, default=None
        Bags that group the instances. None uses the bags at which the expression was evaluated.

    Returns
    -------
    Expression
        Vector with one entry per bag.

    Examples
    --------
    >>> import milopt
    >>> bags = milopt.as_bags([[[1.0], [2.0]], [[3.0]]])
    >>> program = milopt.Program("sums")
    >>> x = program.variable("x", 3, upper=[1.0, 2.0, 3.0])
    >>> program.maximize(milopt.bag_sum(x, bags).sum())
    >>> result = milopt.solve(program)
    >>> print(result.value(milopt.bag_sum(x, bags)).round(3))
    [3. 3.]
    """
    return sp.csr_array(resolve_bags(expression, bags, "bag_sum").membership.T) @ expression


def bag_mean(expression: Expression, bags: Bags | None = None) -> Expression:
    """Return the mean of an expression over the instances of each bag, 1/n_i sum_{x in B_i} e_x.

    Parameters
    ----------
    expression : Expression
        Vector e with one entry per instance, such as f(bags).
    bags : Bags, default=None
        Bags that group the instances. None uses the bags at which the expression was evaluated.

    Returns
    -------
    Expression
        Vector with one entry per bag.

    Examples
    --------
    >>> import milopt
    >>> bags = milopt.as_bags([[[1.0], [2.0]], [[3.0]]])
    >>> program = milopt.Program("means")
    >>> x = program.variable("x", 3, upper=[1.0, 2.0, 3.0])
    >>> program.maximize(milopt.bag_mean(x, bags).sum())
    >>> result = milopt.solve(program)
    >>> print(result.value(milopt.bag_mean(x, bags)).round(3))
    [1.5 3. ]
    """
    over = resolve_bags(expression, bags, "bag_mean")
    return sp.csr_array(sp.diags_array(1.0 / over.sizes) @ over.membership.T) @ expression
