"""Pairs in rows: each pair once, none beyond its room, and little padding."""

import numpy as np
import pytest

from glassformer.data.batches.batch import Flat, Integers, Texts
from glassformer.data.batches.pack_pairs import choose_rooms, pack_pairs


def caption_lengths(count: int, seed: int = 0) -> Integers:
    """Lengths like those of captions: the target follows the source, a few are long."""
    rng = np.random.default_rng(seed)
    source = np.clip(rng.gamma(9.0, 1.7, count), 3, 60).astype(np.int64)
    target = np.clip(source * rng.normal(1.12, 0.16, count), 3, 70).astype(np.int64)
    return np.stack([source, target], axis=1)


@pytest.mark.parametrize("count", [1, 2, 50, 3000])
def test_each_pair_stands_in_one_row_that_holds_it(count: int) -> None:
    lengths = caption_lengths(count)
    packed = pack_pairs(lengths, choose_rooms(lengths, 128), key=5)
    assert sorted(packed.members.values.tolist()) == list(range(count))
    assert not len(packed.left_out)
    assert len(packed.shapes) <= 12
    for row in range(len(packed.members)):
        total = lengths[packed.members[row]].sum(axis=0)
        assert (total <= packed.shapes[packed.shape_of[row]]).all()


def test_little_of_the_rows_is_padding() -> None:
    lengths = caption_lengths(5000)
    packed = pack_pairs(lengths, choose_rooms(lengths, 128), key=5)
    assert lengths.sum() / sum(packed.filled) > 0.95


def test_a_row_holds_several_pairs_also_where_all_are_short() -> None:
    lengths = np.stack([np.arange(600) % 5 + 3, np.arange(600) % 7 + 3], axis=1)
    packed = pack_pairs(lengths, choose_rooms(lengths, 128), key=5)
    assert lengths.sum() / sum(packed.filled) > 0.9
    assert len(packed.members) < 400


def test_a_pair_that_is_too_long_is_left_out() -> None:
    lengths = np.array([[4, 5], [200, 3], [6, 6], [3, 129]])
    packed = pack_pairs(lengths, choose_rooms(lengths, 128), key=0)
    assert packed.left_out.tolist() == [1, 3]
    assert sorted(packed.members.values.tolist()) == [0, 2]


def test_very_different_lengths_have_at_most_twelve_shapes() -> None:
    lengths = np.array([[2, 2]] * 5000 + [[100_000, 3], [7, 90_000]])
    rooms = choose_rooms(lengths, 1_000_000)
    assert len(rooms) <= 12
    assert not len(pack_pairs(lengths, rooms, key=0).left_out)


def test_the_key_decides_who_stands_together() -> None:
    lengths = np.full((400, 2), 9)
    one, same, other = (pack_pairs(lengths, choose_rooms(lengths, 64), key=key) for key in (1, 1, 2))
    assert one.members.values.tolist() == same.members.values.tolist() != other.members.values.tolist()


def test_sequences_in_two_arrays_come_back() -> None:
    flat = Flat.of([[5, 6], [], [7]])
    assert [flat[number].tolist() for number in range(len(flat))] == [[5, 6], [], [7]]
    assert flat.lengths.tolist() == [2, 0, 1]
    values, of, within = flat.joined(np.array([2, 0]))
    assert (values.tolist(), of.tolist(), within.tolist()) == ([7, 5, 6], [0, 1, 1], [0, 0, 1])


def test_texts_come_back() -> None:
    texts = Texts(["", "été", "a\ud800b"])
    assert list(texts) == ["", "été", "a\ud800b"]
    assert texts[-1] == "a\ud800b"
