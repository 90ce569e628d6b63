"""Conformance check of atoms: value, slopes, conjugate, epigraph and the other members must agree."""

from __future__ import annotations

from math import prod

import numpy as np

from milopt.arrays import Directions, Vector
from milopt.declaration.atoms.atom import Atom
from milopt.declaration.programs.leaves import Variable
from milopt.testing.atom_epigraph import check_epigraph
from milopt.testing.atom_error import FORMULA_TOLERANCE, fail, format_point, require_at_most, require_equal
from milopt.testing.atom_minorant import require_minorant
from milopt.testing.atom_returns import check_returns
from milopt.testing.atom_samples import AtomSamples
from milopt.testing.plain_notation import PlainNotation


def check_atom(atom: Atom, *, seed: int = 0, points: int = 12) -> None:
    """Raise an error if two members of an atom disagree at random points of its domain.

    Signatures and the types of results are checked first. The check covers values, convexity, slopes, the conjugate,
    the least t of the epigraph and its multipliers, `monotone`, `least`, `greatest`, `nearest`, `quadratic`, `of`,
    `latex`, and every method on some of the runs only (a run is the part of the argument that one entry of the atom
    depends on).

    Parameters
    ----------
    atom : Atom
        An atom of an expression, such as `norm(x)` of a variable x with several entries. The expression itself does
        not matter: the argument is sampled.
    seed : int, default=0
        Equal seeds give equal points.
    points : int, default=12
        Number of random points. Points near 0, far from 0, with equal entries and of both signs alternate. Fewer than
        12 points leave some of these kinds out.

    Raises
    ------
    AtomError
        If a member returns the wrong type or two members disagree; the message states which, at which point and by
        how much.

    Examples
    --------
    >>> from milopt import Program
    >>> from milopt.declaration.atoms import norm
    >>> from milopt.testing import check_atom
    >>> check_atom(norm(Program().variable("x", 3)))
    """
    if not isinstance(atom, Atom) or atom.function is not None:
        raise TypeError(
            f"check_atom needs an atom of an expression, not {atom!r}. A concave function is minus an atom, and a "
            "scaled one a number times an atom: that atom is e.terms[0][0]."
        )
    _check_shapes(atom)
    check_returns(atom, seed)
    samples = AtomSamples(atom, seed)
    inside = [samples.point_in_domain(number) for number in range(points)]
    _check_values(atom, samples, inside)
    _check_slopes(atom, samples, inside)
    _check_conjugate(atom, samples, inside)
    _check_bounds_over_boxes(atom, samples, inside)
    _check_some_runs(atom, samples, inside)
    _check_copy_and_quadratic(atom, samples, inside)
    check_epigraph(atom, samples, inside)


def _check_shapes(atom: Atom) -> None:
    """Raise an error if the atom has no entries, or if its runs do not match its shape or the size of its argument."""
    at = atom.segments
    if not at.count:
        fail(atom, "there are no entries to check; take an argument with entries.")
    if atom.argument.size != at.entry_count:
        fail(atom, f"the runs read {at.entry_count} entries, and the argument has {atom.argument.size}.")
    if prod(atom.shape) != at.count:
        fail(atom, f"the shape is {atom.shape}, and there are {at.count} runs.")


def _check_values(atom: Atom, samples: AtomSamples, inside: list[Vector]) -> None:
    """Check that values are finite and convex, and that a point outside the domain has the value of the nearest point.

    `inside` are random points of the domain, here and in the following functions.
    """
    at = atom.segments
    for number, e in enumerate(inside):
        value = atom.value(e, at)
        if value.shape != (at.count,) or not np.isfinite(value).all():
            fail(atom, f"value returns {value} at {format_point(e)}, not {at.count} finite numbers.")
        again, outside = atom.nearest(e, at), samples.random_point(number)
        if again.shape != e.shape or not np.array_equal(again, e):
            fail(atom, f"nearest moves {format_point(e)}, which it returned itself, to {format_point(again)}.")
        moved = atom.nearest(outside, at)
        left, right = atom.value(outside, at), atom.value(moved, at)
        sentence = "value outside the domain is not the value at the nearest point"
        require_equal(atom, left, right, right, FORMULA_TOLERANCE, outside, sentence)
        other = inside[number - 1]
        share = samples.random.random()
        top = (1 - share) * value + share * atom.value(other, at)
        between = (1 - share) * e + share * other
        scale = np.abs(value) + np.abs(atom.value(other, at))
        sentence = "value is not convex between two points of the domain"
        require_at_most(atom, atom.value(between, at), top, scale, FORMULA_TOLERANCE, between, sentence)


