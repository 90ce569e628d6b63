"""check_atom accepts every atom of milopt, and rejects atoms with a member that is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from milopt.declaration.atoms import Atom, absolute, entropy, huber, logistic, norm, quad_form, relative_entropy, square
from milopt.declaration.atoms.huber import Huber
from milopt.declaration.atoms.membership import non_negative
from milopt.testing import AtomError, check_atom
from tests.declaration.atoms.cases import CASES, atom_of, variable

from .mutants import alter_atom


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_every_atom_passes(name: str, seed: int) -> None:
    check_atom(atom_of(CASES[name]()), seed=seed)


WRONG_MEMBERS = {
    "value is not convex": ("value", lambda atom: lambda e, at: np.sqrt(np.abs(e))),
    "not 3 finite numbers": ("value", lambda atom: lambda e, at: np.full(at.count, np.nan)),
    "value is below the minorant": ("slopes", lambda atom: lambda e, at: 1.2 * type(atom).slopes(atom, e, at)),
    "conjugate changes slopes": ("conjugate", lambda atom: lambda g, at: (0.5 * g, 0.125 * g**2)),
    "value is not slopes'e - conj": ("conjugate", lambda atom: lambda g, at: (g, 0.5 * g**2)),
    "value falls in the direction": (
        "monotone",
        lambda atom: lambda low, high, at: np.ones(low.size, dtype=np.int8),
    ),
    "least is above": ("least", lambda atom: lambda low, high, at: np.full(at.count, 0.1)),
    "which it returned itself": ("nearest", lambda atom: lambda e, at: 0.5 * e),
    "latex returns an empty text": ("latex", lambda atom: lambda index, write: " "),
    "quadratic": ("quadratic", lambda atom: lambda weights: 2.0 * weights),
    "least returns": ("least", lambda atom: lambda low, high, at: np.full(at.count, np.nan)),
}


WRONG_RESULTS = {
    r"value must return an array of numbers of shape \(3,\), not an object of type float": {"value": lambda e, at: 1.0},
    r"slopes must return an array of numbers of shape \(3,\), not an array of float64 of shape \(1,\)": {
        "slopes": lambda e, at: e[:1]
    },
    r"conjugate must return a pair \(slopes, constants\) of arrays, not None": {"conjugate": lambda g, at: None},
    r"conjugate must return as the second of the pair an array .* not an object of type float": {
        "conjugate": lambda g, at: (g, 0.0)
    },
    "epigraph must return a list of memberships, not an object of type Membership": {
        "epigraph": lambda t, e, at, new: non_negative("row", t - e)
    },
    "epigraph must return a list of memberships; the list contains an object of type Variable": {
        "epigraph": lambda t, e, at, new: [t]
    },
    r"monotone must return an array of numbers of shape \(3,\), not an object of type int": {
        "monotone": lambda low, high, at: 1
    },
    "latex must return a text, not None": {"latex": lambda index, write: None},
    "has_finite_slopes must return True or False, not None": {"has_finite_slopes": lambda low, high, at: None},
    "nearest must return an array of numbers .* not None": {"nearest": lambda e, at: None},
}


@pytest.mark.parametrize("sentence", WRONG_RESULTS)
def test_a_result_of_the_wrong_type_is_named(sentence: str) -> None:
    with pytest.raises(AtomError, match=sentence):
        check_atom(alter_atom(atom_of(square(variable(3))), **WRONG_RESULTS[sentence]))


def test_a_wrong_signature_is_named() -> None:
    class WrongSignature(type(atom_of(square(variable(3))))):  # type: ignore[misc]
        def latex(self, write: object) -> str:
            return "x"

    atom = atom_of(square(variable(3)))
    atom.__class__ = WrongSignature
    sentence = r"latex must have the signature latex\(self, index, write\), not latex\(self, write\)"
    with pytest.raises(AtomError, match=sentence):
        check_atom(atom)


@pytest.mark.parametrize("word", ["", "  ", None])
def test_an_atom_has_a_word(word: object) -> None:
    with pytest.raises(TypeError, match="The word of the atom AlteredNorm must be a text that is not empty"):
        alter_atom(atom_of(norm(variable(2))), word=word)


@pytest.mark.parametrize("cones", ["second-order", {"second-order": 1}, frozenset({"second order"}), None])
def test_an_atom_declares_its_cones_as_a_set_of_names(cones: object) -> None:
    with pytest.raises(TypeError, match="The cones of the atom AlteredNorm must be a frozenset of names from zero, "):
        alter_atom(atom_of(norm(variable(2))), cones=cones)


@pytest.mark.parametrize("sentence", WRONG_MEMBERS)
def test_a_wrong_member_is_named(sentence: str) -> None:
    name, make = WRONG_MEMBERS[sentence]
    atom = atom_of(square(variable(3)))
    with pytest.raises(AtomError, match=sentence):
        check_atom(alter_atom(atom, **{name: make(atom)}))


def test_slopes_that_no_minorant_has_are_found() -> None:
    atom = atom_of(absolute(variable(2)))
    with pytest.raises(AtomError, match="value is below g'e - conj"):
        check_atom(alter_atom(atom, conjugate=lambda g, at: (g, np.zeros(at.count))))


def test_slopes_that_are_allowed_but_not_nearest_are_found() -> None:
    """The conjugate of |e| is 0 at every slope in [-1, 1]; half of the nearest slope is valid, but not the nearest."""
    atom = atom_of(absolute(variable(2)))

    def conjugate(g: np.ndarray, at: object) -> tuple[np.ndarray, np.ndarray]:
        return np.where(np.abs(g) <= 1, g, 0.5 * np.sign(g)), np.zeros(2)

    with pytest.raises(AtomError, match="is nearer"):
        check_atom(alter_atom(atom, conjugate=conjugate))


def test_an_undeclared_cone_is_named() -> None:
    with pytest.raises(AtomError, match="'second-order', which `cones` does not declare"):
        check_atom(alter_atom(atom_of(norm(variable(2))), cones=frozenset({"nonnegative"})))


def test_a_foreign_leaf_is_named() -> None:
    other = variable(2)
    atom = atom_of(absolute(variable(2)))
    with pytest.raises(AtomError, match="neither t, e nor a new variable"):
        check_atom(alter_atom(atom, epigraph=lambda t, e, at, new: [non_negative("row", t - e + other)]))


def test_lazy_rows_must_be_lower_bounds_of_t() -> None:
    atom = atom_of(absolute(variable(2)))
    for rows in (lambda t, e: e - t, lambda t, e: e):
        with pytest.raises(AtomError, match="lazy rows 'row' are not lower bounds"):
            check_atom(
                alter_atom(atom, epigraph=lambda t, e, at, new, rows=rows: [non_negative("row", rows(t, e), lazy=True)])
            )


def test_entries_that_depend_on_each_other_are_found() -> None:
    """The sum of t is bounded, but not each entry."""
    atom = atom_of(absolute(variable(2)))

    def coupled(t: Atom, e: Atom, at: object, new: object) -> list[object]:
        total = t.sum()
        return [non_negative("row", total - sign * e[0] - other * e[1]) for sign in (1, -1) for other in (1, -1)]

    with pytest.raises(AtomError, match="least t"):
        check_atom(alter_atom(atom, epigraph=coupled))


def test_numbers_per_entry_are_followed_into_some_runs() -> None:
    """An atom with numbers of its own per entry must use `at.entries`."""
    atom = atom_of(huber(variable(4)))
    scales = np.array([1.0, 2.0, 3.0, 4.0])
    original = type(atom).value
    with pytest.raises(AtomError, match="value"):
        check_atom(alter_atom(atom, value=lambda e, at: scales[: at.count] * original(atom, e, at)))


def test_the_edge_of_a_domain_is_checked() -> None:
    """Without `nearest`, the value of x log x below 0 is not a number."""
    for expression in (entropy(variable(3)), relative_entropy(variable(2), variable(2))):
        with pytest.raises(AtomError), np.errstate(all="ignore"):
            check_atom(alter_atom(atom_of(expression), nearest=lambda e, at: e))


def test_only_atoms_of_expressions_are_checked() -> None:
    with pytest.raises(TypeError, match="A concave function is minus an atom"):
        check_atom(entropy(variable(3)))  # type: ignore[arg-type]


def test_an_atom_without_entries_is_not_checked() -> None:
    with pytest.raises(AtomError, match="no entries to check"):
        check_atom(atom_of(absolute(variable(3)[[]])))


def test_a_quadratic_form_of_weight_0_passes() -> None:
    for weight in (np.zeros((3, 3)), np.zeros(3)):
        check_atom(atom_of(quad_form(variable(3), weight)))


def test_equal_seeds_give_equal_points() -> None:
    seen: list[list[np.ndarray]] = []
    for _ in range(2):
        points: list[np.ndarray] = []
        atom = atom_of(logistic(variable(2)))
        original = type(atom).value
        value = lambda e, at, points=points, atom=atom, original=original: (points.append(e), original(atom, e, at))[1]  # noqa: E731
        check_atom(alter_atom(atom, value=value), points=3)
        seen.append(points)
    assert all(np.array_equal(a, b) for a, b in zip(*seen, strict=True))


def test_a_quadratic_atom_must_define_its_matrix():
    with pytest.raises(TypeError, match="has is_quadratic = True: it must define quadratic"):
        type("Forgetful", (Huber,), {"is_quadratic": True})
