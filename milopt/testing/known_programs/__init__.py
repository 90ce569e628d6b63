"""Programs with known answers, one module per kind; importing a module adds its programs to `KNOWN_PROGRAMS`."""

from milopt.testing.known_programs import combinatorial, conic, exponential, linear, quadratic
from milopt.testing.known_programs.known_program import KNOWN_PROGRAMS, Expected, KnownProgram

MODULES = (linear, quadratic, conic, exponential, combinatorial)

__all__ = ["KNOWN_PROGRAMS", "MODULES", "Expected", "KnownProgram"]
