"""The decoding loop: an iterator of steps for greedy search, sampling and beams.

Each row of the batch is one sentence with all its hypotheses. A sentence that is answered leaves its row, and a waiting
one takes it. No answer depends on the others of the batch.

R rows, one for each sentence · B hypotheses of a row · T tokens · K columns of the cache · V vocabulary · W width
N sentences that begin · P tokens of their prompts · M memory tokens · C candidates
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, count, islice

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.decode.beam_search import Search
from glassformer.decode.hypotheses import Hypotheses, Sentence, padded
from glassformer.decode.request import (
    Finished,
    Request,
    bounded,
    check_request,
    forbidden_ids,
    forced_words,
    refuse_forbidden,
    with_marks,
)
from glassformer.decode.step import Step, Wanted
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.models.weights import Weights, all_weights, cross_weights
from glassformer.parts.cache import Cache, SlotCache
from glassformer.runtime.matrices import laid_out
from glassformer.runtime.threads import own_threads

# To lay the matrices out takes as long as some ten steps: a short text is written without.
LAID_OUT_AFTER = 16
# A step of so few sentences in so narrow a model gains less than 5 % from a second thread; and where other work takes
# that thread's core, each product waits for it: a story of 120 tokens took 28 s, with one thread 4.
FEW, NARROW = 4, 128
# Sentences that begin together: of more, short ones would be padded to the length of longer ones.
TOGETHER = 32


def decode(model: Transformer, requests: Iterable[Request], wanted: Wanted) -> Iterator[Step]:
    """Answer requests in the order in which they finish; yields after each token. Raises ConfigError for a request that
    no answer can satisfy; requests are taken up to `wanted.slots` ahead.
    """
    return model.loop(requests, wanted, partial(own_loop, model, wanted))


def own_loop(model: Transformer, wanted: Wanted, requests: Iterable[Request]) -> Iterator[Step]:
    """As `decode`, by this package."""
    settings, attention, head, ids_of = wanted.settings, wanted.attention, wanted.head, wanted.ids_of
    vocabulary = model.config.output_stack.embed.vocabulary
    if settings.forced or settings.forbidden:
        if ids_of is None:
            raise ConfigError("forced and forbidden words need ids_of, which makes tokens of text", got="None")
        words, forbidden = (
            forced_words(settings.forced, ids_of),
            forbidden_ids(settings.forbidden, ids_of, wanted.spelled),
        )
        if wanted.text_of is not None:
            forbidden += with_marks(settings.forbidden, wanted.text_of, vocabulary)
            refuse_forbidden([word.inside for word in words], forbidden, wanted.text_of)
        requests = (
            replace(each, forced=each.forced + words, forbidden=each.forbidden + forbidden) for each in requests
        )
    if wanted.text_of is not None:
        bound = cache(partial(bounded, text_of=wanted.text_of))
        requests = (replace(each, forced=tuple(map(bound, each.forced))) if each.forced else each for each in requests)
    family, blocks = model.config.family, len(model.output_stack.blocks)
    if model.head is None:
        raise ConfigError("decoding needs a model with a vocabulary head", got=family)
    if model.training:
        raise ConfigError("decoding needs a model in eval mode", got="one in training mode", do="call model.eval()")
    if wanted.slots < 1:
        raise ConfigError("decoding needs at least one slot", got=str(wanted.slots))
    if settings.stop and wanted.text_of is None:
        raise ConfigError("stop strings need text_of, which makes text of tokens", got="None")
    if settings.coverage_penalty and model.encoder is None:
        raise ConfigError("coverage_penalty needs a model with an encoder", got=family)
    if attention and model.encoder is None:
        raise ConfigError("attention to a source needs a model with an encoder", got=family)
    if wrong := [block for block in attention if not 0 <= block < blocks]:
        raise ConfigError(f"attention is that of blocks 0 to {blocks - 1}", got=str(wrong[0]))
    for block in attention:
        crossing = model.config.output_stack.blocks[block].cross_attention
        assert crossing is not None
        if head is not None and not 0 <= head < crossing.body.heads:
            raise ConfigError(f"a head of block {block} is one of 0 to {crossing.body.heads - 1}", got=str(head))
    if settings.coverage_penalty and not attention:
        attention = (len(model.output_stack.blocks) - 1,)
    wanted = replace(wanted, attention=attention, forced=wanted.forced or bool(settings.forced))
    loop = Loop(model, iter(requests), wanted)
    alone = loop.slots <= FEW and model.word_table.shape[1] <= NARROW
    with ExitStack() as prepared:
        for number in count():
            # Set in each step: what the caller computes between steps takes the caller's threads.
            with torch.inference_mode(), own_threads(1) if alone else nullcontext():
                if number == LAID_OUT_AFTER and loop.hypotheses is not None:
                    rows = loop.hypotheses.tokens.shape[0] * loop.hypotheses.tokens.shape[1]  # R · B
                    prepared.enter_context(laid_out(model, rows))
                step = loop.step()
            if step is None:
                return
            yield step


@dataclass
class Waiting:
    """Sentences that have been begun together; those of `order` wait for free rows."""

    sentences: list[Sentence]
    hypotheses: Hypotheses
    cache: Cache
    memory_real: Tensor | None
    order: list[int]


class Loop:
    """What the loop keeps from step to step."""

    def __init__(self, model: Transformer, requests: Iterator[Request], wanted: Wanted) -> None:
        first = list(islice(requests, wanted.slots))
        self.model, self.requests, self.search = model, chain(first, requests), Search(wanted)
        self.slots = max(1, len(first))  # few requests need fewer rows
        self.blocks, self.attention_head = wanted.attention, wanted.head
        self.attention = None if wanted.recorder is None else wanted.recorder.attention
        assert model.head is not None
        self.head = model.head
        self.stack = model.output_stack
        self.device = model.word_table.device
        never = wanted.ids.never
        self.never = torch.tensor(never, device=self.device) if never else None
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
        logits = self.feed(hypotheses)
        self.search.advance(hypotheses, logits, self.rows, self.memory_real)
        finished += self.leave()
        return Step(finished, tuple(self.rows), hypotheses)

    def feed(self, hypotheses: Hypotheses) -> Tensor:
        """Feed the newest tokens; logits [R, B, V] of what follows them."""
        newest = hypotheses.length[:, None, None] - 1  # [R, 1, 1]
        beams = hypotheses.tokens.shape[1]
        token = hypotheses.tokens.gather(2, newest.expand(-1, beams, -1))[..., 0]  # [R, B]
        positions = newest[..., 0]  # [R, 1]
        look = hypotheses.look & (hypotheses.score > -torch.inf)[:, :, None]  # [R, B, K]
        may_look = self.cache.place(look, positions)  # [R, B, K]
        with self.keeping() as seen, self.watching() as weights:
            states = self.stack(
                Inputs(ids=token, positions=positions.expand(-1, beams), may_look=may_look),
                cache=self.cache,
                memory_real=self.memory_real,
            )  # [R, B, W]
        hypotheses.look, hypotheses.places = may_look, self.cache.positions[:, : may_look.shape[2]]
        if self.attention is not None and seen is not None:
            self.attention.add(self.rows, hypotheses, seen.seen)
        if weights is not None:
            hypotheses.attend(weights.mean().to(hypotheses.score.dtype), self.cache.own.newest)
        return self.scores(states)

    def watching(self) -> AbstractContextManager[Weights | None]:
        """Within, the attention that is asked for is kept."""
        return cross_weights(self.stack, self.blocks, self.attention_head) if self.blocks else nullcontext()

    def keeping(self) -> AbstractContextManager[Weights | None]:
        """Within, the weights of all attentions are kept where a recorder wants them."""
        return all_weights(self.stack) if self.attention is not None else nullcontext()

    def scores(self, states: Tensor) -> Tensor:
        """Logits in float32, or in float64 of such a model; minus infinity for tokens that no answer has."""
        given = self.head.own_logits(states, self.model.word_table)  # [R, B, V]
        logits = given if given.dtype == torch.float64 else given.float()
        return logits if self.never is None else logits.index_fill_(-1, self.never, -torch.inf)

    def leave(self) -> list[Finished]:
        """The sentences without unfinished hypotheses leave their rows."""
        assert self.hypotheses is not None
        alive = self.hypotheses.alive  # [R]
        self.hypotheses.length = self.hypotheses.length.where(alive, 1)  # an empty row grows no further
        going_on = alive.tolist()
        finished = []
        for row, sentence in enumerate(self.rows):
            if sentence is not None and not going_on[row]:
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
            self.hypotheses = Hypotheses.empty(waiting.hypotheses, self.slots)
            self.cache = SlotCache(len(self.stack.blocks), self.slots)
            self.rows = [None] * self.slots
        where, which = torch.tensor(rows, device=self.device), torch.tensor(of, device=self.device)
        self.hypotheses.put(where, waiting.hypotheses, which)
        self.cache.put(where, waiting.cache, which, waiting.memory_real)
        for row, each in zip(rows, of, strict=True):
            self.rows[row] = waiting.sentences[each]

    def begin(self) -> list[Finished]:
        """Encode the next sentences, run their prompts through the decoder, and choose the first tokens."""
        most = min(self.slots, TOGETHER)
        sentences = [Sentence(request) for request in islice(self.requests, most)]
        if len(sentences) < most:
            self.exhausted = True
        if not sentences:
            return []
        requests = [sentence.request for sentence in sentences]
        for request in requests:
            check_request(request, self.search.settings, self.search.ids, self.model.config)
            if request.forced and not self.search.forced:
                raise ConfigError(f"request {request.number}: forced words of its own need forced = True", got="False")
        memory, memory_real = None, None
        if self.model.encoder is not None:
            source, lengths = padded([request.source or () for request in requests], self.device)  # [N, M], [N]
            memory_real = torch.arange(source.shape[1], device=self.device) < lengths[:, None]  # [N, M]
            memory = self.model.encoder(Inputs(ids=source, real=memory_real))  # [N, M, W]
        given = [[*(request.prompt or (self.search.ids.begin,)), *request.prefix] for request in requests]
        tokens, lengths = padded(given, self.device)  # [N, P], [N]
        real = torch.arange(tokens.shape[1], device=self.device) < lengths[:, None]  # [N, P]
        cache = self.model.new_cache()
        with self.keeping() as seen, self.watching() as weights:
            states = self.stack(Inputs(ids=tokens, real=real), cache=cache, memory=memory, memory_real=memory_real)
        if self.attention is not None and seen is not None:
            self.attention.begin(sentences, lengths.tolist(), seen.seen)
        last = states[torch.arange(len(states), device=self.device), lengths - 1][:, None]  # [N, 1, W]
        logits = self.scores(last)  # [N, 1, V]
        hypotheses = self.search.begin(requests, tokens, lengths, logits)
        if self.stack.max_length is not None:  # the last token of an answer is not fed
            hypotheses.limit = hypotheses.limit.clamp(max=self.stack.max_length + 1)
        hypotheses.look = real[:, None].expand_as(hypotheses.tokens).clone()  # [N, B, P]
        chosen = hypotheses.places >= hypotheses.begin[:, None] - 1  # [N, P]: what follows is of the answer
        if weights is not None:
            hypotheses.attention = weights.mean().to(logits.dtype) * real[:, :, None]  # [N, P, M]
            coverage = (hypotheses.attention * chosen[:, :, None]).sum(dim=1, keepdim=True)  # [N, 1, M]
            hypotheses.coverage = coverage.expand(-1, hypotheses.score.shape[1], -1).clone()  # [N, B, M]
        if any(request.prefix for request in requests):
            following = self.scores(states[:, :-1]).log_softmax(dim=-1)  # [N, P - 1, V]
            of_prefix = following.gather(2, tokens[:, 1:, None])[..., 0] * chosen[:, :-1]  # [N, P - 1]
            hypotheses.log_probabilities[:, :, 1:] = of_prefix[:, None]  # [N, B, P]
        logits = logits.expand(-1, hypotheses.score.shape[1], -1)  # [N, B, V]
        self.search.advance(hypotheses, logits, sentences, memory_real)
        alive = hypotheses.alive.tolist()
        order = [row for row in range(len(sentences)) if alive[row]]
        self.waiting = Waiting(sentences, hypotheses, cache, memory_real, order) if order else None
        return [self.search.finished(each) for row, each in enumerate(sentences) if not alive[row]]
