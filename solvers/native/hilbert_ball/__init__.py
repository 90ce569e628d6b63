"""Weak learning over a ball of a kernel's space, by minimum-norm points."""
