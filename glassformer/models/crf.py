"""A linear-chain conditional random field: labels of a text scored together (Lafferty et al. 2001).

B sentences · S tokens · L labels
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.models.chain import Chain, viterbi
from glassformer.parts.tap import tap


class Crf(nn.Module):
    """A score for each label after each other one, and for the first and the last label of a sequence.

    The score of a sequence of labels is the sum of its tokens' logits, of its steps from label to label, of its first
    and of its last label; its probability is exp(score) divided by the sum of exp(score) over all sequences.
    Tokens that are not `scored` are passed over: the labels before and after them are neighbours.
    """

    def __init__(self, labels: int) -> None:
        super().__init__()
        self.steps = nn.Parameter(torch.zeros(labels, labels))  # from the row to the column
        self.first = nn.Parameter(torch.zeros(labels))
        self.last = nn.Parameter(torch.zeros(labels))
        self.taps = ("totals", "log_total", "best", "best_score", "path", "log_probability")

    @property
    def chain(self) -> Chain:
        """The trained scores, in float64 on the CPU."""
        steps, first, last = (each.detach().cpu().double() for each in (self.steps, self.first, self.last))
        return Chain(steps, first, last)

    def decode(self, logits: Tensor, scored: Tensor) -> Tensor:
        """The labels of the likeliest sequence, [B, S], 0 where not scored: logits [B, S, L] and scored [B, S] bool."""
        return viterbi(logits, scored, Chain(self.steps, self.first, self.last))

    def log_likelihood(self, logits: Tensor, labels: Tensor, scored: Tensor) -> Tensor:
        """The log-probability of each sequence, [B]: logits [B, S, L], labels [B, S] and scored [B, S] bool.

        0 for a sequence without scored tokens. At least float32.
        """
        logits = logits if logits.dtype == torch.float64 else logits.float()
        return self._score(logits, labels, scored) - self._log_total(logits, scored)  # [B]

    def _score(self, logits: Tensor, labels: Tensor, scored: Tensor) -> Tensor:
        """The score of one sequence of labels in each row, [B]."""
        labels = labels.where(scored, 0)  # [B, S]
        score = logits.new_zeros(len(logits))  # [B]
        before, begun = labels[:, 0], torch.zeros_like(scored[:, 0])
        for token in range(logits.shape[1]):
            label, here = labels[:, token], scored[:, token]
            step = self.steps[before, label].where(begun, self.first[label])  # [B]
            own = logits[:, token].gather(1, label[:, None])[:, 0]  # [B]
            score = score + (own + step) * here
            before, begun = label.where(here, before), begun | here
        return score + self.last[before] * begun

    def _log_total(self, logits: Tensor, scored: Tensor) -> Tensor:
        """The logarithm of the sum of exp(score) over all sequences of labels, [B], by the forward algorithm."""
        total = self._table(logits, scored, torch.logsumexp)[:, -1]  # [B, L]
        return (total + self.last).logsumexp(dim=1).where(scored.any(dim=1), torch.zeros_like(total[:, 0]))

    def _table(self, logits: Tensor, scored: Tensor, over: Callable[[Tensor, int], Tensor]) -> Tensor:
        """Token by token, for each label all sequences that end with it, put together by `over`: [B, S, L]. A token
        that is not scored has the numbers of the one before it, or 0.
        """
        begun = torch.zeros_like(scored[:, :1])  # [B, 1]
        found, table = torch.zeros_like(logits[:, 0]), []  # [B, L]
        for token in range(logits.shape[1]):
            here = scored[:, token, None]  # [B, 1]
            reached = over(found[:, :, None] + self.steps, 1)  # [B, L]
            found = (reached.where(begun, self.first) + logits[:, token]).where(here, found)
            table.append(found)
            begun = begun | here
        return torch.stack(table, dim=1)  # [B, S, L]

    def show(self, logits: Tensor, scored: Tensor) -> None:
        """Show to whoever looks what the CRF makes of logits [B, S, L]: the forward algorithm's table, the logarithm of
        its sum, Viterbi's table (Viterbi 1967), the score of its best sequence, that sequence, 1 at its labels, and the
        logarithm of its probability. 0 for a text without scored tokens.
        """
        zero, some = torch.zeros_like(logits[:, 0, 0]), scored.any(dim=1)  # [B], [B]
        totals = tap(self, "totals", self._table(logits, scored, torch.logsumexp))  # [B, S, L]
        log_total = tap(self, "log_total", (totals[:, -1] + self.last).logsumexp(dim=1).where(some, zero))  # [B]
        best = tap(self, "best", self._table(logits, scored, torch.amax))  # [B, S, L]
        score = tap(self, "best_score", (best[:, -1] + self.last).amax(dim=1).where(some, zero))  # [B]
        tap(self, "path", self._path(best, scored))  # [B, S, L]
        tap(self, "log_probability", score - log_total)  # [B]

    def _path(self, best: Tensor, scored: Tensor) -> Tensor:
        """1 at the labels of the best sequence, found from its end back to its first token: [B, S, L]."""
        onwards, path = self.last.expand_as(best[:, 0]), []  # [B, L]: what follows each label
        for token in reversed(range(best.shape[1])):
            here = scored[:, token, None]  # [B, 1]
            chosen = (best[:, token] + onwards).argmax(dim=1)  # [B]
            onwards = self.steps.T[chosen].where(here, onwards)  # [B, L]
            path.append(F.one_hot(chosen, best.shape[2]).to(best.dtype) * here)  # [B, L]
        return torch.stack(path[::-1], dim=1)  # [B, S, L]
