"""The "masked word activity matrix" of the mask-matrix post, step by step, in its three readings.

The post gives each word a vector, fills row i with the dot products of all vectors with that of word i, sets
some cells to minus infinity and takes softmax. Its words and its code forbid different cells: hence the readings.
The family `mask_matrix` trains a model under each of them.

Q query words · K key words · W vector size
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, ShapeError
from glassformer.parts import mask as masks
from glassformer.parts.mask import Mask, Side, causal, everything, full, no_key, visible

Reading = Literal["code", "stated", "pairs"]
NothingToSee = Literal["itself", "zero"]


def itself() -> Mask:
    """Each word sees itself and nothing else."""
    return Mask("itself", lambda query, key: key.index[:, None, :] == query.index[:, :, None])


READINGS: dict[Reading, Mask] = {
    "code": itself(),  # what the post's code leaves: the identity, masked words too
    "stated": causal(),  # what its words state: "previous non-masked"
    "pairs": everything(),  # what its words say elsewhere: "all possible pairs"
}


def mask_of(reading: Reading, window: int | None = None, prefix: int = 0, padding: int = 0) -> Mask:
    """The mask of a reading: within a window, or among the first words; never a masked word or padding."""
    mask = READINGS[reading]
    mask = mask if window is None else mask & masks.window(window)
    mask = mask | masks.prefix(prefix) if prefix else mask
    mask = mask if reading == "code" else mask & visible()
    return mask & masks.padding() if padding else mask


@dataclass(frozen=True)
class ActivityMatrix:
    """The matrix and everything on the way to it, each [Q, K] with as many words on both sides.

    `empty` is the zero matrix it starts from, `pairs` the dot products of all pairs, `masked` the same with minus
    infinity where one may not look, `weights` the softmax of each row, `result` the rows laid into the zero matrix.
    `may_look` is what was allowed, True = may look: it can be handed to a model as `Inputs(may_look=…)`.
    `without_keys` are the positions of the words that had nothing to look at, and `rule` what was done about them.
    """

    reading: Reading
    mask: str
    rule: NothingToSee
    without_keys: tuple[int, ...]
    empty: Tensor
    pairs: Tensor
    masked: Tensor
    weights: Tensor
    result: Tensor
    allowed: Tensor
    window: int | None = None
    prefix: int = 0
    padding: int = 0

    @property
    def steps(self) -> dict[str, Tensor]:
        return {name: getattr(self, name) for name in ("empty", "pairs", "masked", "weights", "result")}

    @property
    def may_look(self) -> Tensor:
        """Who may look at whom, [1, Q, K], as a model's `Inputs` take it."""
        return self.allowed[None]

    def __str__(self) -> str:
        if not self.without_keys:
            return f"{self.reading}: {self.mask}"
        places = ", ".join(str(place) for place in self.without_keys)
        outcome = "looks at itself" if self.rule == "itself" else "is a row of zeros"
        return f"{self.reading}: {self.mask}; word {places} would have nothing to look at and {outcome}"


def activity_matrix(
    features: Tensor,
    masked_words: Sequence[int] = (),
    *,
    reading: Reading = "stated",
    nothing_to_see: NothingToSee = "itself",
    window: int | None = None,
    prefix: int = 0,
    padding: int = 0,
) -> ActivityMatrix:
    """The matrix for words with these vectors, [Q, W], of which those at the positions `masked_words` are masked.

    `reading` is `code` (what the post's code does: a word sees itself alone), `stated` (a word sees itself and those
    before it, never a masked one) or `pairs` (a word sees every word that is not masked). In the last two a word may be
    left with nothing to look at, as a masked first word is; `nothing_to_see` says whether it then looks at `itself` or
    stays `zero` (in a model whose fill is finite, the fill's own arithmetic decides about such a row: prefer `itself`
    there). A `window` leaves the words at most so many places away, a `prefix` lets every word see the first so many
    words wherever it is, and the last `padding` words are padding, which no word sees.
    Raises ShapeError when `features` is no matrix or `masked_words` names a word that is not there, ConfigError for an
    unknown reading or rule and for a window below 1, a prefix or padding below 0.
    """
    if not isinstance(features, Tensor) or features.dim() != 2 or not features.is_floating_point():
        got = f"{features.dtype} {list(features.shape)}" if isinstance(features, Tensor) else type(features).__name__
        raise ShapeError("features must be a matrix of floating-point numbers, one vector for each word", got=got)
    words = len(features)
    wrong = [place for place in masked_words if not 0 <= place < words]
    if wrong:
        raise ShapeError(f"masked_words must be positions from 0 to {words - 1}", got=str(wrong[0]))
    if reading not in READINGS:
        raise ConfigError(f"a reading must be one of {', '.join(READINGS)}", got=repr(reading))
    if nothing_to_see not in ("itself", "zero"):
        raise ConfigError("nothing_to_see must be 'itself' or 'zero'", got=repr(nothing_to_see))
    for name, value, least in (("window", window, 1), ("prefix", prefix, 0), ("padding", padding, 0)):
        if value is not None and value < least:
            raise ConfigError(f"{name} must be a number of words, at least {least}", got=str(value))
    is_masked = torch.zeros(1, words, dtype=torch.bool, device=features.device)
    is_masked[0, list(masked_words)] = True
    index = torch.arange(words, device=features.device)[None]
    side = Side(index, real=index < words - padding, masked_words=is_masked)
    mask = mask_of(reading, window, prefix, padding)
    allowed = full(mask(side, side), side, side)[0]  # [Q, K]
    alone = no_key(allowed)[:, 0]  # [Q]
    if nothing_to_see == "itself":
        allowed = allowed | torch.diag(alone)
    empty = features.new_zeros(words, words)  # [Q, K]
    pairs = features @ features.T  # [Q, K]
    masked = pairs.masked_fill(~allowed, float("-inf"))
    # A row of nothing but minus infinities would divide zero by zero.
    weights = masked.masked_fill(no_key(allowed), 0.0).softmax(dim=-1).masked_fill(no_key(allowed), 0.0)
    return ActivityMatrix(
        reading=reading,
        mask=str(mask),
        rule=nothing_to_see,
        without_keys=tuple(alone.nonzero()[:, 0].tolist()),
        empty=empty,
        pairs=pairs,
        masked=masked,
        weights=weights,
        result=empty + weights,
        allowed=allowed,
        window=window,
        prefix=prefix,
        padding=padding,
    )
