"""The order of rows: each once per epoch, another one in each epoch, independent of memory and of other rows."""

import numpy as np
import pytest

from glassformer.base.errors import DataError
from glassformer.data.batches.batch import Order, below, random_bits, shuffled, uniform
from tests.refusals import refused


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 100, 1023, 1025, 70_000])
def test_it_is_a_permutation(size: int) -> None:
    assert np.array_equal(np.sort(shuffled(np.arange(size), size, key=5)), np.arange(size))


def test_it_is_shuffled_well() -> None:
    """Each thing lands everywhere equally often, and neighbours do not stay neighbours (chi-square, 4 deviations)."""
    size, turns = 12, 6000
    landed = shuffled(np.tile(np.arange(size), (turns, 1)), size, key=9, epoch=np.arange(turns)[:, None])
    counts = np.array([np.bincount(landed[:, place], minlength=size) for place in range(size)])
    freedom = (size - 1) ** 2
    assert ((counts - turns / size) ** 2 / (turns / size)).sum() < freedom + 4 * np.sqrt(2 * freedom)
    steps = np.bincount((landed[:, 1:] - landed[:, :-1]).ravel() % size, minlength=size)[1:]
    expected = steps.sum() / (size - 1)
    # Steps within one shuffle are weakly dependent: allow twice the independent spread.
    assert ((steps - expected) ** 2 / expected).sum() < 2 * (size + 4 * np.sqrt(2 * size))


def test_an_epoch_shows_each_row_once() -> None:
    order = Order(rows=103, batch=8, fingerprint="data", seed=1)
    assert len(order) == 13
    epochs = [np.concatenate([order.of_epoch(epoch, number) for number in range(len(order))]) for epoch in range(3)]
    for rows in epochs:
        assert sorted(rows.tolist()) == list(range(103))
    assert (epochs[0] != epochs[1]).mean() > 0.9
    assert (epochs[1] != epochs[2]).mean() > 0.9
    assert len(order.of_epoch(0, 12)) == 103 - 12 * 8


def test_steps_run_through_the_epochs_without_a_gap() -> None:
    order = Order(rows=103, batch=8, fingerprint="data", seed=1)
    steps = [order.of_step(step) for step in range(26)]
    rows = np.concatenate([rows for rows, _ in steps])
    epochs = np.concatenate([epochs for _, epochs in steps])
    assert all(len(rows) == 8 for rows, _ in steps)
    for epoch in range(2):
        assert sorted(rows[epochs == epoch].tolist()) == list(range(103))
        joined = np.concatenate([order.of_epoch(epoch, number) for number in range(len(order))])
        assert rows[epochs == epoch].tolist() == joined.tolist()


def test_data_and_seed_name_the_order() -> None:
    """Golden: a run that is resumed with a later version must meet the same rows."""
    assert Order(1000, 6, "data", 1).of_epoch(2, 3).tolist() == [403, 794, 209, 377, 165, 742]
    assert Order(1000, 6, "data", 2).of_epoch(2, 3).tolist() != Order(1000, 6, "data", 1).of_epoch(2, 3).tolist()
    assert Order(1000, 6, "atad", 1).of_epoch(2, 3).tolist() != Order(1000, 6, "data", 1).of_epoch(2, 3).tolist()


def test_no_rows_no_order() -> None:
    with refused(DataError, wanted="row", got="none", do="length"):
        Order(0, 8, "data", 1)


def test_chance_depends_on_names_alone() -> None:
    table = uniform(1, np.arange(5)[:, None], np.arange(7))
    assert table.shape == (5, 7)
    for row in range(5):
        for place in range(7):
            assert uniform(1, row, place) == table[row, place]
    assert len(np.unique(table)) == 35
    assert random_bits(-1) == random_bits(np.array(-1))
    assert random_bits(1, 2) != random_bits(2, 1)


def test_chance_is_even() -> None:
    """200,000 draws: mean, spread, bits and the correlation of neighbours within four standard deviations."""
    numbers = uniform(3, np.arange(200), np.arange(1000)[:, None]).ravel()
    assert abs(numbers.mean() - 0.5) < 4 * np.sqrt(1 / 12 / len(numbers))
    assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 4 / np.sqrt(len(numbers))
    bits = (random_bits(7, np.arange(50_000))[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert (abs(bits.mean(0) - 0.5) < 4.5 * 0.5 / np.sqrt(50_000)).all()  # 64 bits: 4.5 deviations
    counts = np.bincount(below(6, 8, np.arange(60_000)), minlength=6)
    assert len(counts) == 6
    assert (abs(counts - 10_000) < 4 * np.sqrt(10_000)).all()
