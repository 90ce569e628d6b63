"""Weak learning over a ball of the 1-norm, by matrix games."""
