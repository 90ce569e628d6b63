"""Programs with known answers, one module per kind; importing a module adds its programs to `KNOWN_PROGRAMS`."""

from milopt.testing.known_programs import combinatorial, conic, exponential, linear, quadratic
from milopt.testing.known_programs.known_program import KNOWN_PROGRAMS, KnownProgram, ProgramWithAnswer

PROGRAM_MODULES = (linear, quadratic, conic, exponential, combinatorial)
"""Modules whose import fills `KNOWN_PROGRAMS`."""

__all__ = ["KNOWN_PROGRAMS", "PROGRAM_MODULES", "KnownProgram", "ProgramWithAnswer"]
