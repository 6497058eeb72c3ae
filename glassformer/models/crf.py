"""A linear-chain conditional random field: labels of a text scored together (Lafferty et al. 2001).

B sentences · S tokens · L labels · N the most scored tokens of a sentence
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from glassformer.models.chain import Chain
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
        """The trained scores, for decoding."""
        return Chain(*(each.detach().cpu().double().numpy() for each in (self.steps, self.first, self.last)))

    def log_likelihood(self, logits: Tensor, labels: Tensor, scored: Tensor) -> Tensor:
        """The log-probability of each sequence, [B]: logits [B, S, L], labels [B, S] and scored [B, S] bool. 0 for a
        sequence without scored tokens. At least float32. Can be differentiated once.
        """
        logits = logits if logits.dtype == torch.float64 else logits.float()
        labels = labels.where(scored, 0)  # [B, S]
        # Of two sums of large scores the difference would have few digits in float32. So the logits are taken less that
        # of the right label, and the steps less the largest: the score of the right labels is then that of their steps,
        # and both sums are near 0 where the model is right.
        logits = logits - logits.gather(2, labels[..., None])  # [B, S, L]
        own = self._scores_below_0(logits.dtype)
        return _score_of_steps(labels, scored, *own) - _differentiable(logits, scored, *own)  # [B]

    def divergence(
        self, logits: Tensor, scored: Tensor, teacher: Crf, teacher_logits: Tensor, temperature: float = 1.0
    ) -> Tensor:
        """KL(teacher ‖ this CRF) of the probabilities of whole sequences, all scores divided by the temperature, [B]:
        logits of both [B, S, L] and scored [B, S] bool. 0 for a sequence without scored tokens. At least float32. Can
        be differentiated once, by the numbers of this CRF and its logits.
        """
        # Σ p · (score of p − score of q) − log Z of p + log Z of q: the mean of a sum of scores needs no more than how
        # often the teacher has each label, step, first and last label.
        kind = torch.promote_types(torch.promote_types(logits.dtype, teacher_logits.dtype), torch.float32)
        sums = []
        for crf, own in ((teacher, teacher_logits), (self, logits)):
            own = own.to(kind)
            own = (own - own.detach().amax(dim=2, keepdim=True)) / temperature  # [B, S, L]
            sums.append((own, *(each / temperature for each in crf._scores_below_0(kind))))
        (theirs, *steps), mine = sums
        with torch.no_grad():
            total_of = _operator if torch.compiler.is_compiling() else _log_total
            total, *counts = total_of(theirs, scored, *steps)  # [B], of each label, step, first and last label
        right, found = _mean_score((theirs, *steps), counts), _mean_score(mine, counts)  # [B], [B]
        return (right - total).detach() - (found - _differentiable(mine[0], scored, *mine[1:]))  # [B]

    def _scores_below_0(self, kind: torch.dtype) -> list[Tensor]:
        """The scores in this type, each kind shifted to at most 0, so that sums stay near 0."""
        own = [each.to(kind) for each in (self.steps, self.first, self.last)]
        return [each - each.detach().max() for each in own]

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


def _mean_score(scores: Sequence[Tensor], counts: Sequence[Tensor]) -> Tensor:
    """The mean score of a sequence, [B], from how often each logit, step, first and last label occurs."""
    return torch.stack([(each * of).flatten(1).sum(dim=1) for each, of in zip(scores, counts, strict=True)]).sum(dim=0)


def _score_of_steps(labels: Tensor, scored: Tensor, steps: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """The score of one sequence of labels in each row without its logits, [B]."""
    places = torch.arange(labels.shape[1], device=labels.device)  # [S]
    newest = places.where(scored, -1).cummax(dim=1).values  # [B, S]: the last scored token up to each
    source = torch.cat([torch.full_like(newest[:, :1], -1), newest[:, :-1]], dim=1)  # [B, S]: the one before it
    before = labels.gather(1, source.clamp(min=0))  # [B, S]
    step = steps[before, labels].where(source >= 0, first[labels])  # [B, S]
    end = newest[:, -1:]  # [B, 1]
    ending = last[labels.gather(1, end.clamp(min=0))] * (end >= 0)  # [B, 1]
    return (step * scored).sum(dim=1) + ending[:, 0]


def _log_total(
    logits: Tensor, scored: Tensor, steps: Tensor, first: Tensor, last: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The logarithm of the sum of exp(score) over all sequences of labels, [B], and its derivatives: the probability of
    each label of each token [B, S, L], how often each label follows each other one [B, L, L], and the probabilities of
    the first label [B, L] and of the last one [B, L].

    By the forward–backward algorithm with scaling (Rabiner 1989, §V.A), over the scored tokens alone. The largest of
    the steps, of the first and of the last labels is 0, as `_scores_below_0` gives them: no exponential overflows. In
    the type of the logits: autocast to bfloat16 would leave two digits of the sum.
    """
    with torch.autocast(logits.device.type, enabled=False):
        count = scored.sum(dim=1)  # [B]
        longest = int(count.max())
        tokens = scored.int().argsort(dim=1, descending=True, stable=True)[:, :longest, None]  # [B, N, 1]
        tokens = tokens.expand(-1, -1, logits.shape[2])  # [B, N, L]
        there = (torch.arange(longest, device=logits.device) < count[:, None])[..., None]  # [B, N, 1]
        own = logits.gather(1, tokens)  # [B, N, L]
        tops = own.amax(dim=2, keepdim=True)  # [B, N, 1]
        emitted, follows = (own - tops).exp(), steps.exp()  # [B, N, L], [L, L]
        begins, ends = first.exp(), last.exp()  # [L], [L]
        tiny = torch.finfo(logits.dtype).tiny

        forward, sizes = torch.empty_like(own), torch.ones_like(tops)  # [B, N, L], [B, N, 1]
        state = begins.expand(len(logits), -1)  # [B, L]
        for token in range(longest):
            reached = (state @ follows if token else state) * emitted[:, token]  # [B, L]
            size = reached.sum(dim=1, keepdim=True).clamp(min=tiny)  # [B, 1]
            sizes[:, token] = size.where(there[:, token], 1)
            state = forward[:, token] = (reached / size).where(there[:, token], state)
        ending = (state * ends).sum(dim=1, keepdim=True).clamp(min=tiny)  # [B, 1]
        total = ((sizes.log() + tops) * there).sum(dim=(1, 2)) + ending.log()[:, 0]  # [B]

        backward = torch.empty_like(own)  # [B, N, L]
        state = ends / ending  # [B, L]
        final = state
        for token in reversed(range(longest)):
            backward[:, token] = state
            here = emitted[:, token] * state / sizes[:, token]  # [B, L]
            state = (here @ follows.T if token else here).where(there[:, token], state)
        marginals = forward * backward * there  # [B, N, L]
        arriving = (emitted * backward / sizes * there)[:, 1:]  # [B, N-1, L]
        pairs = forward[:, :-1].transpose(1, 2) @ arriving * follows  # [B, L, L]
        some = (count > 0)[:, None]  # [B, 1]
        begun = marginals[:, 0] if longest else torch.zeros_like(final)  # [B, L]
        ended = (forward[:, -1] * final if longest else torch.zeros_like(final)).where(some, 0)  # [B, L]
        of_tokens = logits.new_zeros(logits.shape).scatter(1, tokens, marginals)  # [B, S, L]
        found = total.where(some[:, 0], 0), of_tokens, pairs, begun, ended
        return tuple(each.contiguous() for each in found)  # type: ignore[return-value]


