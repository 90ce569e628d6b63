"""Kernels between instances and between bags, and what is computed from their values."""
