"""Equality-constrained quadratic programs in closed form."""
