"""Checks for the authors of extensions: an atom that passes `check_atom` keeps the promises that milopt relies on."""

from milopt.testing.atom_error import AtomError
from milopt.testing.atoms import check_atom

__all__ = ["AtomError", "check_atom"]
