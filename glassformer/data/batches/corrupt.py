"""Masking words: which positions are chosen, and what replaces them.

B rows, S tokens of a row.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import Self

import numpy as np
from pydantic import Field, model_validator

from glassformer.base.settings import Settings
from glassformer.data.batches.batch import Flags, Integers, below, uniform

# The label of tokens that are not masked: torch's cross-entropy ignores it.
IGNORED = -100

# One stream of random numbers for each random choice.
_WHICH, _WHETHER, _HOW, _WHAT = range(4)


class MaskingSection(Settings):
    """How words are masked: settings of each task that masks words."""

    rate: float = Field(default=0.15, gt=0, lt=1)
    """The share of the tokens that is predicted."""
    mask: float = Field(default=0.8, ge=0, le=1)
    """Of these, the share that becomes [MASK]."""
    random: float = Field(default=0.1, ge=0, le=1)
    """The share that becomes another token."""
    keep: float = Field(default=0.1, ge=0, le=1)
    """The share that stays as it is."""
    whole_words: bool = False
    """Whether all tokens of a word are masked together."""
    max_predictions: int | None = Field(default=None, ge=1)
    """The most tokens of a row that are predicted."""
    static: bool = False
    """Whether the masks of a text repeat, as in BERT's files."""
    duplicates: int = Field(default=10, ge=1)
    """With `static`: after how many epochs they repeat."""

    @model_validator(mode="after")
    def _shares_sum_to_one(self) -> Self:
        if abs(self.mask + self.random + self.keep - 1) > 1e-9:
            total = self.mask + self.random + self.keep
            raise ValueError(f"mask, random and keep are shares of the masked words and must sum to 1, got {total}")
        return self


@dataclass(frozen=True)
class Corrupted:
    """Rows with masked words: `ids` [B, S] as the model sees them, `labels` [B, S] the tokens to predict (-100
    elsewhere), `masked_words` [B, S] True at masks, `places` [n] the flat indices of the labels.
    """

    ids: Integers
    labels: Integers
    masked_words: Flags
    places: Integers


def mask_words(
    ids: Integers,
    maskable: Flags,
    words: Integers,
    *,
    settings: MaskingSection,
    vocabulary: int,
    mask_id: int | None,
    special_ids: Set[int],
    seed: int,
    rows: Integers,
    epoch: int | Integers,
) -> Corrupted:
    """Mask some of the maskable tokens of each row, as Devlin et al. (2018) §3.1 do.

    `ids`, `maskable`, `words` [B, S]; `rows` [B] are the rows' own numbers, `epoch` one number or [B]. The choice for a
    row depends on (seed, epoch, row) alone, never on the other rows. In each row `rate` of the maskable tokens are
    chosen (on average: the remaining fraction is decided at random), at least one, at most `max_predictions`. Of these
    `mask` become the mask, `random` another token that is not special, the rest is kept. Without a `mask_id` masked
    positions get id 0 and are marked by `masked_words` alone (the slides). With `static` the choices repeat every
    `duplicates` epochs, as if that many copies were masked in advance; epochs below 0, which evaluation uses, are never
    repeated.
    """
    epochs = np.broadcast_to(np.asarray(epoch, np.int64), rows.shape)
    if settings.static:
        epochs = np.where(epochs < 0, epochs, epochs % settings.duplicates)
    names = seed, epochs[:, None], rows[:, None], np.arange(ids.shape[1])  # broadcast to [B, S]
    chosen = _chosen(maskable, words if settings.whole_words else None, settings, names)  # [B, S]

    places = np.flatnonzero(chosen)
    row, column = np.divmod(places, ids.shape[1])
    at = seed, epochs[row], rows[row], column
    how = uniform(_HOW, *at)  # [n]
    masked = how < settings.mask
    random = ~masked & (how < settings.mask + settings.random)

    labels = np.full(ids.shape, IGNORED, np.int64)  # [B, S]
    labels[chosen] = ids[chosen]
    seen = ids.copy()
    seen.flat[places[masked]] = 0 if mask_id is None else mask_id
    # The ids of the ordinary tokens with these numbers, counted without the special ones.
    drawn = below(vocabulary - len(special_ids), _WHAT, *at)[random]
    for id_ in sorted(special_ids):
        drawn = drawn + (drawn >= id_)
    seen.flat[places[random]] = drawn
    masked_words = np.zeros(ids.shape, np.bool_)
    masked_words.flat[places[masked]] = True
    return Corrupted(seen, labels, masked_words, places)


def _chosen(
    maskable: Flags, words: Integers | None, settings: MaskingSection, names: tuple[int | Integers, ...]
) -> Flags:
    """Whether each token is chosen [B, S]: words in random order until the row has its share, exact on average."""
    length = maskable.shape[1]
    most = length if settings.max_predictions is None else settings.max_predictions
    start, size = _units(maskable, words, most)
    key = np.where(maskable, np.take_along_axis(uniform(_WHICH, *names), start, 1), 2.0)
    coin = np.take_along_axis(uniform(_WHETHER, *names), start, 1)

    order = np.argsort(key, axis=1, kind="stable")  # keeps the tokens of a word together
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(length), order.shape), 1)
    before = np.take_along_axis(rank, start, 1)  # tokens that come before the word

    share = np.minimum(settings.rate * maskable.sum(1, keepdims=True), most)  # [B, 1]
    wanted = (before == 0) | (before + size <= share) | (coin * size < share - before)
    return maskable & wanted & (before + size <= most)


def _units(maskable: Flags, words: Integers | None, most: int) -> tuple[Integers, Integers]:
    """For each token where its word starts, and its size [B, S], [B, S]; a word of over `most` is chosen by token."""
    place = np.broadcast_to(np.arange(maskable.shape[1]), maskable.shape)
    if words is None:
        return place, np.ones_like(place)
    begins = np.ones(maskable.shape, np.bool_)
    begins[:, 1:] = ~maskable[:, 1:] | ~maskable[:, :-1] | (words[:, 1:] != words[:, :-1])
    start = np.maximum.accumulate(np.where(begins, place, 0), axis=1)
    row = np.arange(len(maskable))[:, None] * maskable.shape[1]
    size = np.bincount((row + start).ravel(), minlength=maskable.size).reshape(maskable.shape)
    size = np.take_along_axis(size, start, 1)
    long = size > most
    return np.where(long, place, start), np.where(long, 1, size)
