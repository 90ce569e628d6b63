"""Optimisation models of multiple-instance learning: declare once, solve anywhere, proved."""

__version__ = "0.1.0"
