"""Solvers, engines, sessions, and the registry that finds them."""
