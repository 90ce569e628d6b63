"""Bags of instances, their labels and weights, and sliding windows."""
