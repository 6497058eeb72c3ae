"""The decoding loop: an iterator of steps for greedy search, sampling and beams.

Each row of the batch is one sentence with all its hypotheses. A sentence that is answered leaves its row, and a waiting
one takes it. No answer depends on the others of the batch.

R rows, one for each sentence · B hypotheses of a row · T tokens · K columns of the cache · V vocabulary · W width
N sentences that begin · P tokens of their prompts · M memory tokens · C candidates
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import torch
from torch import Tensor

from glassformer.decode.hypotheses import Hypotheses, Sentence, padded
from glassformer.decode.request import Finished, Request, SpecialIds, Step
from glassformer.decode.search import Search
from glassformer.decode.settings import DecodeSettings
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.parts.cache import Cache, SlotCache


def decode(
    model: Transformer,
    requests: Iterable[Request],
    settings: DecodeSettings,
    *,
    ids: SpecialIds,
    slots: int = 64,
) -> Iterator[Step]:
    """Answer requests in the order in which they finish, `slots` at a time; yields after each token."""
    with torch.inference_mode():
        loop = Loop(model, iter(requests), settings, ids, slots)
    while True:
        with torch.inference_mode():
            step = loop.step()
        if step is None:
            return
        yield step


class Waiting:
    """Sentences that have been begun together, and wait for free rows."""

    def __init__(
        self,
        sentences: list[Sentence],
        hypotheses: Hypotheses,
        cache: Cache,
        memory_real: Tensor | None,
        order: list[int],
    ) -> None:
        self.sentences, self.hypotheses, self.cache, self.memory_real = sentences, hypotheses, cache, memory_real
        self.order = order  # of those that wait


class Loop:
    """What the loop keeps from step to step."""

    def __init__(
        self, model: Transformer, requests: Iterator[Request], settings: DecodeSettings, ids: SpecialIds, slots: int
    ) -> None:
        self.model, self.requests, self.ids, self.slots = model, requests, ids, slots
        assert model.head is not None, "decoding needs a vocabulary head"
        self.head = model.head
        self.stack = model.output_stack
        self.device = model.word_table.device
        self.search = Search(settings, ids)
        self.waiting: Waiting | None = None
        self.exhausted = False
        self.rows: list[Sentence | None] = []
        self.hypotheses: Hypotheses | None = None
        self.cache = SlotCache(len(self.stack.blocks), 0)
        self.memory_real: Tensor | None = None

    def step(self) -> Step | None:
        """Fill free rows, feed the newest tokens, choose the next ones; None when all is answered."""
        finished = self.fill()
        if self.hypotheses is None or not any(self.rows):
            return Step(finished) if finished else None
        hypotheses = self.hypotheses
        logits, may_look = self.feed(hypotheses)
        hypotheses.look = may_look
        self.search.advance(hypotheses, logits, self.rows)
        finished += self.leave()
        numbers = tuple(None if each is None else each.request.number for each in self.rows)
        return Step(finished, numbers, hypotheses.tokens, hypotheses.begin, hypotheses.length)

    def feed(self, hypotheses: Hypotheses) -> tuple[Tensor, Tensor]:
        """Logits [R, B, V] of what follows the newest tokens, and the mask [R, B, K] with these tokens in the cache."""
        newest = hypotheses.length[:, None, None] - 1  # [R, 1, 1]
        beams = hypotheses.tokens.shape[1]
        token = hypotheses.tokens.gather(2, newest.expand(-1, beams, -1))[..., 0]  # [R, B]
        positions = newest[..., 0]  # [R, 1]
        look = hypotheses.look & (hypotheses.score > -torch.inf)[:, :, None]  # [R, B, K]
        may_look = self.cache.place(look, positions)  # [R, B, K]
        states = self.stack(
            Inputs(ids=token, positions=positions.expand(-1, beams), may_look=may_look),
            cache=self.cache,
            memory_real=self.memory_real,
        )  # [R, B, W]
        return self.scores(states), may_look

    def scores(self, states: Tensor) -> Tensor:
        """Logits in float32, or in float64 of such a model."""
        logits = self.head(states, self.model.word_table)
        return logits if logits.dtype == torch.float64 else logits.float()

    def leave(self) -> list[Finished]:
        """The sentences without unfinished hypotheses leave their rows."""
        assert self.hypotheses is not None
        alive = self.hypotheses.alive.tolist()
        finished = []
        for row, sentence in enumerate(self.rows):
            if sentence is not None and not alive[row]:
                finished.append(self.search.finished(sentence))
                self.rows[row] = None
        return finished

    def fill(self) -> list[Finished]:
        """Waiting sentences take free rows; without any, rows that nobody needs are given up."""
        finished: list[Finished] = []
        free = [row for row, sentence in enumerate(self.rows) if sentence is None]
        if self.hypotheses is None:
            free = list(range(self.slots))
        changed = False
        while free and not finished and not (self.exhausted and self.waiting is None):
            if self.waiting is None:
                finished += self.begin()
                continue
            take, self.waiting.order = self.waiting.order[: len(free)], self.waiting.order[len(free) :]
            rows, free = free[: len(take)], free[len(take) :]
            self.enter(self.waiting, rows, take)
            changed = True
            if not self.waiting.order:
                self.waiting = None
        live = [row for row, sentence in enumerate(self.rows) if sentence is not None]
        if (
            self.exhausted
            and self.waiting is None
            and live
            and self.hypotheses is not None
            and len(live) <= 0.75 * len(self.rows)
        ):
            kept = torch.tensor(live, device=self.device)  # [R]
            self.hypotheses.keep(kept)
            self.cache.keep(kept)
            self.rows = [self.rows[row] for row in live]
            changed = True
        if changed and self.model.encoder is not None:
            live = [row for row, sentence in enumerate(self.rows) if sentence is not None]
            self.memory_real = self.cache.trim_memory(torch.tensor(live, device=self.device))
        return finished

    def enter(self, waiting: Waiting, rows: list[int], of: list[int]) -> None:
        """These waiting sentences take these rows."""
        if self.hypotheses is None:
            self.hypotheses = Hypotheses.empty(waiting.hypotheses, len(rows))
            self.cache = SlotCache(len(self.stack.blocks), len(rows))
            self.rows = [None] * len(rows)
        where, which = torch.tensor(rows, device=self.device), torch.tensor(of, device=self.device)
        self.hypotheses.put(where, waiting.hypotheses, which)
        self.cache.put(where, waiting.cache, which, waiting.memory_real)
        for row, each in zip(rows, of, strict=True):
            self.rows[row] = waiting.sentences[each]

    def begin(self) -> list[Finished]:
        """The next sentences go through the encoder, their prompts through the decoder, and their first tokens are
        chosen.
        """
        sentences = [Sentence(request) for request in islice(self.requests, self.slots)]
        if len(sentences) < self.slots:
            self.exhausted = True
        if not sentences:
            return []
        requests = [sentence.request for sentence in sentences]
        memory, memory_real = None, None
        if self.model.encoder is not None:
            source, lengths = padded([request.source or () for request in requests], self.device)  # [N, M], [N]
            memory_real = torch.arange(source.shape[1], device=self.device) < lengths[:, None]  # [N, M]
            memory = self.model.encoder(Inputs(ids=source, real=memory_real))  # [N, M, W]
        given = [[*(request.prompt or (self.ids.begin,)), *request.prefix] for request in requests]
        tokens, lengths = padded(given, self.device)  # [N, P], [N]
        real = torch.arange(tokens.shape[1], device=self.device) < lengths[:, None]  # [N, P]
        cache = self.model.new_cache()
        states = self.stack(Inputs(ids=tokens, real=real), cache=cache, memory=memory, memory_real=memory_real)
        last = states[torch.arange(len(states), device=self.device), lengths - 1][:, None]  # [N, 1, W]
        logits = self.scores(last)  # [N, 1, V]
        hypotheses = self.search.begin(requests, tokens, lengths, logits)
        hypotheses.look = real[:, None].expand_as(hypotheses.tokens).clone()  # [N, B, P]
        self.search.advance(hypotheses, logits.expand(-1, hypotheses.score.shape[1], -1), sentences)
        alive = hypotheses.alive.tolist()
        order = [row for row in range(len(sentences)) if alive[row]]
        self.waiting = Waiting(sentences, hypotheses, cache, memory_real, order) if order else None
        return [self.search.finished(each) for row, each in enumerate(sentences) if not alive[row]]
