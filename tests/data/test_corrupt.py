"""Masks: the promised shares over 100,000 tokens, never a special token, independent of other rows."""

import numpy as np
import numpy.typing as npt
import pytest

from glassformer.data.batches.batch import Flags, Integers
from glassformer.data.batches.corrupt import IGNORED, Corrupted, mask_words
from glassformer.tasks.words.masked_lm.task import MaskedLMSection

MASK, SPECIAL, VOCABULARY = 4, frozenset({0, 1, 2, 3, 4, 77}), 1000
ROWS, LENGTH = 1000, 128  # 126,000 maskable tokens


def made(rows: int = ROWS, length: int = LENGTH, longest_word: int = 5) -> tuple[Integers, Flags, Integers]:
    """Rows [CLS] … [SEP] of random tokens in random words."""
    rng = np.random.default_rng(0)
    ordinary = np.array(sorted(set(range(VOCABULARY)) - SPECIAL))
    ids = rng.choice(ordinary, (rows, length))
    ids[:, 0], ids[:, -1] = 2, 3
    maskable = np.ones(ids.shape, np.bool_)
    maskable[:, [0, -1]] = False
    begins = rng.random(ids.shape) < 2 / (1 + longest_word)
    words = np.where(maskable, begins.cumsum(1), -1)
    return ids, maskable, words


def hide(
    ids: Integers,
    maskable: Flags,
    words: Integers,
    settings: MaskedLMSection,
    *,
    seed: int = 0,
    rows: Integers | None = None,
    epoch: int | Integers = 0,
    mask_id: int | None = MASK,
) -> Corrupted:
    return mask_words(
        ids,
        maskable,
        words,
        settings=settings,
        vocabulary=VOCABULARY,
        mask_id=mask_id,
        special_ids=SPECIAL,
        seed=seed,
        rows=np.arange(len(ids)) if rows is None else rows,
        epoch=epoch,
    )


def share(hits: npt.NDArray[np.bool_] | int, of: int) -> float:
    return float(np.sum(hits)) / of


@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.parametrize(
    ("rate", "mask", "random"), [(0.15, 0.8, 0.1), (0.3, 1.0, 0.0), (0.05, 0.5, 0.5), (0.6, 0.0, 0.0)]
)
def test_the_shares_hold_over_100_000_tokens(rate: float, mask: float, random: float, whole_words: bool) -> None:
    ids, maskable, words = made()
    settings = MaskedLMSection(rate=rate, mask=mask, random=random, keep=1 - mask - random, whole_words=whole_words)
    got = hide(ids, maskable, words, settings)
    chosen = got.labels != IGNORED
    count = int(chosen.sum())
    # What is left to chance is the last word of each row: its spread is below 3 tokens, 4 deviations over 1,000 rows.
    assert abs(count / ROWS - rate * (LENGTH - 2)) < 4 * 3 / np.sqrt(ROWS)
    spread = 4 * 0.5 / np.sqrt(count)
    masked = chosen & (got.ids == MASK)
    kept = chosen & (got.ids == ids)
    changed = chosen & ~masked & ~kept
    assert abs(share(masked, count) - mask) < spread
    # A random token is by chance the old one in 1 of 994 cases.
    assert abs(share(changed, count) - random * (1 - 1 / 994)) < spread
    assert abs(share(kept, count) - (1 - mask - random + random / 994)) < spread
    assert np.array_equal(masked, got.masked_words)


@pytest.mark.parametrize("whole_words", [False, True])
def test_labels_stand_at_the_chosen_places_only(whole_words: bool) -> None:
    ids, maskable, words = made()
    before = ids.copy()
    got = hide(ids, maskable, words, MaskedLMSection(whole_words=whole_words))
    chosen = got.labels != IGNORED
    assert np.array_equal(ids, before)
    assert np.array_equal(got.labels[chosen], ids[chosen])
    assert np.array_equal(got.ids[~chosen], ids[~chosen])
    assert np.array_equal(got.places, np.flatnonzero(chosen))
    assert not (chosen & ~maskable).any()
    replaced = got.ids[chosen & (got.ids != MASK)]
    assert not set(replaced.tolist()) & SPECIAL
    assert chosen.sum(1).min() >= 1


def test_every_place_and_every_word_is_as_likely() -> None:
    ids, maskable, words = made()
    plain = hide(ids, maskable, words, MaskedLMSection()).labels != IGNORED
    per_place = plain[:, 1:-1].mean(0)
    assert (abs(per_place - 0.15) < 4.5 * np.sqrt(0.15 * 0.85 / ROWS)).all()  # 126 places: 4.5 deviations
    whole = hide(ids, maskable, words, MaskedLMSection(whole_words=True)).labels != IGNORED
    sizes = np.array([np.bincount(row[row >= 0])[row] * (row >= 0) for row in words])
    for size in (1, 2, 3, 4):
        of_size = sizes == size
        # A long word that comes last is a little less likely to fit.
        assert share(whole & of_size, int(of_size.sum())) == pytest.approx(0.15, abs=0.02)


