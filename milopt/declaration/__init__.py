"""What a model author writes with: bags, kernels, variables, functions, atoms, programs."""
