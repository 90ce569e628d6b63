"""Honest evaluation: what is chosen or fitted is chosen and fitted in the training part, and every task is kept."""