def test_random_tokens_come_from_the_whole_vocabulary() -> None:
    ids, maskable, words = made()
    got = hide(ids, maskable, words, MaskedLMSection(rate=0.9, mask=0.0, random=1.0, keep=0.0))
    drawn = np.bincount(got.ids.flat[got.places], minlength=VOCABULARY)
    ordinary = np.delete(drawn, sorted(SPECIAL))
    assert drawn[sorted(SPECIAL)].sum() == 0
    expected = ordinary.sum() / len(ordinary)
    chi_square = ((ordinary - expected) ** 2 / expected).sum()
    assert abs(chi_square - len(ordinary)) < 4 * np.sqrt(2 * len(ordinary))


def test_atomic_words_are_hidden_whole() -> None:
    ids, maskable, words = made()
    chosen = hide(ids, maskable, words, MaskedLMSection(whole_words=True)).labels != IGNORED
    for row in range(200):
        masked_words = set(words[row, chosen[row]].tolist())
        assert chosen[row].tolist() == [word in masked_words and word >= 0 for word in words[row].tolist()]


@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.parametrize("most", [1, 3, 20, 500])
def test_at_least_one_and_at_most_so_many(most: int, whole_words: bool) -> None:
    ids, maskable, words = made(rows=300, longest_word=12)
    maskable[0] = False
    maskable[1, 2:] = False  # one token only
    maskable[2, 6:] = False
    words[2, 1:6] = 1  # one long word only
    settings = MaskedLMSection(max_predictions=most, whole_words=whole_words)
    count = (hide(ids, maskable, words, settings).labels != IGNORED).sum(1)
    assert count[0] == 0
    assert count[1] == 1
    assert (count[1:] >= 1).all()
    assert (count <= most).all()
    if most == 1:
        assert (count[1:] == 1).all()


@pytest.mark.parametrize("whole_words", [False, True])
@pytest.mark.parametrize("static", [False, True])
def test_a_row_is_masked_the_same_whatever_its_neighbours(static: bool, whole_words: bool) -> None:
    ids, maskable, words = made(rows=40)
    settings = MaskedLMSection(whole_words=whole_words, static=static)
    epochs = np.arange(40) % 7
    together = hide(ids, maskable, words, settings, epoch=epochs)
    order = np.random.default_rng(1).permutation(40)
    mixed = hide(ids[order], maskable[order], words[order], settings, rows=order, epoch=epochs[order])
    more = ((0, 0), (0, 9))
    wide = np.pad(ids, more), np.pad(maskable, more), np.pad(words, more)
    wider = hide(*wide, settings, epoch=epochs)
    for name in ("ids", "labels", "masked_words"):
        assert np.array_equal(getattr(mixed, name), getattr(together, name)[order])
        assert np.array_equal(getattr(wider, name)[:, :LENGTH], getattr(together, name))
    for row in range(40):
        one = slice(row, row + 1)
        alone = hide(ids[one], maskable[one], words[one], settings, rows=np.array([row]), epoch=int(epochs[row]))
        assert np.array_equal(alone.ids[0], together.ids[row])


def test_each_epoch_and_seed_has_its_own_masks_unless_static() -> None:
    ids, maskable, words = made(rows=50)

    def labels(settings: MaskedLMSection, epoch: int, seed: int = 0) -> Integers:
        return hide(ids, maskable, words, settings, epoch=epoch, seed=seed).labels

    fresh, static = MaskedLMSection(), MaskedLMSection(static=True, duplicates=3)
    assert np.array_equal(labels(fresh, 1), labels(fresh, 1))
    assert not np.array_equal(labels(fresh, 0), labels(fresh, 3))
    assert not np.array_equal(labels(fresh, 0), labels(fresh, 0, seed=1))
    assert np.array_equal(labels(static, 0), labels(static, 3))
    assert not np.array_equal(labels(static, 0), labels(static, 1))
    assert not any(np.array_equal(labels(static, -1), labels(static, epoch)) for epoch in range(3))
    assert np.array_equal(labels(static, -1), labels(fresh, -1))


def test_short_rows_keep_the_share_too() -> None:
    """Rounding 15 % of 10 tokens up or down would be 10 % or 20 %; chance makes it 15 %."""
    ids, maskable, words = made(rows=10_000, length=12)
    chosen = hide(ids, maskable, words, MaskedLMSection()).labels != IGNORED
    # 1 or 2 of 10 with equal chance: deviation 0.5, four deviations over 10,000 rows.
    assert abs(chosen.sum() / 10_000 - 1.5) < 4 * 0.5 / 100


def test_without_a_mask_masked_places_are_marked() -> None:
    """The slides: no token stands for a masked word."""
    ids, maskable, words = made(rows=20)
    got = hide(ids, maskable, words, MaskedLMSection(mask=1.0, random=0.0, keep=0.0), mask_id=None)
    assert np.array_equal(got.masked_words, got.labels != IGNORED)
    assert (got.ids[got.masked_words] == 0).all()


def test_masks_never_change_between_versions() -> None:
    """Golden: a resumed run must see the same masks."""
    ids, maskable, words = made(rows=2, length=24)
    got = hide(ids, maskable, words, MaskedLMSection(), seed=3, rows=np.array([70, 3]), epoch=2)
    assert got.places.tolist() == [10, 14, 15, 21, 36, 37, 46]
    assert got.ids.flat[got.places].tolist() == [4, 4, 4, 4, 4, 303, 832]
