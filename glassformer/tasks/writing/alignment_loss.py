"""One head of cross-attention learns which words belong together (Garg et al. 2019, §4.2), from what the heads of its
block look at together.

B rows · H heads · T tokens of the target · S tokens of the source
"""

from __future__ import annotations

import torch
from torch import Tensor

from glassformer.data.batches.corrupt import IGNORED
from glassformer.models.alignment import ALIGNMENT_HEAD
from glassformer.models.inputs import Batch
from glassformer.text.tokenizer import Tokenizer

ALIGNMENT = "alignment"


def loss_of_links(scores: Tensor, batch: Batch, labels: Tensor, tokenizer: Tokenizer) -> Tensor:
    """`alignment_loss` of the pairs of a batch, from the scores [B, H, T, S] of its targets' tokens, the labels
    [B, T].
    """
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
    """−Σ log A[t, s] over the links (t, s), where A are the weights of the head; at least in float32.

    A link are two tokens of which each is the one that the other has most to do with, by the mean weights of all heads,
    through which no gradient flows. `scores` [B, H, T, S] of cross-attention before the mask; `together` [B, T, S],
    True = of one pair; `source_text` [B, S] and `target_text` [B, T], True = neither padding nor a token around a text.
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
