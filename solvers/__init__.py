"""Solver adapters, one file or folder per solver. They get programs in standard form and do not depend on models."""
