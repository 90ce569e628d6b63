"""Solvers that are called through cvxpy."""