def _check_slopes(atom: Atom, samples: AtomSamples, inside: list[Vector]) -> None:
    """Check that slopes g at e are finite and give minorants, and that value(e) = g'e - conjugate(g)."""
    at = atom.segments
    for number in range(len(inside)):
        e = samples.point_with_slopes(number)
        value, g = atom.value(e, at), atom.slopes(e, at)
        if g.shape != e.shape or not np.isfinite(g).all():
            fail(atom, f"slopes returns {g} at {format_point(e)}, not {e.size} finite numbers.")
        require_minorant(atom, value, g, e, inside, FORMULA_TOLERANCE, "value is below the minorant that slopes give")
        allowed, conjugate = atom.conjugate(g, at)
        scale = np.abs(value) + at.sum(np.abs(g * e))
        sentence = "conjugate changes slopes that the atom has"
        require_equal(atom, allowed, g, np.abs(g), 1e-7, e, sentence)
        sentence = "value is not slopes'e - conjugate(slopes)"
        require_equal(atom, at.sum(allowed * e) - conjugate, value, scale, 1e-8, e, sentence)


def _check_conjugate(atom: Atom, samples: AtomSamples, inside: list[Vector]) -> None:
    """Check that `conjugate` returns (slopes, constants) of minorants, and that no other tested slopes are nearer."""
    at = atom.segments
    results = []
    for number in range(len(inside)):
        g = samples.random_slopes(number)
        allowed, conjugate = atom.conjugate(g, at)
        if allowed.shape != g.shape or conjugate.shape != (at.count,):
            fail(atom, f"conjugate returns shapes {allowed.shape} and {conjugate.shape}.")
        if not np.isfinite(allowed).all() or not np.isfinite(conjugate).all():
            fail(atom, f"conjugate returns {allowed}, {conjugate} at {format_point(g)}, which are not finite.")
        again = atom.conjugate(allowed, at)[0]
        sentence = "conjugate changes the slopes that it returned"
        require_equal(atom, again, allowed, np.abs(allowed), 1e-7, g, sentence)
        for e in inside:
            bound = at.sum(allowed * e) - conjugate
            scale = np.abs(atom.value(e, at)) + at.sum(np.abs(allowed * e)) + np.abs(conjugate)
            sentence = "value is below g'e - conjugate(g) with g = {}"
            require_at_most(atom, bound, atom.value(e, at), scale, FORMULA_TOLERANCE, e, sentence, allowed)
        results.append((g, allowed))
    for g, allowed in results:
        distance = at.sum((allowed - g) ** 2)
        for _, other in results:
            sentence = "conjugate returns {}, but {} is nearer"
            require_at_most(atom, distance, at.sum((other - g) ** 2), distance, 1e-7, g, sentence, allowed, other)


def _check_bounds_over_boxes(atom: Atom, samples: AtomSamples, inside: list[Vector]) -> None:
    """Check `monotone`, `least` and `greatest` over random boxes low <= e <= high, some of them unbounded."""
    at, random = atom.segments, samples.random
    for number, corner in enumerate(inside):
        other = inside[(number * 5 + 1) % len(inside)]
        low, high = np.minimum(corner, other), np.maximum(corner, other)
        if number % 2:
            width = 0.3 * random.random(low.size)
            low, high = atom.nearest(corner - width, at), atom.nearest(corner + width, at)
        # What `monotone` and `least` state about the wide box must also hold in the smaller box [low, high].
        wide_low = np.where(random.random(low.size) < 0.15, -np.inf, low)
        wide_high = np.where(random.random(low.size) < 0.15, np.inf, high)
        direction, least = atom.monotone(wide_low, wide_high, at), atom.least(wide_low, wide_high, at)
        if direction.shape != low.shape or not np.isin(direction, (-1, 0, 1)).all():
            fail(atom, f"monotone returns {direction}, not {low.size} numbers of -1, 0 and 1.")
        if least.shape != (at.count,) or np.isnan(least).any():
            fail(atom, f"least returns {least} between {format_point(wide_low)} and {format_point(wide_high)}.")
        greatest = np.minimum(atom.greatest(wide_low, wide_high, at), atom.greatest(low, high, at))
        if greatest.shape != (at.count,) or np.isnan(greatest).any():
            fail(atom, f"greatest returns {greatest} between {format_point(low)} and {format_point(high)}.")
        for _ in range(4):
            share = np.round(random.random(low.size), random.integers(0, 3))
            e = atom.nearest(low + share * (high - low), at)
            value = atom.value(e, at)
            sentence = "least is above the value, between {} and {}"
            require_at_most(atom, least, value, value, FORMULA_TOLERANCE, e, sentence, wide_low, wide_high)
            sentence = "greatest is below the value, between {} and {}"
            require_at_most(atom, value, greatest, value, FORMULA_TOLERANCE, e, sentence, low, high)
            room = np.where(direction > 0, high - e, e - low) * (random.random(low.size) < 0.5)
            further = e + direction * room * random.random(low.size)
            if np.array_equal(atom.nearest(further, at), further):
                sentence, end = "value falls in the direction {} of monotone, towards {}", atom.value(further, at)
                require_at_most(
                    atom, value, end, value, FORMULA_TOLERANCE, e, sentence, _directions_as_floats(direction), further
                )


