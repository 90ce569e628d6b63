"""Conformance checks for authors of atoms, models, schemes and solvers."""

from milopt.testing.atom_error import AtomError
from milopt.testing.atoms import check_atom
from milopt.testing.conformance import ConformanceError, ConformanceReport
from milopt.testing.models import check_model, model_case_names
from milopt.testing.schemes import check_scheme, scheme_case_names
from milopt.testing.solvers import check_solver, solver_case_names

__all__ = [
    "AtomError",
    "ConformanceError",
    "ConformanceReport",
    "check_atom",
    "check_model",
    "check_scheme",
    "check_solver",
    "model_case_names",
    "scheme_case_names",
    "solver_case_names",
]
