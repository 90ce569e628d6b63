"""Atoms, with one module per atom, and the functions that create them, such as `norm` and `bag_max`."""

from milopt.declaration.atoms.absolute import absolute, norm_inf
from milopt.declaration.atoms.atom import Atom, RadialAtom, SelectionAtom
from milopt.declaration.atoms.bag_sums import bag_mean, bag_sum
from milopt.declaration.atoms.entropy import entropy
from milopt.declaration.atoms.exp import exp
from milopt.declaration.atoms.geo_mean import geo_mean
from milopt.declaration.atoms.huber import huber
from milopt.declaration.atoms.inv_pos import inv_pos
from milopt.declaration.atoms.log import log
from milopt.declaration.atoms.log1mexp import log1mexp
from milopt.declaration.atoms.log_sum_exp import bag_log_sum_exp, log_sum_exp
from milopt.declaration.atoms.logistic import logistic
from milopt.declaration.atoms.maximum import bag_max, maximum, minimum, positive_part
from milopt.declaration.atoms.norm import group_norms, norm
from milopt.declaration.atoms.norm1 import norm1
from milopt.declaration.atoms.quad_form import quad_form
from milopt.declaration.atoms.quad_over_lin import quad_over_lin
from milopt.declaration.atoms.relative_entropy import relative_entropy
from milopt.declaration.atoms.sqrt import sqrt
from milopt.declaration.atoms.sum_largest import bag_sum_largest, sum_largest
from milopt.declaration.atoms.sum_squares import square, sum_squares

__all__ = [
    "Atom",
    "RadialAtom",
    "SelectionAtom",
    "absolute",
    "bag_log_sum_exp",
    "bag_max",
    "bag_mean",
    "bag_sum",
    "bag_sum_largest",
    "entropy",
    "exp",
    "geo_mean",
    "group_norms",
    "huber",
    "inv_pos",
    "log",
    "log1mexp",
    "log_sum_exp",
    "logistic",
    "maximum",
    "minimum",
    "norm",
    "norm1",
    "norm_inf",
    "positive_part",
    "quad_form",
    "quad_over_lin",
    "relative_entropy",
    "sqrt",
    "square",
    "sum_largest",
    "sum_squares",
]
