"""Bags, kernels, variables, functions, atoms and programs: everything that is needed to declare a model."""
