"""Check the properties of every cone at random points, and the definitions of the four cones."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from milopt.cones import CONES, EXPONENTIAL, NONNEGATIVE, SECOND_ORDER, ZERO, Cone, get_cone
from milopt.cones.nonnegative import Nonnegative
from milopt.errors import UnsupportedError

Vector = npt.NDArray[np.float64]
ALL_CONES = list(CONES.values())
FACTOR_SIZES = {"zero": [1] * 6, "nonnegative": [1] * 6, "second-order": [1, 3, 2], "exponential": [3, 3]}

numbers = st.one_of(
    st.floats(-5, 5).map(lambda value: round(value, 12)), st.sampled_from([0.0, 1.0, -1.0, 1e-9, -1e-9, 1e3, -1e3])
)
points = arrays(np.float64, 6, elements=numbers)
for_every_cone = pytest.mark.parametrize("cone", ALL_CONES, ids=lambda cone: cone.name)


def factor_sizes(cone: Cone) -> npt.NDArray[np.intp]:
    return np.array(FACTOR_SIZES[cone.name], dtype=np.intp)


def is_member(cone: Cone, s: Vector) -> bool:
    """Return True if s lies in one factor K, by the definition of the cone and up to rounding."""
    if cone is ZERO:
        return bool(np.abs(s).max() <= 1e-12)
    if cone is NONNEGATIVE:
        return bool(s.min() >= -1e-12)
    if cone is SECOND_ORDER:
        return bool(np.linalg.norm(s[1:]) <= s[0] + 1e-12 * (1 + abs(s[0])))
    x, y, z = s
    if y <= 0:
        return bool(y == 0 and x <= 0 and z >= 0)
    below = z > 0 and x / y <= np.log(z) - np.log(y) + 1e-12 * (1 + abs(x / y))
    return bool(below or y * np.exp(min(x / y, 700)) <= z)


def split_factors(cone: Cone, s: Vector) -> list[Vector]:
    return np.split(s, np.cumsum(factor_sizes(cone))[:-1])


@for_every_cone
@settings(max_examples=200, deadline=None)
@given(s=points)
@example(s=np.array([-1000.0, 2.0, 0.0, 0.0, 0.0, 0.0]))
def test_the_distance_is_zero_exactly_for_points_of_the_cone(cone: Cone, s: Vector) -> None:
    distances = cone.distance(s, factor_sizes(cone))
    assert distances.shape == (len(FACTOR_SIZES[cone.name]),)
    for part, distance in zip(split_factors(cone, s), distances, strict=True):
        assert distance >= 0
        assert is_member(cone, part) if distance == 0 else not is_member(cone, part) or distance <= 1e-9


@for_every_cone
@settings(max_examples=200, deadline=None)
@given(s=points)
def test_the_nearby_point_is_in_the_cone_and_at_most_the_distance_away(cone: Cone, s: Vector) -> None:
    near, count = cone.move_inside(s, factor_sizes(cone)), factor_sizes(cone)
    assert cone.distance(near, count).max() == 0
    moved = [np.linalg.norm(a - b) for a, b in zip(split_factors(cone, near), split_factors(cone, s), strict=True)]
    assert (np.array(moved) <= cone.distance(s, count) * (1 + 1e-12)).all()
    dual = cone.move_inside_dual(s, count)
    assert cone.dual_distance(dual, count).max() <= 1e-12 * (1 + np.abs(dual).max())
    moved = [np.linalg.norm(a - b) for a, b in zip(split_factors(cone, dual), split_factors(cone, s), strict=True)]
    assert (np.array(moved) <= cone.dual_distance(s, count) * (1 + 1e-9) + 1e-12).all()


@for_every_cone
@settings(max_examples=200, deadline=None)
@given(s=points, z=points)
def test_points_of_the_cone_and_of_its_dual_have_a_nonnegative_product(cone: Cone, s: Vector, z: Vector) -> None:
    near, dual = cone.move_inside(s, factor_sizes(cone)), cone.move_inside_dual(z, factor_sizes(cone))
    for a, b in zip(split_factors(cone, near), split_factors(cone, dual), strict=True):
        assert a @ b >= -1e-12 * (1 + np.abs(a) @ np.abs(b))


@for_every_cone
@settings(max_examples=200, deadline=None)
@given(z=points)
def test_a_point_is_in_the_dual_if_and_only_if_its_image_is_in_the_cone(cone: Cone, z: Vector) -> None:
    distances = cone.dual_distance(z, factor_sizes(cone))
    for part, distance in zip(split_factors(cone, z), distances, strict=True):
        matrix = cone.dual_membership_matrix(part.size)
        if matrix is None:
            assert distance == 0
        else:
            single_factor = np.array([part.size], dtype=np.intp)
            assert (distance == 0) == (cone.distance(matrix @ part, single_factor).max() == 0)


@for_every_cone
def test_a_small_ball_around_the_interior_point_is_in_the_cone(cone: Cone) -> None:
    rng = np.random.default_rng(0)
    for size in set(FACTOR_SIZES[cone.name]):
        centre, single_factor = cone.interior_point(size), np.array([size], dtype=np.intp)
        if centre is None:
            assert cone is ZERO
            continue
        for step in rng.normal(size=(100, size)):
            assert cone.distance(centre + 0.1 * step / np.linalg.norm(step), single_factor).max() == 0


@for_every_cone
def test_the_distance_tends_to_zero_at_the_boundary(cone: Cone) -> None:
    rng = np.random.default_rng(1)
    for s in rng.normal(size=(200, 6)):
        edge, step = cone.move_inside(s, factor_sizes(cone)), rng.normal(size=6)
        for tiny in (1e-3, 1e-6, 1e-9):
            assert cone.distance(edge + tiny * step, factor_sizes(cone)).max() <= 300 * tiny * np.log(1 / tiny)


def test_the_distance_to_the_exponential_cone_is_that_of_the_nearest_candidate() -> None:
    def distance(*s: float) -> float:
        return float(EXPONENTIAL.distance(np.array(s), np.array([3]))[0])

    assert distance(0.0, 1.0, 0.5) == pytest.approx(0.5)  # z must rise to 1
    assert distance(50.0, 1.0, np.exp(49.0)) == pytest.approx(1.0)  # x must fall by 1; z would rise by e^50 - e^49
    assert distance(1e4, 1.0, 1.0) == pytest.approx(1e4)  # exp(1e4) overflows
    assert distance(1e-6, 1e-12, 0.0) == pytest.approx(1e-6)  # to the face y = 0
    assert distance(-1.0, -2.0, -2.0) == pytest.approx(np.hypot(2.0, 2.0))
    assert distance(-1.0, 0.0, 0.0) == 0


def test_the_dual_of_the_exponential_cone_agrees_with_its_definition() -> None:
    rng = np.random.default_rng(2)
    for u, v, w in rng.normal(size=(500, 3)):
        member = u < 0 and -u * np.exp(v / u) <= np.e * w
        assert (EXPONENTIAL.dual_distance(np.array([u, v, w]), np.array([3]))[0] == 0) == member


def test_factor_sizes_are_computed_or_checked() -> None:
    assert SECOND_ORDER.factor_sizes(5, None, "r").tolist() == [5]
    assert SECOND_ORDER.factor_sizes(0, None, "r").tolist() == []
    assert EXPONENTIAL.factor_sizes(6, None, "r").tolist() == [3, 3]
    assert ZERO.factor_sizes(2, None, "r").tolist() == [1, 1]
    assert SECOND_ORDER.factor_sizes(5, np.array([2, 3]), "r").tolist() == [2, 3]
    with pytest.raises(UnsupportedError, match="'r' lie in exponential cones of 3 rows each"):
        EXPONENTIAL.factor_sizes(5, None, "r")
    for count, wrong in ((5, [2, 2]), (2, [2, 0])):
        with pytest.raises(UnsupportedError, match="'r' cannot be second-order cones"):
            SECOND_ORDER.factor_sizes(count, np.array(wrong), "r")
    with pytest.raises(UnsupportedError, match="cannot be exponential cones of"):
        EXPONENTIAL.factor_sizes(4, np.array([4]), "r")


@for_every_cone
@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda cone: pickle.loads(pickle.dumps(cone)), lambda cone: type(cone)()]
)
def test_there_is_one_instance_per_cone(cone: Cone, duplicate: Callable[[Cone], Cone]) -> None:
    assert duplicate(cone) is cone
    assert get_cone(cone.name) is cone


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match="no cone 'power'; milopt has zero, nonnegative, second-order"):
        get_cone("power")


def test_a_cone_without_a_required_member_fails_when_its_class_is_created() -> None:
    members: dict[str, Any] = {name: member for name, member in vars(Nonnegative).items() if not name.startswith("_")}
    for missing in members:
        rest = {name: member for name, member in members.items() if name != missing}
        with pytest.raises(TypeError, match=f"The cone Broken must define {missing}"):
            type("Broken", (Cone,), rest)


def test_a_subclass_of_a_cone_has_a_separate_instance() -> None:
    class DerivedCone(Nonnegative):
        name: ClassVar[str] = "derived"

    assert DerivedCone() is not NONNEGATIVE
    assert DerivedCone() is DerivedCone()
