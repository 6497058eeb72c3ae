"""CTranslate2 for models that write: it searches, and its answers are ranked by our penalty of length.

T tokens of an answer · M tokens of its source
"""

import copy
import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby, islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from glassformer.answering.engines.asked import PATIENCE, cannot_search, wanted_of
from glassformer.answering.engines.engine import Plan
from glassformer.convert.ctranslate import cannot_convert, longest, write_ctranslate
from glassformer.decode.request import Finished, Hypothesis, Request
from glassformer.decode.score import length_penalty
from glassformer.decode.step import Step, Wanted
from glassformer.models.alignment import cross_weights
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Answered, Transformer
from glassformer.tasks.predictor import Predictor
from glassformer.tasks.rows import Row, collate

_INT8 = "ctranslate2-int8", False, "int8"
# From so many rows on, it pays to import it, convert a model of 3 million weights and compare (docs/do/engines.md).
_FEW = 256
# Sentences that are searched together: in each thread, fewer with many beams.
_TOGETHER, _HYPOTHESES = 128, 512
# Answers that our own stack reads at once, and tokens of which all vocabulary scores are in memory.
_READ, _SCORES = 32, 128
# Answers that the engine scores at once.
_SCORED = 32
# It leaves a search early where the penalty is exactly 0; this one changes no score by more than 1e-8 of it.
_NO_PENALTY = 1e-9


class CTranslate2:
    packages, least = ("ctranslate2",), 0.0

    def __init__(self, *, exact: bool = True) -> None:
        """In float32 where it is to be `exact`, else with matrices and their inputs of 8 bits."""
        self.name, self.exact, self.numbers = ("ctranslate2", True, "float32") if exact else _INT8

    def pays(self, model: Transformer, rows: Sequence[Row], *, converted: bool) -> bool:
        return len(rows) >= _FEW

    def plan(self, model: Transformer, predictor: Predictor[Any, Any], rows: Sequence[Row]) -> Plan | str:
        if predictor.in_one_pass:
            return "it only writes"
        if reason := cannot_convert(model.config):
            return reason
        wanted = wanted_of(model, predictor, rows[0])
        if wanted is None:
            return "nothing is to be written"
        if reason := cannot_search(wanted):
            return reason
        depends = json.dumps([wanted.ids.begin, wanted.ids.end, wanted.ids.never])

        def convert(folder: Path) -> None:
            write_ctranslate(folder, model, wanted.ids)

        return Plan(depends, convert, lambda folder: CTranslated(model, folder, self.numbers), repr(wanted))


@dataclass
class _Batch:
    """Requests that are being searched, and the largest number of tokens of their answers. Of a greedy search `logs`
    has what the engine says of each token as it chooses it.
    """

    requests: list[Request]
    most: int
    results: list[Any]
    logs: list[list[float]]


class _Answer(NamedTuple):
    """An answer as it was found: its tokens with the end, its score, and whether the model has ended it."""

    request: Request
    ids: list[int]
    score: float
    ended: bool
    logs: Sequence[float] = ()


