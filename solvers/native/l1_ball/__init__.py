"""Weak learning over the ball of the 1-norm."""