def _check_some_runs(atom: Atom, samples: AtomSamples, inside: list[Vector]) -> None:
    """Check that every method gives the same result for some runs as for all runs."""
    whole = atom.segments
    for number, e in enumerate(inside):
        entries = samples.random.permutation(whole.count)[: 1 + number % whole.count].astype(np.intp)
        at, read = whole.select(entries)
        g, high = samples.random_slopes(number), e + samples.random.random(e.size)
        pairs: dict[str, tuple[Vector, Vector]] = {
            "value": (atom.value(e, whole)[entries], atom.value(e[read], at)),
            "nearest": (atom.nearest(g, whole)[read], atom.nearest(g[read], at)),
            "conjugate (slopes)": (atom.conjugate(g, whole)[0][read], atom.conjugate(g[read], at)[0]),
            "conjugate (constants)": (atom.conjugate(g, whole)[1][entries], atom.conjugate(g[read], at)[1]),
            "monotone": (
                _directions_as_floats(atom.monotone(e, high, whole)[read]),
                _directions_as_floats(atom.monotone(e[read], high[read], at)),
            ),
            "least": (
                _replace_infinities(atom.least(e, high, whole)[entries]),
                _replace_infinities(atom.least(e[read], high[read], at)),
            ),
            "greatest": (
                _replace_infinities(atom.greatest(e, high, whole)[entries]),
                _replace_infinities(atom.greatest(e[read], high[read], at)),
            ),
        }
        if samples.has_finite_slopes(e):
            pairs["slopes"] = (atom.slopes(e, whole)[read], atom.slopes(e[read], at))
        for name, (all_runs, some) in pairs.items():
            sentence = f"{name} differs between all runs and the runs {entries.tolist()}"
            require_equal(atom, some, all_runs, all_runs, FORMULA_TOLERANCE, e, sentence)


def _check_copy_and_quadratic(atom: Atom, samples: AtomSamples, inside: list[Vector]) -> None:
    """Check the copy of the atom that `of` returns for another argument, and that `quadratic` gives weights'value."""
    at, size = atom.segments, atom.segments.entry_count
    argument = Variable("x", (size,), np.full(size, -np.inf), np.full(size, np.inf), False)
    copy = atom.with_argument(argument if atom.argument.shape else argument[0])
    if type(copy) is not type(atom) or copy.shape != atom.shape or copy.bags is not atom.bags:
        fail(atom, "`of` returns another kind of atom, another shape or other bags.")
    if [leaf for leaf, _ in copy.argument.terms] != [argument] or [leaf for leaf, _ in copy.terms] != [copy]:
        fail(atom, "`of` does not return an atom of the argument that it gets.")
    copy.latex("" if atom.shape == () else "i", PlainNotation(atom.argument.shape == ()))
    for e in inside:
        value = atom.value(e, at)
        sentence = "value changes with `of`"
        require_equal(atom, copy.value(e, copy.segments), value, value, 0.0, e, sentence)
        weights = samples.random.normal(size=at.count)
        W = atom.quadratic(weights)
        if W is not None:
            form, scale = e @ (W * e if W.ndim == 1 else W @ e), np.abs(weights) @ np.abs(value)
            sentence = "weights'value is not the form e'We that quadratic returns"
            require_equal(
                atom, np.array([form]), np.array([weights @ value]), np.array([scale]), FORMULA_TOLERANCE, e, sentence
            )


def _replace_infinities(values: Vector) -> Vector:
    """Return the values with +-1e300 in place of +-infinity, so that they can be subtracted."""
    return np.nan_to_num(values, posinf=1e300, neginf=-1e300)


def _directions_as_floats(directions: Directions) -> Vector:
    """Return directions of monotonicity (-1, 0, 1) as floats."""
    return directions.astype(np.float64)
