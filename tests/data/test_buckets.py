"""Length buckets: every piece once, each text by itself, batches of one bucket, each row once per epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from glassformer.data.buckets import BucketedRows, BucketOrder, bucket_lengths
from glassformer.data.pack import Frame
from glassformer.data.store import TokenStore
from glassformer.errors import ConfigError, DataError

PAD, FIRST, LAST = 900, 901, 902
FRAME = Frame((FIRST,), (LAST,))
MakeStore = Callable[[Sequence[str]], TokenStore]


def test_bucket_lengths_end_with_the_longest() -> None:
    assert bucket_lengths(100).tolist() == [8, 16, 24, 32, 48, 64, 96, 100]
    assert bucket_lengths(8).tolist() == [8]
    assert bucket_lengths(5).tolist() == [5]


@pytest.mark.parametrize("length", [6, 30, 500])
@pytest.mark.parametrize("frame", [FRAME, Frame(), Frame((), (LAST,))])
def test_each_document_is_a_row_or_equal_parts(store: TokenStore, frame: Frame, length: int) -> None:
    rows = BucketedRows(store, length, frame=frame, pad_id=PAD)
    around = len(frame.before) + len(frame.after)
    pieces: list[int] = []
    for number in range(len(rows)):
        batch = rows.rows(np.array([number]))
        real = batch.ids[0, batch.real[0]].tolist()
        assert real[: len(frame.before)] == list(frame.before)
        assert real[len(real) - len(frame.after) :] == list(frame.after)
        assert batch.ids.shape[1] == min(size for size in rows.bucket_lengths.tolist() if size >= len(real))
        assert (batch.ids[~batch.real] == PAD).all()
        assert batch.positions[0, : len(real)].tolist() == list(range(len(real)))
        pieces += batch.ids[~batch.special].tolist()
        assert (batch.words[batch.special] == -1).all()
    assert pieces == store.ids.tolist()
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
    order = BucketOrder(rows, batch, fingerprint="data", seed=3)
    epochs = []
    for epoch in range(2):
        batches = [order.of_epoch(epoch, number) for number in range(len(order))]
        assert all(len(set(rows.bucket_of[numbers].tolist())) == 1 for numbers in batches)
        assert all(1 <= len(numbers) <= batch for numbers in batches)
        epochs.append(np.concatenate(batches).tolist())
        assert sorted(epochs[-1]) == list(range(len(rows)))
    if batch < 1000:
        assert epochs[0] != epochs[1]
    numbers, when = order.of_step(len(order) + 1)
    assert numbers.tolist() == order.of_epoch(1, 1).tolist()
    assert set(when.tolist()) == {1}


def test_what_cannot_be_batched_is_said(store: TokenStore, make_store: MakeStore) -> None:
    with pytest.raises(ConfigError, match="longer than its 2 special pieces; got length 2"):
        BucketedRows(store, 2, frame=FRAME)
    rows = BucketedRows(store, 32, frame=FRAME)
    rows._starts = rows._starts[:0]
    with pytest.raises(DataError, match="at least one row"):
        BucketOrder(rows, 4, fingerprint="data", seed=0)
