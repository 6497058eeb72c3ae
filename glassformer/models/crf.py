"""A linear-chain conditional random field: labels of a text scored together (Lafferty et al. 2001).

B sentences · S tokens · L labels
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from glassformer.models.chain import Chain, viterbi


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
        begun = torch.zeros_like(scored[:, :1])  # [B, 1]
        total = torch.zeros_like(logits[:, 0])  # [B, L]
        for token in range(logits.shape[1]):
            here = scored[:, token, None]  # [B, 1]
            reached = (total[:, :, None] + self.steps).logsumexp(dim=1)  # [B, L]
            total = (reached.where(begun, self.first) + logits[:, token]).where(here, total)
            begun = begun | here
        return (total + self.last).logsumexp(dim=1).where(begun[:, 0], torch.zeros_like(total[:, 0]))