def _differentiable(logits: Tensor, scored: Tensor, *own: Tensor) -> Tensor:
    """The logarithm of the sum over all sequences, [B], with its derivatives."""
    if torch.compiler.is_compiling():
        total: Tensor = _operator(logits, scored, *own)[0]
    else:
        total = _Eager.apply(logits, scored, *own)  # type: ignore[no-untyped-call]
    return total


class _Eager(torch.autograd.Function):
    """The sum with its derivatives, which the same loops give: torch's own backward pass takes three times as long."""

    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        total, *derivatives = _log_total(*inputs)
        ctx.save_for_backward(*derivatives)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return _derivatives(ctx, gradient)


def _derivatives(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
    of_tokens, pairs, begun, ended = ctx.saved_tensors
    return (
        gradient[:, None, None] * of_tokens,  # [B, S, L]
        None,
        (gradient[:, None, None] * pairs).sum(dim=0),  # [L, L]
        gradient @ begun,  # [L]
        gradient @ ended,  # [L]
    )


def _shapes(
    logits: Tensor, scored: Tensor, steps: Tensor, first: Tensor, last: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Empty tensors of the shapes of `_log_total`, for the compiler."""
    sentences, _, labels = logits.shape
    of_labels = logits.new_empty(sentences, labels)
    pairs = logits.new_empty(sentences, labels, labels)
    return logits.new_empty(sentences), logits.new_empty(logits.shape), pairs, of_labels, torch.empty_like(of_labels)


def _keep(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*output[1:])


# For compiled steps alone: one operator, because a compiler would unroll the loops. The first call of such an operator
# takes seconds, which eager steps need not wait for.
_operator = torch.library.custom_op("glassformer::crf_log_total", _log_total, mutates_args=())
_operator.register_fake(_shapes)
_operator.register_autograd(_derivatives, setup_context=_keep)