class CTranslated:
    """A model that CTranslate2 writes for, on as many threads as torch has."""

    def __init__(self, model: Transformer, folder: Path, numbers: str = "float32") -> None:
        import ctranslate2

        kind = ctranslate2.Generator if model.encoder is None else ctranslate2.Translator
        self.threads, self.plain, self.used, self.most = torch.get_num_threads(), model, 0, longest(model.config)
        self.engine: Any = kind(
            str(folder), device="cpu", compute_type=numbers, inter_threads=self.threads, intra_threads=1
        )
        self.model = copy.copy(model)
        self.model.loop = self.write

    def write(self, requests: Iterable[Request], wanted: Wanted, own: Answered) -> Iterator[Step]:
        """Requests are searched a few batches ahead of the answers; those that it cannot answer come last."""
        left: list[Request] = []
        waiting: deque[_Batch] = deque()
        each, asked = max(1, min(_TOGETHER, _HYPOTHESES // wanted.settings.width)), iter(requests)
        while some := list(islice(asked, each * self.threads)):
            mine = [request for request in some if self.can(request, wanted)]
            left += [request for request in some if not self.can(request, wanted)]
            size = max(1, -(-len(mine) // self.threads))
            # Among prompts of several lengths it would take the rest of the longer ones for its own words.
            for _, alike in groupby(mine, key=lambda request: len(request.prompt or ())):
                while together := list(islice(alike, size)):
                    waiting.append(self.begun(together, wanted))
            while len(waiting) > 2 * self.threads:
                yield self.ended(waiting.popleft(), wanted, left)
        while waiting:
            yield self.ended(waiting.popleft(), wanted, left)
        if left:
            yield from own(left)

    def can(self, request: Request, wanted: Wanted) -> bool:
        if request.prefix or request.following or request.forced or request.forbidden:
            return False
        if self.plain.encoder is not None and request.prompt is not None:
            return False
        # The last token is not read.
        read = len(request.prompt or (wanted.ids.begin,)) + _limit(request, wanted) - 1
        return self.most is None or max(read, len(request.source or ())) <= self.most

    def begun(self, requests: list[Request], wanted: Wanted) -> _Batch:
        settings, most = wanted.settings, max(_limit(request, wanted) for request in requests)
        options: dict[str, Any] = {
            "asynchronous": True,
            "return_scores": True,
            "return_end_token": True,
            "end_token": list(wanted.ids.end),
            "beam_size": 1,
        }
        if settings.method == "beam":
            patience = PATIENCE[settings.early_stopping]
            options |= {"beam_size": settings.beams, "patience": patience, "length_penalty": _NO_PENALTY}
            options |= {"num_hypotheses": int(settings.beams * patience)}
        if self.plain.encoder is None:
            prompts = [_named(request.prompt or (wanted.ids.begin,)) for request in requests]
            results = self.engine.generate_batch(
                prompts, max_length=most, min_length=0, include_prompt_in_result=False, **options
            )
            return _Batch(requests, most, results, [])
        logs: list[list[float]] = []
        if settings.method == "greedy" and not wanted.attention:
            logs = [[] for _ in requests]

            def chosen(step: Any) -> bool:
                logs[step.batch_id].append(step.log_prob)
                return False

            options["callback"] = chosen
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
        for place, (request, result) in enumerate(zip(batch.requests, batch.results, strict=True)):
            found = _found(request, result.result(), _limit(request, wanted), batch.most, wanted)
            if found is None:
                left.append(request)
                continue
            best = sorted(found, key=lambda each: -each.score)[: wanted.settings.n_best]
            if batch.logs:
                best = [each._replace(logs=batch.logs[place][: len(each.ids)]) for each in best]
            finished.append((request, len(best)))
            answers += best
        self.used += len(finished)
        if wanted.attention:
            read = reread(self.plain, answers, wanted)
        else:
            read = ((logs, None) for logs in (self.scored(answers, wanted) if not batch.logs else _known(answers)))
        made = map(_hypothesis, answers, read, repeat(wanted))
        return Step([Finished(request.number, list(islice(made, count))) for request, count in finished])

    def scored(self, answers: Sequence[_Answer], wanted: Wanted) -> Iterator[list[float]]:
        """The log-probability of each token of each answer, from the engine: one pass over all of them."""
        if self.plain.encoder is None:
            texts = [_named([*(each.request.prompt or (wanted.ids.begin,)), *each.ids]) for each in answers]
            for each, found in zip(answers, self.engine.score_batch(texts, max_batch_size=_SCORED), strict=True):
                yield found.log_probs[-len(each.ids) :]
            return
        last = wanted.ids.end[0]  # which it adds itself
        targets = [_named(each.ids[:-1] if each.ids[-1] == last else each.ids) for each in answers]
        sources = [_named(each.request.source or ()) for each in answers]
        scored = self.engine.score_batch(sources, targets, max_input_length=0, max_batch_size=_SCORED)
        for each, found in zip(answers, scored, strict=True):
            yield found.log_probs[: len(each.ids)]


def _known(answers: Iterable[_Answer]) -> Iterator[list[float]]:
    return (list(each.logs) for each in answers)


def _limit(request: Request, wanted: Wanted) -> int:
    return wanted.settings.max_tokens if request.max_tokens is None else request.max_tokens


def _named(ids: Iterable[int]) -> list[str]:
    return [str(number) for number in ids]


def _found(request: Request, result: Any, limit: int, most: int, wanted: Wanted) -> list[_Answer] | None:
    """All answers to a request; None where some were cut elsewhere than at its own limit."""
    settings = wanted.settings
    found = []
    for tokens, total in zip(getattr(result, "hypotheses", None) or result.sequences, result.scores, strict=True):
        ids = [int(token) for token in tokens]
        if settings.method == "greedy":
            ids = ids[:limit]
        ended = bool(ids) and ids[-1] in wanted.ids.end
        cut_by_it = settings.method == "beam" and limit != most
        if len(ids) > limit or (not ended and (settings.forced_end or cut_by_it)):
            return None
        penalty = float(length_penalty(torch.tensor(len(ids)), settings)) if settings.method == "beam" else 1.0
        found.append(_Answer(request, ids, total / penalty, ended))
    return found


def reread(
    model: Transformer, answers: Sequence[_Answer], wanted: Wanted
) -> Iterator[tuple[list[float], Tensor | None]]:
    """The log-probability of each token of each answer, its end among them, and where attention is wanted where each
    looked, [T, M]: our own stack reads all answers at once.
    """
    for start in range(0, len(answers), _READ):
        yield from _reread(model, answers[start : start + _READ], wanted)


def _reread(
    model: Transformer, answers: Sequence[_Answer], wanted: Wanted
) -> Iterator[tuple[list[float], Tensor | None]]:
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
    batch = collate([Row(ids=row) for row in rows], pad_id=0)
    return batch.inputs


def _hypothesis(found: _Answer, read: tuple[list[float], Tensor | None], wanted: Wanted) -> Hypothesis:
    logs, looks = read
    total = sum(logs)
    return Hypothesis(
        ids=tuple(found.ids[:-1] if found.ended else found.ids),
        score=found.score if wanted.settings.method == "beam" else total,
        log_probability=total,
        token_log_probabilities=tuple(logs),
        ended=found.ended,
        attention=looks,
        end=found.ids[-1] if found.ended else None,
    )
