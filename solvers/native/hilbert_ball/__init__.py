"""Weak learning over the ball of a kernel's space, by minimum-norm points."""
