"""The solvers, one a file; each takes flat programs and never mentions a model."""
