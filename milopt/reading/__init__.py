"""Readers of programs from MPS, LP and CBF files."""
