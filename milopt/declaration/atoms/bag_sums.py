"""Sums and means over bags. They are linear, so they are no atoms."""

from __future__ import annotations

import scipy.sparse as sp

from milopt.declaration.atoms.bag_argument import bags_of
from milopt.declaration.bags.bags import Bags
from milopt.declaration.programs.expression import Expression


def bag_sum(expression: Expression, bags: Bags | None = None) -> Expression:
    """Return (sum_{x in B_i} e_x)_i."""
    return sp.csr_array(bags_of(expression, bags, "bag_sum").membership.T) @ expression


def bag_mean(expression: Expression, bags: Bags | None = None) -> Expression:
    """Return (1/n_i sum_{x in B_i} e_x)_i."""
    over = bags_of(expression, bags, "bag_mean")
    return sp.csr_array(sp.diags_array(1.0 / over.sizes) @ over.membership.T) @ expression
