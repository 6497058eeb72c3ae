"""Which words of a source and its translation belong together: read from cross-attention, and learned by one of its
heads (Garg et al. 2019, §4.2), from what the heads of its block look at together.

L layers · B rows · H heads · T target tokens · S source tokens · X source words · Y target words
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from glassformer.base.errors import ShapeError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.inputs import Batch
from glassformer.models.weights import ALIGNMENT_HEAD
from glassformer.scoring.score import Integers, Reals
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.words import Span

ALIGNMENT = "alignment"


class Link(NamedTuple):
    """A target word and the source word it looks at most, as [start, end); `weight`: its share of attention."""

    source: Span
    target: Span
    weight: float

    def moved(self, source: int, target: int) -> Self:
        """The same words with this many characters before the two texts."""
        (a, b), (c, d) = self.source, self.target
        return self._replace(source=(a + source, b + source), target=(c + target, d + target))


def align(
    attention: Any,
    source_tokens: Sequence[Span],
    target_tokens: Sequence[Span],
    source_words: Sequence[Span],
    target_words: Sequence[Span],
) -> list[Link]:
    """The source word of each target word, in the order of the target.

    `attention` [T, S] has a row for each step that emitted a token. Tokens and words are characters [start, end) of
    their texts; a token without characters, such as the end of a sentence, belongs to no word, and its attention counts
    for none. A word gets the mean attention of its tokens to all tokens of a source word.

    Raises ShapeError where the attention has not a row for each target token and a column for each source token.
    """
    table = np.asarray(attention, np.float64)
    if table.shape != (len(target_tokens), len(source_tokens)):
        raise ShapeError(
            "attention must have a row for each target token and a column for each source token",
            got=f"{list(table.shape)} for {len(target_tokens)} and {len(source_tokens)} tokens",
        )
    by_word = _members(target_words, target_tokens) @ table @ _members(source_words, source_tokens).T  # [Y, X]
    total = by_word.sum(axis=1)  # [Y]
    found = list[Link]()
    for row in np.flatnonzero(total > 0).tolist():
        place = int(by_word[row].argmax())
        found.append(Link(source_words[place], target_words[row], float(by_word[row, place] / total[row])))
    return found


def _members(words: Sequence[Span], tokens: Sequence[Span]) -> Reals:
    """Which word each token belongs to, the one of which it has most characters, as ones of [words, tokens]."""
    owners = owner_words(words, tokens)
    table = np.zeros((len(words), len(tokens)))
    owned = np.flatnonzero(owners >= 0)
    table[owners[owned], owned] = 1
    return table


def owner_words(words: Sequence[Span], tokens: Sequence[Span]) -> Integers:
    """The word that has most characters of each token (the first of equals), -1 for none. Words are in order."""
    starts = np.array([start for start, _ in words], np.int64)
    ends = np.array([end for _, end in words], np.int64)
    found = np.full(len(tokens), -1, np.int64)
    for number, (start, end) in enumerate(tokens):
        first, last = np.searchsorted(ends, start, side="right"), np.searchsorted(starts, end, side="left")
        if first < last:
            shared = np.minimum(ends[first:last], end) - np.maximum(starts[first:last], start)
            found[number] = first + int(shared.argmax())
    return found


def loss_of_links(scores: Tensor, batch: Batch, labels: Tensor, tokenizer: Tokenizer) -> Tensor:
    """`alignment_loss` of a batch, from the scores [B, H, T, S] of its target tokens, the labels [B, T]."""
    assert batch.decoder_inputs is not None
    ids, source, target = batch.inputs.ids, batch.inputs.documents, batch.decoder_inputs.documents
    assert ids is not None
    assert source is not None
    assert target is not None
    return alignment_loss(
        scores,
        target[:, :, None] == source[:, None],  # [B, T, S]
        (source >= 0) & _inner(ids, tokenizer),  # [B, S]
        (labels != IGNORED) & _inner(labels, tokenizer.target),  # [B, T]
    )


def _inner(ids: Tensor, tokenizer: Tokenizer) -> Tensor:
    """Which tokens [B, S] are none of those that stand around each text."""
    found = torch.ones_like(ids, dtype=torch.bool)  # [B, S]
    for id_ in {each for side in tokenizer.frame_ids for each in side}:
        found = found & (ids != id_)
    return found


def alignment_loss(scores: Tensor, together: Tensor, source_text: Tensor, target_text: Tensor) -> Tensor:
    """−Σ log A[t, s] over the links (t, s), where A are the weights of the head; at least in float32. A link is two
    tokens, each the one that the other attends to most, by the mean weights of all heads, through which no gradient
    flows. `scores` [B, H, T, S] of cross-attention before the mask; `together` [B, T, S], True = of one pair;
    `source_text` [B, S] and `target_text` [B, T], True = neither padding nor a token around a text.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    least = torch.finfo(scores.dtype).min  # not minus infinity: of a row without any, that makes NaN
    logarithms = scores.masked_fill(~together[:, None], least).log_softmax(dim=-1)  # [B, H, T, S]
    possible = together & target_text[:, :, None] & source_text[:, None]  # [B, T, S]
    weights = logarithms.detach().exp().mean(dim=1).where(possible, -1.0)  # [B, T, S]
    share, source = weights.max(dim=2)  # [B, T], [B, T]
    target = weights.argmax(dim=1).gather(1, source)  # [B, T]
    linked = (target == torch.arange(target.shape[1], device=target.device)) & (share >= 0)  # [B, T]
    found = logarithms[:, ALIGNMENT_HEAD].gather(2, source[:, :, None])[..., 0]  # [B, T]
    return -found.where(linked, 0.0).sum()
