"""What settings and requests change in the logits: repetition, the end, words that must not occur.

R rows, one for each sentence · B hypotheses of a row · T tokens · V vocabulary
F forbidden sequences · L tokens of one
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.decode.choose import log_totals
from glassformer.decode.hypotheses import Hypotheses
from glassformer.decode.settings import DecodeSettings, SpecialIds

Sequences = Sequence[Sequence[int]]
# In the table of forbidden sequences: any token, or none.
ANY, OUTSIDE = -1, -2


class Control:
    """The changes that the settings ask for; none costs anything where it is not asked for."""

    def __init__(self, settings: DecodeSettings, ids: SpecialIds) -> None:
        self.settings, self.ids = settings, ids
        self.listed: Sequence[Sequences] = ()
        self.table: Tensor | None = None  # [R, F, L], of the sequences listed

    def __call__(
        self,
        hypotheses: Hypotheses,
        logits: Tensor,
        log_total: Tensor,
        forbidden: Sequence[Sequences],
        following: Sequence[Sequence[int]] = (),
    ) -> tuple[Tensor, Tensor]:
        """The logits [R, B, V] to choose from, and the logarithm of the sum of their exponentials [R, B]. What is
        forbidden becomes minus infinity, and all but the tokens `following` of a row that has such; the others'
        probabilities stay what they were.
        """
        settings, given = self.settings, logits
        begun, place = hypotheses.length - hypotheses.begin, hypotheses.length + 1  # [R]
        if settings.repetition_penalty != 1:
            logits, log_total = self.without_repetition(hypotheses, logits, log_total)
        early = begun < settings.min_tokens  # [R]
        if settings.min_tokens and bool(early.any()):
            logits = _own(logits, given)
            for end in self.ids.end:
                logits[:, :, end] = logits[:, :, end].masked_fill(early[:, None], -torch.inf)
        if settings.no_repeat_ngram is not None:
            logits = _forbid(_own(logits, given), *repeated(hypotheses, settings.no_repeat_ngram))
        if any(forbidden):
            logits = _forbid(_own(logits, given), *self.forbidden(hypotheses, forbidden))
        if any(following):
            logits = _own(logits, given)
            for row, tokens in enumerate(following):
                if tokens:
                    others = torch.ones_like(logits[row, 0], dtype=torch.bool).index_fill(
                        0, torch.tensor(tokens, device=logits.device), False
                    )  # [V]
                    logits[row].masked_fill_(others, -torch.inf)
        if settings.forced_end:
            last = (place == hypotheses.limit)[:, None, None]  # [R, 1, 1]
            alone = torch.full_like(logits[0, 0], -torch.inf)  # [V]
            alone[self.ids.end[0]] = 0.0
            logits = torch.where(last, alone + log_total[:, :, None], logits)
        return logits, log_total

    def without_repetition(self, hypotheses: Hypotheses, logits: Tensor, log_total: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens that occurred in prompt or answer are less likely (Keskar et al. 2019, eq. 2)."""
        penalty = self.settings.repetition_penalty
        places = torch.arange(hypotheses.tokens.shape[2], device=logits.device)
        outside = (places >= hypotheses.length[:, None])[:, None]  # [R, 1, T]
        tokens = hypotheses.tokens.where(~outside, hypotheses.tokens[:, :, :1])  # [R, B, T]
        found = logits.gather(2, tokens)  # [R, B, T]
        if self.settings.penalized == "log_probabilities":
            found = (found - log_total[:, :, None]) * penalty + log_total[:, :, None]
            return logits.scatter(2, tokens, found), log_total
        logits = logits.scatter(2, tokens, torch.where(found > 0, found / penalty, found * penalty))
        return logits, log_totals(logits)

    def forbidden(self, hypotheses: Hypotheses, forbidden: Sequence[Sequences]) -> tuple[Tensor, Tensor]:
        """Which tokens would complete a forbidden sequence: [N, 2] row and hypothesis, [N] token."""
        if self.table is None or forbidden != self.listed:
            self.listed, self.table = forbidden, _table(forbidden, hypotheses.tokens.device)
        before, last = self.table[:, None, :, :-1], self.table[:, :, -1]  # [R, 1, F, L - 1], [R, F]
        tail = newest(hypotheses, before.shape[-1])[:, :, None]  # [R, B, 1, L - 1]
        matches = ((before == tail) | (before == ANY)).all(dim=-1) & (last >= 0)[:, None]  # [R, B, F]
        where = matches.nonzero()  # [N, 3]
        return where[:, :2], last[where[:, 0], where[:, 2]]


def repeated(hypotheses: Hypotheses, size: int) -> tuple[Tensor, Tensor]:
    """Which tokens would repeat a sequence of this size: [N, 2] row and hypothesis, [N] token."""
    tokens = hypotheses.tokens
    if tokens.shape[2] < size:
        return tokens.new_zeros(0, 2), tokens.new_zeros(0)
    windows = tokens.unfold(2, size, 1)  # [R, B, T - size + 1, size]
    tail = newest(hypotheses, size - 1)[:, :, None]  # [R, B, 1, size - 1]
    inside = torch.arange(windows.shape[2], device=tokens.device) + size <= hypotheses.length[:, None]
    where = ((windows[..., :-1] == tail).all(dim=-1) & inside[:, None]).nonzero()  # [N, 3]
    return where[:, :2], windows[where[:, 0], where[:, 1], where[:, 2], size - 1]


def newest(hypotheses: Hypotheses, count: int) -> Tensor:
    """The last tokens of each hypothesis, [R, B, count]; OUTSIDE where it has fewer."""
    places = hypotheses.length[:, None] - count + torch.arange(count, device=hypotheses.length.device)  # [R, count]
    at = places.clamp(min=0)[:, None].expand(-1, hypotheses.tokens.shape[1], -1)  # [R, B, count]
    return hypotheses.tokens.gather(2, at).masked_fill((places < 0)[:, None], OUTSIDE)


def _forbid(logits: Tensor, hypothesis: Tensor, token: Tensor) -> Tensor:
    logits[hypothesis[:, 0], hypothesis[:, 1], token] = -torch.inf
    return logits


def _own(logits: Tensor, given: Tensor) -> Tensor:
    """Logits that may be written to: those that were given may belong to a watcher."""
    return logits.clone() if logits is given else logits


def _table(forbidden: Sequence[Sequences], device: torch.device) -> Tensor:
    """Sequences of tokens, [R, F, L], each at the end of its row, ANY before it; ANY alone where there is none."""
    most = max(len(sequences) for sequences in forbidden)
    longest = max(len(sequence) for sequences in forbidden for sequence in sequences)
    rows = [
        [[ANY] * (longest - len(sequence)) + list(sequence) for sequence in sequences]
        + [[ANY] * longest] * (most - len(sequences))
        for sequences in forbidden
    ]
    return torch.tensor(rows, dtype=torch.int64, device=device)
