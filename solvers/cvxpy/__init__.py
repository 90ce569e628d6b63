"""The solvers that cvxpy reaches."""
