"""CTranslate2 for models that write: it searches, and its answers are ranked by our penalty of length.

T tokens of an answer · M tokens of its source
"""

import copy
import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from itertools import groupby, islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from glassformer.answering.engines.engine import Plan, Scores
from glassformer.base.later import Later
from glassformer.convert.ctranslate import cannot_convert, longest, write_ctranslate
from glassformer.decode.beam_search import length_penalty
from glassformer.decode.request import Finished, Hypothesis, Request
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.step import Step, Wanted
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Answered, Transformer
from glassformer.models.weights import cross_weights
from glassformer.tasks.predictor import Predictor
from glassformer.tasks.rows import Row, collate
from glassformer.tasks.writing.writers import Writer

_INT8 = "ctranslate2-int8", False, "int8"
# From so many rows on, it pays to import it, convert a model of 3 million weights and compare (docs/do/engines.md).
_FEW = 256
# Rows times weights of the stack that writes, from which on it pays to import and open it: 110 sentences of this model.
_OPENED = 2e8
# Tokens of the sentences that are searched together in each thread, padding included, whatever the number of beams.
_TOKENS = 2048
# Answers that our own stack reads at once, and tokens of which all vocabulary scores are in memory.
_READ, _SCORES = 32, 128
# Answers that the engine scores at once.
_SCORED = 32
# Weights from which on the threads share one batch: more than a processor keeps next to it.
_LARGE = 50_000_000
# It leaves a search early where the penalty is exactly 0; this one changes no score by more than 1e-8 of it.
_NO_PENALTY = 1e-9

# What only our own search has.
_OURS: tuple[str, ...] = ("groups", "coverage_penalty", "repetition_penalty", "no_repeat_ngram")
_OURS += ("min_tokens", "forced", "forbidden", "stop")
# Its beams end at so many times `beams` complete answers, where ours end when no better one can follow.
PATIENCE = {"exact": 1.6, "full": 1.0}


class CTranslate2:
    packages, least = ("ctranslate2",), 0.0

    def __init__(self, *, exact: bool = True) -> None:
        """In float32 where it is to be `exact`, else with matrices and their inputs of 8 bits."""
        self.name, self.exact, self.numbers = ("ctranslate2", True, "float32") if exact else _INT8
        self.weights: int | None = None  # once they are counted: an engine is that of one model

    def pays(self, model: Transformer, rows: int, tokens: int, *, ready: bool) -> bool:
        if not ready:
            return rows >= _FEW
        if self.weights is None:
            blocks = model.output_stack.blocks.parameters()
            self.weights = sum(value.numel() for value in blocks) + model.word_table.numel()
        return rows * self.weights >= _OPENED

    def plan(self, model: Transformer, predictor: Predictor[Any, Any], rows: Sequence[Row]) -> Plan | str:
        if not isinstance(predictor, Writer):
            return "it only writes"
        if reason := cannot_convert(model.config):
            return reason
        wanted = predictor.wanted(model)
        if reason := cannot_search(wanted):
            return reason
        return Plan(
            json.dumps([wanted.ids.begin, wanted.ids.end, wanted.ids.never]),
            convert=lambda folder: write_ctranslate(folder, model, wanted.ids),
            opened=lambda folder: CTranslated(model, folder, self.numbers),
            asked=wanted.kind,
        )


def cannot_search(wanted: Wanted) -> str:
    """Why CTranslate2 cannot search so, as the end of a sentence; "" where it can."""
    settings, usual = wanted.settings, DecodeSettings.model_fields
    if settings.method == "sample":
        return "samples follow our own seeds"
    if settings.method == "beam" and (settings.beams < 2 or settings.early_stopping not in PATIENCE):
        return "its beams stop in another way"
    name = next((name for name in _OURS if getattr(settings, name) != usual[name].default), None)
    if name is not None:
        return f"only our own search has {name}"
    return "" if wanted.ids.end else "the model has no token that ends a text"


