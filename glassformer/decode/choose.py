"""Choosing tokens: the best of all hypotheses' next tokens, or one for each hypothesis.

R rows, one for each sentence · B hypotheses of a row · V vocabulary · N blocks · L tokens of a block · C candidates
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

# Tokens of a block. The largest numbers of a row are in those blocks whose largest numbers are largest: only these are
# sorted.
BLOCK = 64
# Numbers that a processor's cache holds together with what is computed from them.
CACHED = 1 << 18


class Candidates(NamedTuple):
    """Hypotheses of one more token, best first, each [R, C]: their score, the hypothesis they go on from, the token."""

    score: Tensor
    parent: Tensor
    token: Tensor


def largest(numbers: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest numbers of each row [R, N] and where they are; of equal ones the first come first."""
    values, places = numbers.topk(count, dim=1)  # [R, count]
    last = values[:, -1:].clamp(min=torch.finfo(values.dtype).min)  # [R, 1]
    equal = ((values[:, 1:] == values[:, :-1]) & (values[:, 1:] >= last)).any(dim=1)  # [R]
    rows = (equal | ((numbers >= last).sum(dim=1) > count)).nonzero()[:, 0]  # torch's own choice has no such order
    if len(rows):
        ordered, order = numbers[rows].sort(dim=1, descending=True, stable=True)
        values[rows], places[rows] = ordered[:, :count], order[:, :count]
    return values, places


def log_totals(logits: Tensor) -> Tensor:
    """The logarithm of the sum of the exponentials, of which log-probabilities are short: [R, B, V] to [R, B]. On a
    processor by `log_softmax`, whose kernel takes half the time of `logsumexp`, some rows at a time: all at once the
    numbers would go to memory and back.
    """
    if logits.device.type != "cpu":
        return logits.logsumexp(dim=-1)
    parts = logits.flatten(0, 1).split(max(1, CACHED // logits.shape[2]))
    totals = [part.amax(dim=-1) - part.log_softmax(dim=-1).amax(dim=-1) for part in parts]
    return torch.cat(totals).view(logits.shape[:2])  # [R, B]


def block_tops(logits: Tensor) -> Tensor:
    """The largest number of each block, the last of which may be shorter: [R, B, V] to [R, B, N]."""
    whole = logits.shape[2] // BLOCK * BLOCK
    tops = logits[..., :whole].unflatten(-1, (-1, BLOCK)).amax(dim=-1)  # [R, B, N or N - 1]
    if whole == logits.shape[2]:
        return tops
    return torch.cat((tops, logits[..., whole:].amax(dim=-1, keepdim=True)), dim=-1)  # [R, B, N]


def best_tokens(logits: Tensor) -> Tensor:
    """The token of each hypothesis with the largest logit, of equal ones the lowest: [R, B, V] to [R, B]."""
    block = block_tops(logits).argmax(dim=-1, keepdim=True)  # [R, B, 1]
    token = block * BLOCK + torch.arange(BLOCK, device=logits.device)  # [R, B, L]
    token = token.clamp(max=logits.shape[2] - 1)
    return token.gather(2, logits.gather(2, token).argmax(dim=-1, keepdim=True))[..., 0]  # [R, B]


def best_candidates(logits: Tensor, offset: Tensor, count: int) -> Candidates:
    """The candidates with the largest logits [R, B, V] + offset [R, B] of a row; of equal ones the first."""
    _, beams, vocabulary = logits.shape
    bounds = block_tops(logits) + offset[:, :, None]  # [R, B, N]
    blocks = bounds.shape[-1]
    picked = min(count, beams * blocks)
    block = largest(bounds.flatten(1), picked)[1].sort(dim=1).values  # [R, picked]
    parent, start = block // blocks, block % blocks * BLOCK  # [R, picked]
    token = start[:, :, None] + torch.arange(BLOCK, device=logits.device)  # [R, picked, L]
    inside = token < vocabulary
    token = token.clamp(max=vocabulary - 1)
    flat = parent[:, :, None] * vocabulary + token  # [R, picked, L]
    total = logits.flatten(1).gather(1, flat.flatten(1)) + offset.gather(1, parent).repeat_interleave(BLOCK, dim=1)
    total = total.masked_fill(~inside.flatten(1), -torch.inf)  # [R, picked * L]
    score, place = largest(total, min(count, total.shape[1]))  # [R, C]
    if score.shape[1] < count:
        score, place = (
            F.pad(score, (0, count - score.shape[1]), value=-torch.inf),
            F.pad(place, (0, count - place.shape[1])),
        )
    return Candidates(score, parent.gather(1, place // BLOCK), token.flatten(1).gather(1, place))


def filtered(logits: Tensor, top_k: int | None, top_p: float | None, min_p: float | None) -> Tensor:
    """Logits [..., V] where tokens that must not be drawn are minus infinity; the likeliest token is always kept."""
    if top_k is not None and top_k < logits.shape[-1]:
        least = logits.topk(top_k, dim=-1).values[..., -1:]  # [..., 1]
        logits = logits.masked_fill(logits < least, -torch.inf)
    if top_p is not None and top_p < 1:
        ordered, order = logits.sort(dim=-1, descending=True, stable=True)
        before = ordered.softmax(dim=-1).cumsum(dim=-1).roll(1, dims=-1)  # [..., V]
        before[..., 0] = 0.0
        dropped = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, order, before >= top_p)
        logits = logits.masked_fill(dropped, -torch.inf)
    if min_p:
        least = logits.amax(dim=-1, keepdim=True) + torch.tensor(min_p, dtype=torch.float64).log().to(logits.dtype)
        logits = logits.masked_fill(logits < least, -torch.inf)
    return logits


def drawn(logits: Tensor, chance: Tensor) -> Tensor:
    """A token for each hypothesis, by its probability: logits [R, B, V] and numbers in [0, 1) [R, B] to [R, B]. The
    tokens' probabilities laid end to end have length 1; the token is the one that lies at the given number.
    """
    reached = logits.double().softmax(dim=-1).cumsum(dim=-1)  # [R, B, V]
    total = reached[..., -1]  # [R, B]
    at = (chance * total).minimum(total.nextafter(torch.zeros_like(total)))[..., None]  # [R, B, 1]
    # The first token beyond: one of probability 0 is never that.
    token = torch.searchsorted(reached, at.contiguous(), right=True)[..., 0]  # [R, B]
    return token.clamp(max=logits.shape[-1] - 1)  # where no token is allowed, any: its score is minus infinity
