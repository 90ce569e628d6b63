"""Kernels between instances and between bags, and quantities computed from kernel values."""
