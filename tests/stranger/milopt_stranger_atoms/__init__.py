"""Two atoms of a third-party package: one with linear rows, one with exponential cones."""

from milopt_stranger_atoms.peak import peak
from milopt_stranger_atoms.softplus import softplus

__all__ = ["peak", "softplus"]
