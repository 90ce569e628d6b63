"""Bags of instances, their labels, and windows of series as bags."""
