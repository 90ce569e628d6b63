"""Solver adapters, one file or folder per solver. They receive flat programs and do not depend on models."""
