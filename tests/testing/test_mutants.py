"""Every mutated epigraph is rejected by check_atom, or has the same minimal t as the original one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from milopt.declaration.atoms import Atom
from milopt.testing import AtomError, check_atom
from milopt.testing.atom_samples import AtomSamples
from milopt.testing.epigraph_program import EpigraphProgram
from tests.declaration.atoms.cases import CASES, atom_of

from .mutants import mutants

POINTS = 40
LARGEST_STEEPNESS = 1e6
"""Slopes above this value, such as those of 1 / e at 1e-4, are too steep for the accuracy of the solver."""


def is_harmless(mutant: Atom) -> bool:
    """Return True if the minimal t of the mutant is the value at points that check_atom did not test."""
    samples, at = AtomSamples(mutant, 1000), mutant.segments
    program = EpigraphProgram(mutant, at)
    for number in range(POINTS):
        e = samples.point_with_slopes(number)
        steepness = 1.0 + np.abs(mutant.slopes(e, at)).max()
        if steepness > LARGEST_STEEPNESS:
            continue
        least, value = program.minimise(e, np.ones(at.count)), mutant.value(e, at)
        if isinstance(least, str) or not np.allclose(least.t, value, rtol=1e-5, atol=1e-5 * steepness):
            return False
    return True


@pytest.mark.thorough(unless={"name": [name for name in CASES if "along an axis" not in name]})
@pytest.mark.parametrize("name", CASES)
def test_every_broken_epigraph_is_found_or_harmless(name: str) -> None:
    verdicts = {mutation: verdict(mutant) for mutation, mutant in mutants(atom_of(CASES[name]()), seed=len(name))}
    assert len(verdicts) == 13
    assert "missed" not in verdicts.values(), verdicts
    assert Counter(verdicts.values())["caught"] >= 9, verdicts


def verdict(mutant: Atom) -> str:
    """Return "caught" if check_atom finds the mutation, "harmless" if it changes nothing, otherwise "missed"."""
    try:
        check_atom(mutant)
    except AtomError:
        return "caught"
    return "harmless" if is_harmless(mutant) else "missed"
