"""Kernels between bags: sums of instance kernels, and the number of boxes that meet both bags."""
