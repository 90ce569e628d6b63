"""ECOS: linear programs with second-order and exponential cones."""
