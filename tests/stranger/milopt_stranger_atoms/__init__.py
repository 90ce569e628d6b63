"""Two atoms of a package that milopt does not know: one without cones, one with exponential cones."""

from milopt_stranger_atoms.peak import peak
from milopt_stranger_atoms.softplus import softplus

__all__ = ["peak", "softplus"]
