"""Solvers, engines, sessions, and the registry of solvers."""
