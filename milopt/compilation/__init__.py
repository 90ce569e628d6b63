"""Compilation of a declared program to an evaluation form, and from that to a primal or dual form for a solver."""
