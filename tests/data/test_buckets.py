"""Length buckets: every token once, each text by itself, batches of one bucket, each row once per epoch."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pytest

from glassformer.base.errors import ConfigError, DataError
from glassformer.data.batches.batch import Integers
from glassformer.data.batches.pack import BucketedRows, BucketOrder, Frame, choose_lengths
from glassformer.data.stores.store import TokenStore

PAD, FIRST, LAST = 900, 901, 902
FRAME = Frame((FIRST,), (LAST,))
MakeStore = Callable[[Sequence[str]], TokenStore]


def computed(lengths: Integers, chosen: Sequence[int], batch: int) -> int:
    """Tokens of an epoch when each row is padded to the next of the chosen lengths and each batch is full."""
    rows = np.bincount(np.searchsorted(chosen, lengths), minlength=len(chosen))
    return sum(-(-int(count) // batch) * batch * length for count, length in zip(rows, chosen, strict=True))


@pytest.mark.parametrize("batch", [1, 3, 16])
@pytest.mark.parametrize("most", [1, 2, 3, 12])
@pytest.mark.parametrize("seed", range(6))
def test_no_other_lengths_pad_less(seed: int, most: int, batch: int) -> None:
    """Compared with all choices of lengths that are multiples of 8, the longest as it is."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, rng.integers(20, 62), size=rng.integers(1, 60))
    longest = int(lengths.max())
    chosen = choose_lengths(lengths, batch, most).tolist()
    assert chosen[-1] == longest
    assert chosen == sorted(set(chosen))
    assert len(chosen) <= most
    steps = list(range(8, longest, 8))
    cheapest = min(
        computed(lengths, [*some, longest], batch)
        for count in range(min(most, len(steps) + 1))
        for some in combinations(steps, count)
    )
    assert computed(lengths, chosen, batch) == cheapest


def test_there_are_at_most_twelve_lengths_however_many_rows_have() -> None:
    lengths = np.arange(1, 3000)
    chosen = choose_lengths(lengths, 4)
    assert len(chosen) == 12
    assert chosen[-1] == 2999
    assert computed(lengths, chosen.tolist(), 4) < 1.1 * lengths.sum()


def test_a_last_batch_costs_as_much_as_a_full_one() -> None:
    """Ten short rows and one long one: a length of their own saves nothing until there is a full batch of them."""
    lengths = np.array([8] * 10 + [16])
    assert choose_lengths(lengths, 1).tolist() == [8, 16]
    assert choose_lengths(lengths, 10).tolist() == [8, 16]
    assert choose_lengths(lengths, 11).tolist() == [16]


@pytest.mark.parametrize("longest", [5, 8, 13])
def test_rows_of_one_length_have_this_length(longest: int) -> None:
    assert choose_lengths(np.full(7, longest), 4).tolist() == [longest]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("length", [6, 30, 500])
@pytest.mark.parametrize("frame", [FRAME, Frame(), Frame((), (LAST,))])
def test_each_document_is_a_row_or_equal_parts(store: TokenStore, frame: Frame, length: int) -> None:
    rows = BucketedRows(store, length, frame=frame, pad_id=PAD)
    around = len(frame.before) + len(frame.after)
    tokens: list[int] = []
    for number in range(len(rows)):
        batch = rows.rows(np.array([number]))
        real = batch.ids[0, batch.real[0]].tolist()
        assert real[: len(frame.before)] == list(frame.before)
        assert real[len(real) - len(frame.after) :] == list(frame.after)
        assert batch.ids.shape[1] == len(real) == rows.lengths[number] <= length
        wider = rows.rows(np.array([number]), length=length + 5)
        assert wider.ids.shape[1] == length + 5
        assert wider.ids[0, wider.real[0]].tolist() == real
        assert (wider.ids[~wider.real] == PAD).all()
        assert batch.positions[0, : len(real)].tolist() == list(range(len(real)))
        tokens += batch.ids[~batch.special].tolist()
        assert (batch.words[batch.special] == -1).all()
    assert tokens == store.ids.tolist()
    assert len(rows) == sum(-(-size // (length - around)) for size in np.diff(store.offsets).tolist())


def test_neighbours_change_only_the_padding(store: TokenStore) -> None:
    rows = BucketedRows(store, 64, frame=FRAME, pad_id=PAD)
    numbers = np.arange(len(rows))
    together = rows.rows(numbers)
    for number in numbers:
        alone = rows.rows(np.array([number]))
        size = alone.ids.shape[1]
        for name in ("ids", "real", "positions", "words", "special"):
            assert np.array_equal(getattr(together, name)[number, :size], getattr(alone, name)[0])
        assert not together.real[number, size:].any()


@pytest.mark.parametrize("batch", [1, 4, 7, 1000])
def test_an_epoch_shows_each_row_once_in_batches_of_one_bucket(store: TokenStore, batch: int) -> None:
    rows = BucketedRows(store, 32, frame=FRAME)
    bucket_of = np.searchsorted([12, 20, 28, 32], rows.lengths)
    assert set(bucket_of.tolist()) == {1, 2, 3}  # and one that is empty
    order = BucketOrder(bucket_of, batch, fingerprint="data", seed=3)
    epochs = []
    for epoch in range(2):
        batches = [order.of_epoch(epoch, number) for number in range(len(order))]
        assert all(len(set(bucket_of[numbers].tolist())) == 1 for numbers in batches)
        assert all(1 <= len(numbers) <= batch for numbers in batches)
        epochs.append(np.concatenate(batches).tolist())
        assert sorted(epochs[-1]) == list(range(len(rows)))
    if batch < 1000:
        assert epochs[0] != epochs[1]
    numbers, when = order.of_step(len(order) + 1)
    assert numbers.tolist() == order.of_epoch(1, 1).tolist()
    assert set(when.tolist()) == {1}


def test_what_cannot_be_batched_is_said(store: TokenStore) -> None:
    with pytest.raises(ConfigError) as caught:
        BucketedRows(store, 2, frame=FRAME)
    assert "2" in caught.value.wanted
    assert caught.value.got == "length 2"
    none = np.zeros(0, np.int64)
    with pytest.raises(DataError) as refused:
        BucketOrder(none, 4, fingerprint="data", seed=0)
    assert refused.value.got == "none"
    with pytest.raises(DataError) as refused:
        choose_lengths(none, 4)
    assert refused.value.got == "none"
