"""The methods, one a file; each declares programs and never mentions a solver."""
