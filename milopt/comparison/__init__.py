"""The same problem, formulation by formulation and solver by solver."""
