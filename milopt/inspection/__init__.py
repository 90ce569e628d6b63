"""Inspection of programs: summaries, LaTeX, files, plots, and models of cvxpy and Pyomo."""
