"""Compilation of a declared program: evaluation form, primal or dual form, standard form."""
