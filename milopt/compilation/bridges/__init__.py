"""Bridges between a program in standard form and a solver that lacks a feature.

The function `apply` rewrites the program, and `invert` maps the solver's answer back.
"""
