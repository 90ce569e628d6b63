"""Bridges: rewrite a flat program for a solver that lacks a feature (`apply`), and map its answer back (`invert`)."""