class _Batch(NamedTuple):
    """Requests searched together, and the most tokens of an answer; `logs`: scores of tokens as they are chosen."""

    requests: list[Request]
    most: int
    results: list[Any]
    logs: list[list[float]] | None = None


class _Answer(NamedTuple):
    """An answer with its end: tokens, score, log-probability (None: not known), and whether the model ended it."""

    request: Request
    ids: tuple[int, ...]
    score: float | None
    total: float | None
    ended: bool


class CTranslated:
    """A model that CTranslate2 writes for, on as many threads as torch has: each searches a batch of its own, but where
    a step takes the time in which the weights are read from memory, they share one.
    """

    def __init__(self, model: Transformer, folder: Path, numbers: str = "float32") -> None:
        import ctranslate2

        kind = ctranslate2.Generator if model.encoder is None else ctranslate2.Translator
        threads = torch.get_num_threads()
        self.workers = 1 if sum(each.numel() for each in model.parameters()) > _LARGE else threads
        self.plain, self.used, self.most = model, 0, longest(model.config)
        split = {"inter_threads": self.workers, "intra_threads": threads // self.workers}
        self.engine: Any = kind(str(folder), device="cpu", compute_type=numbers, **split)
        self.model = copy.copy(model)
        self.model.loop = self.write
        self.name, self.computes, self.alone = "", Scores.NONE, None

    def write(self, requests: Iterable[Request], wanted: Wanted, own: Answered) -> Iterator[Step]:
        """Requests are searched a few batches ahead of the answers; those that it cannot answer come last."""
        left: list[Request] = []
        waiting: deque[_Batch] = deque()
        for some in together(requests, self.workers):
            mine = list[Request]()
            for request in some:
                (mine if self.can(request, wanted) else left).append(request)
            size = max(1, -(-len(mine) // self.workers))
            # Among prompts of several lengths it would take the rest of the longer ones for its own words.
            for _, alike in groupby(mine, key=lambda request: len(request.prompt or ())):
                while batch := list(islice(alike, size)):
                    waiting.append(self.begun(batch, wanted))
            while len(waiting) > 2 * self.workers:
                yield self.ended(waiting.popleft(), wanted, left)
        while waiting:
            yield self.ended(waiting.popleft(), wanted, left)
        if left:
            yield from own(left)

    def can(self, request: Request, wanted: Wanted) -> bool:
        if request.prefix or request.following or request.forced or {*request.forbidden} - {(wanted.ids.begin,)}:
            return False
        if self.plain.encoder is not None and request.prompt is not None:
            return False
        # The last token is not read. A forbidden start, Marian's padding, is looked for in the answers.
        read = len(request.prompt or (wanted.ids.begin,)) + _limit(request, wanted) - 1
        return self.most is None or max(read, len(request.source or ())) <= self.most

    def begun(self, requests: list[Request], wanted: Wanted) -> _Batch:
        settings, most = wanted.settings, max(_limit(request, wanted) for request in requests)
        options: dict[str, Any] = {
            "asynchronous": True,
            # A greedy search without them needs no sums over the vocabulary.
            "return_scores": settings.method == "beam" or self.computes > Scores.NONE,
            "return_end_token": True,
            "end_token": list(wanted.ids.end),
            "beam_size": 1,
            "length_penalty": _NO_PENALTY,
        }
        if settings.method == "beam":
            patience = PATIENCE[settings.early_stopping]
            options |= {"beam_size": settings.beams, "patience": patience}
            options |= {"num_hypotheses": int(settings.beams * patience)}
        if self.plain.encoder is None:
            prompts = [_named(request.prompt or (wanted.ids.begin,)) for request in requests]
            results = self.engine.generate_batch(
                prompts, max_length=most, min_length=0, include_prompt_in_result=False, **options
            )
            return _Batch(requests, most, results)
        logs: list[list[float]] | None = None
        if settings.method == "greedy" and self.computes is Scores.TOKENS and not wanted.attention:
            by_request: list[list[float]] = [[] for _ in requests]

            def chosen(step: Any) -> bool:
                by_request[step.batch_id].append(step.log_prob)
                return False

            options["callback"], logs = chosen, by_request
        results = self.engine.translate_batch(
            [_named(request.source or ()) for request in requests],
            max_input_length=0,  # it would cut silently
            max_decoding_length=most,
            min_decoding_length=0,
            **options,
        )
        return _Batch(requests, most, results, logs)

    def ended(self, batch: _Batch, wanted: Wanted, left: list[Request]) -> Step:
        """The answers of a batch; requests of which it has cut an answer elsewhere than we do are added to `left`."""
        answers: list[_Answer] = []
        finished: list[tuple[Request, int]] = []
        known: list[list[float]] = []
        penalties = length_penalty(torch.arange(batch.most + 1), wanted.settings).tolist()
        for place, (request, result) in enumerate(zip(batch.requests, batch.results, strict=True)):
            best = _best(request, result.result(), batch, penalties, wanted)
            if best is None or (request.forbidden and any(wanted.ids.begin in each.ids for each in best)):
                left.append(request)
                continue
            finished.append((request, len(best)))
            answers += best
            if batch.logs is not None:  # of a greedy search, which has one answer
                known.append(batch.logs[place][: len(best[0].ids)])
        self.used += len(finished)

        @cache
        def scored() -> list[list[float]]:
            """Of all answers, when the first is asked for: that takes the engine as long as most of the search."""
            return known or list(self.scored(answers, wanted))

        def logs_of(place: int) -> list[float]:
            self.computes = Scores.TOKENS
            return scored()[place]

        def total_of(place: int) -> tuple[float]:
            self.computes = max(self.computes, Scores.ANSWERS)
            return (sum(scored()[place]),)

        if wanted.attention:
            parts = (answers[start : start + _READ] for start in range(0, len(answers), _READ))
            read = (each for some in parts for each in _reread(self.plain, some, wanted))
            made = (
                _hypothesis(each, logs, sum(logs), looks) for each, (logs, looks) in zip(answers, read, strict=True)
            )
        else:
            made = (
                _hypothesis(each, Later(logs_of, place), Later(total_of, place) if each.total is None else each.total)
                for place, each in enumerate(answers)
            )
        return Step([Finished(request.number, list(islice(made, count))) for request, count in finished])

    def scored(self, answers: Sequence[_Answer], wanted: Wanted) -> Iterator[list[float]]:
        """The log-probability of each token of each answer, from the engine: one pass over all of them."""
        if self.plain.encoder is None:
            texts = [_named([*(each.request.prompt or (wanted.ids.begin,)), *each.ids]) for each in answers]
            scored = self.engine.score_batch(texts, max_input_length=0, max_batch_size=_SCORED)
            yield from (found.log_probs[-len(each.ids) :] for each, found in zip(answers, scored, strict=True))
            return
        last = wanted.ids.end[0]  # which it adds itself
        targets = [_named(each.ids[:-1] if each.ids[-1] == last else each.ids) for each in answers]
        sources = [_named(each.request.source or ()) for each in answers]
        scored = self.engine.score_batch(sources, targets, max_input_length=0, max_batch_size=_SCORED)
        for each, found in zip(answers, scored, strict=True):
            yield found.log_probs[: len(each.ids)]


def together(requests: Iterable[Request], threads: int) -> Iterator[list[Request]]:
    """Requests that keep all threads busy: at most so many tokens for each of them, padding included."""
    some: list[Request] = []
    longest_one = 0
    for request in requests:
        size = max(1, len(request.source or ()), len(request.prompt or ()))
        if some and max(longest_one, size) * (len(some) + 1) > _TOKENS * threads:
            yield some
            some, longest_one = [], 0
        some.append(request)
        longest_one = max(longest_one, size)
    if some:
        yield some


def _named(ids: Iterable[int]) -> list[str]:
    return list(map(str, ids))


def _limit(request: Request, wanted: Wanted) -> int:
    return wanted.settings.max_tokens if request.max_tokens is None else request.max_tokens


def _best(
    request: Request, result: Any, batch: _Batch, penalties: Sequence[float], wanted: Wanted
) -> list[_Answer] | None:
    """The best answers, ranked by our penalties; None where one was cut before its limit, or its end may be free."""
    limit, settings = _limit(request, wanted), wanted.settings
    beam, ends = settings.method == "beam", {str(each) for each in wanted.ids.end}
    found: list[_Answer] = []
    rows = getattr(result, "hypotheses", None) or result.sequences
    for tokens, total in zip(rows, result.scores or repeat(None, len(rows)), strict=True):
        whole = beam or len(tokens) <= limit
        tokens = tokens if whole else tokens[:limit]
        ended = bool(tokens) and tokens[-1] in ends
        cut_by_it = beam and limit != batch.most
        if len(tokens) >= limit + (not settings.forced_end) or (not ended and (settings.forced_end or cut_by_it)):
            return None
        score = total / penalties[len(tokens)] if beam else None
        found.append(_Answer(request, tuple(map(int, tokens)), score, total if whole else None, ended))
    return sorted(found, key=lambda each: -(each.score or 0.0))[: settings.n_best]


def _reread(
    model: Transformer, answers: Sequence[_Answer], wanted: Wanted
) -> Iterator[tuple[list[float], Tensor | None]]:
    """The log-probability of each token and, if wanted, its attention [T, M], from one run of our own stack."""
    given = [[*(each.request.prompt or (wanted.ids.begin,)), *each.ids] for each in answers]
    places = [(len(ids) - len(each.ids) - 1, len(ids) - 1) for ids, each in zip(given, answers, strict=True)]
    target, source = _padded([ids[:-1] for ids in given]), None
    if model.encoder is not None:
        source = _padded([each.request.source or () for each in answers])
    crossing = cross_weights(model.output_stack, wanted.attention, wanted.head) if wanted.attention else nullcontext()
    with crossing as weights:
        states = (model(target, heads=()) if source is None else model(source, target, heads=())).states  # [B, S, W]
    looks = None if weights is None else weights.mean()  # [B, S, M]
    assert model.head is not None
    right = torch.cat([torch.tensor(each.ids, dtype=torch.int64) for each in answers])  # [n]
    chosen = torch.cat([states[row, first:last] for row, (first, last) in enumerate(places)])  # [n, W]
    never = torch.tensor(wanted.ids.never, dtype=torch.int64)
    logs: list[float] = []
    for some, tokens in zip(chosen.split(_SCORES), right.split(_SCORES), strict=True):
        logits = model.head.own_logits(some, model.word_table).index_fill_(-1, never, -torch.inf)  # [n, V]
        logs += (logits.gather(1, tokens[:, None])[:, 0] - logits.logsumexp(dim=-1)).tolist()
    at = 0
    for row, ((first, last), each) in enumerate(zip(places, answers, strict=True)):
        mine = None if looks is None else looks[row, first:last, : len(each.request.source or ())]  # [T, M]
        yield logs[at : at + last - first], mine
        at += last - first


def _padded(rows: Sequence[Sequence[int]]) -> Inputs:
    return collate([Row(ids=row) for row in rows], pad_id=0).inputs


def _hypothesis(
    found: _Answer, logs: Sequence[float], total: float | Later[float], looks: Tensor | None = None
) -> Hypothesis:
    return Hypothesis(
        ids=found.ids[:-1] if found.ended else found.ids,
        score=total if found.score is None else found.score,
        log_probability=total,
        token_log_probabilities=logs,
        ended=found.ended,
        attention=looks,
        end=found.ids[-1] if found.ended else None,
    )
