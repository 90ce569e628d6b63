"""Kernels between bags: sums over instances, and the number of boxes that meet both bags."""
