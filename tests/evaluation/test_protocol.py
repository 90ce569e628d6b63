"""Protocols are parsed from text, and divide bags accordingly."""

from __future__ import annotations

import numpy as np
import pytest

from milopt.errors import ParameterError
from milopt.evaluation.protocol import Protocol, parse_protocol

LABELS = np.array([0] * 30 + [1] * 20)


@pytest.mark.parametrize(
    ("text", "protocol"),
    [
        ("10", Protocol(1, 10)),
        ("10-fold", Protocol(1, 10)),
        ("5 folds", Protocol(1, 5)),
        ("1x10", Protocol(1, 10)),
        ("10x10", Protocol(10, 10)),
        ("10 x 10-fold", Protocol(10, 10)),
        ("20x80/20", Protocol(20, 0, 20)),
        ("20 x 80/20", Protocol(20, 0, 20)),
        ("70/30", Protocol(1, 0, 30)),
        ("train/test", Protocol(1)),
        ("5 x train/test", Protocol(5)),
    ],
)
def test_a_text_is_a_protocol(text: str, protocol: Protocol) -> None:
    assert parse_protocol(text) == protocol
    assert parse_protocol(str(protocol)) == protocol


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "1x1",
        "0x10",
        "x10",
        "10x",
        "80/30",
        "0/100",
        "3x0/100",
        "-5",
        "1e3",
        "200x100",
        "9" * 30,
        "test",
        "٣",
        "0xtrain/test",
    ],
)
def test_any_other_text_raises_an_error_with_the_valid_forms(text: str) -> None:
    with pytest.raises(ParameterError, match=r"is not a protocol: write .*10-fold, .*10x10 .*20x80/20 .*train/test"):
        parse_protocol(text)


@pytest.mark.parametrize("text", ["5", "3x4", "10x80/20", "4x50/50"])
def test_every_part_has_the_classes_in_proportion_and_no_bag_is_in_two(text: str) -> None:
    for split in parse_protocol(text).splits(LABELS, 0):
        assert not set(split.train) & set(split.test)
        assert len(split.train) + len(split.test) == LABELS.size
        for part in (split.train, split.test):
            assert abs(np.mean(LABELS[part]) - 0.4) <= 1 / len(part)


def test_the_folds_of_a_repeat_contain_every_bag_once() -> None:
    splits = parse_protocol("3x5").splits(LABELS, 0)
    assert [(s.repeat, s.fold) for s in splits] == [(r, f) for r in range(3) for f in range(5)]
    for repeat in range(3):
        held = np.concatenate([s.test for s in splits if s.repeat == repeat])
        assert sorted(held) == list(range(50))


@pytest.mark.parametrize(("few", "many"), [("1x5", "3x5"), ("2x80/20", "5x80/20")])
def test_more_repeats_begin_with_those_of_fewer(few: str, many: str) -> None:
    first, all_of_them = (parse_protocol(text).splits(LABELS, 7) for text in (few, many))
    for split, other in zip(first, all_of_them, strict=False):
        assert np.array_equal(split.train, other.train)
        assert np.array_equal(split.test, other.test)


def test_repeats_and_seeds_differ() -> None:
    parts = [tuple(s.test) for seed in (0, 1) for s in parse_protocol("5x80/20").splits(LABELS, seed)]
    assert len(set(parts)) == len(parts)


def test_the_official_parts_are_not_changed() -> None:
    (split,) = parse_protocol("train/test").splits(LABELS, 0, 35)
    assert split.train.tolist() == list(range(35))
    assert split.test.tolist() == list(range(35, 50))


def test_repeats_of_official_parts_are_the_same_parts_under_other_numbers() -> None:
    splits = parse_protocol("3xtrain/test").splits(LABELS, 0, 35)
    assert [split.repeat for split in splits] == [0, 1, 2]
    assert {(tuple(split.train), tuple(split.test)) for split in splits} == {(tuple(range(35)), tuple(range(35, 50)))}


def test_random_splits_do_not_use_the_official_test_part() -> None:
    for split in parse_protocol("5").splits(LABELS, 0, 40):
        assert max(*split.train, *split.test) < 40


@pytest.mark.parametrize(
    ("text", "labels", "message"),
    [
        ("train/test", LABELS, "no official test part: use 10-fold"),
        ("10", np.array([0] * 20 + [1] * 4), "10 folds are too many for 4 bags of class 1: use at most 4 folds"),
        ("10", np.array(["a"] * 20 + ["b"]), "1 bags of class b: it cannot be in two parts"),
        ("80/20", np.array([0] * 20 + [1]), "leaves a part without one of the 2 classes"),
        ("95/5", np.array([0] * 10 + [1] * 10), "leaves a part without one of the 2 classes"),
        ("5", np.zeros(9), "All 9 bags belong to one class"),
    ],
)
def test_data_with_too_few_bags_raise_an_error(text: str, labels: np.ndarray, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_protocol(text).splits(labels, 0)


def test_a_number_is_a_number_of_folds() -> None:
    assert parse_protocol(5) == parse_protocol("5")
    with pytest.raises(ParameterError, match="is not a protocol"):
        parse_protocol(1)
