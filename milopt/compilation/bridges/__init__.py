"""Bridges: transformations of programs in standard form, for solvers that lack a feature or need a better scaling.

In each module, `apply` transforms the program, and `invert` maps the solver's answer back.
"""
