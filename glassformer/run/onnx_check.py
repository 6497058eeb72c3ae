"""Whether a graph gives what its model gives: its numbers (both compared with float64), answers, and scores on data.

B sentences · S tokens
"""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glassformer.answering.answers import predictor_for
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.convert.onnx.heads import FEATURES, ExportedHead
from glassformer.convert.onnx.network import treats_masks
from glassformer.convert.onnx.session import OnnxTransformer, Session
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.run.evaluate import evaluate
from glassformer.saved.artefact import Artefact
from glassformer.scoring.score import THIS_MODEL, Interval, Scores, interval
from glassformer.scoring.verdict import Difference, differences, intervals
from glassformer.tasks import task_named, task_where, verb_of
from glassformer.tasks.labels.labels import two_segments
from glassformer.tasks.passes import passes_of
from glassformer.tasks.predictor import SENTENCES, Predictor, predict
from glassformer.tasks.rows import Row, collate
from glassformer.text.windows import text_rows
from glassformer.training.progress import Progress

# A text of several windows.
LONG = " ".join(SENTENCES * 4)
# From the same numbers in float64 the graph may be so many times as far as the model in float32, and this share of the
# largest number: each product is a sum of hundreds of terms, and one in another order rounds otherwise, by chance.
FURTHER, SHARE = 8.0, 1e-6
REASON = (
    "float32 has 24 bits, and sums in another order round differently: from the same numbers in float64, onnxruntime "
    "may be 8 times as far as glassformer, and a millionth of the largest number"
)
# Tokens of the longest row of random tokens, where the model sets no limit or a higher one.
_LONGEST = 160


@dataclass(frozen=True)
class Deviation:
    """One output: how far onnxruntime is from glassformer, each is from float64, and onnxruntime may be."""

    output: str
    largest: float
    onnxruntime: float
    glassformer: float
    allowed: float


@dataclass(frozen=True)
class Checked:
    """What was compared: texts, rows, alone and in batches; `same` of `answers` are the same."""

    deviations: tuple[Deviation, ...]
    rows: int
    shortest: int
    longest: int
    same: int
    answers: int


@dataclass(frozen=True)
class Score:
    """A score with 95 % intervals of the model, of the graph in float32 and in 8 bits, and what the latter loses."""

    name: str
    glassformer: Interval
    float32: Interval
    int8: Interval | None = None
    lost: Interval | None = None


@dataclass(frozen=True)
class Int8Loss:
    """What 8 bits cost: by output the largest deviation, answers that changed, and the least cosine of vectors."""

    largest: Mapping[str, tuple[float, float]]
    changed: int
    answers: int
    least_cosine: float | None = None


class Check:
    """Compares graphs with their model, on `texts`; raises ConfigError for texts where it reads more than one."""

    def __init__(self, model: Artefact, head: ExportedHead, texts: Sequence[str] = ()) -> None:
        self.model, self.head = model, head
        self.predictor = None if head.name == FEATURES else predictor_with(model, head)
        pairs = getattr(self.predictor, "pairs", None) is True
        if texts and (pairs or (self.predictor is not None and self.predictor.reads_several)):
            raise ConfigError(
                "texts can check only a model that reads a single text",
                got=f"a model for {model.task_name}",
                do="leave the texts out, or give labelled records with --data",
            )
        given = [*texts] or [*SENTENCES, LONG]
        records = [] if self.predictor is None else [self.predictor.record_of(text) for text in given]
        if pairs:
            records = [{**each, "pair": SENTENCES[place % 3]} for place, each in enumerate(records)]
        self.examples = [] if self.predictor is None else [self.predictor.example(each, "") for each in records]
        self.rows = list(self._rows(given))
        self.drawn = list(self._drawn())

    def _rows(self, texts: Sequence[str]) -> Iterator[Row]:
        if self.predictor is not None:
            for example in self.examples:
                yield from self.predictor.rows(example)
            return
        segmented = two_segments(self.model.config)
        for text in texts:
            for ids, segments in text_rows(self.model.tokenizer, text, length=self.model.row_tokens):
                yield Row(ids=ids, segments=segments if segmented else None)

    def _drawn(self) -> Iterator[Row]:
        """Rows of random tokens: a text may be all unknown words to a vocabulary."""
        generator = torch.Generator().manual_seed(0)
        longest = min(self.model.row_tokens or _LONGEST, _LONGEST)
        for size in sorted({1, 2, max(longest // 3, 1), longest}):
            tokens = torch.randint(self.model.config.output_stack.embed.vocabulary, (size,), generator=generator)
            ids, mask = tokens.tolist(), self.model.tokenizer.mask_id
            marks = [id_ == mask for id_ in ids] if treats_masks(self.model.config) else None
            yield Row(ids=ids, masked_words=marks)

    def _batches(self, rows: Sequence[Row]) -> Iterator[Inputs]:
        pad = self.model.tokenizer.pad_id or 0
        rows = sorted(rows, key=lambda row: -len(row.ids))
        for row in rows:
            yield collate([row], pad_id=pad).inputs
        for chosen in passes_of([len(row.ids) for row in rows], caches=False):
            yield collate([rows[place] for place in chosen], pad_id=pad).inputs

    def checked(self, session: Session) -> Checked:
        """How far the graph is from the model; raises CheckpointError where it is further than rounding explains."""
        exact = copy.deepcopy(self.model.module).double()
        found: dict[str, list[float]] = {answer.name: [0.0] * 4 for answer in self.head.answers}
        rows = [*self.rows, *self.drawn]
        for inputs in self._batches(rows):
            ours, judge = self._answers(self.model.module, inputs), self._answers(exact, inputs)
            theirs = session.run(inputs)
            for name, worst in found.items():
                wide = theirs[name].double()
                numbers = (wide - ours[name], wide - judge[name], ours[name] - judge[name], judge[name])
                worst[:] = [_larger(one, _largest(two)) for one, two in zip(worst, numbers, strict=True)]
        deviations = tuple(
            Deviation(name, apart, of_graph, own, FURTHER * own + SHARE * max(scale, 1.0))
            for name, (apart, of_graph, own, scale) in found.items()
        )
        for each in deviations:
            if not each.onnxruntime <= each.allowed:
                raise CheckpointError(
                    f"the graph must give what the model gives: {each.output} within {each.allowed:.1e}",
                    got=f"a difference of {each.onnxruntime:.1e}",
                    do="nothing was written; please report it with the model's `glassformer info`",
                )
        sizes = [len(row.ids) for row in rows]
        same, answers = self._same(self.model.module, self.graph(session))
        return Checked(deviations, len(rows), min(sizes), max(sizes), same, answers)

    def _answers(self, module: Transformer, inputs: Inputs) -> dict[str, Tensor]:
        ids = inputs.ids
        assert ids is not None
        masked = inputs.masked_words
        if masked is None and treats_masks(module.config):
            masked = torch.eq(ids, -1 if self.model.tokenizer.mask_id is None else self.model.tokenizer.mask_id)
        real = torch.ones_like(ids, dtype=torch.bool) if inputs.real is None else inputs.real
        whole = replace(inputs, masked_words=masked, real=real)
        with torch.inference_mode():
            output = module(whole, heads=self.head.heads)
            return {answer.name: answer.of(output, whole) for answer in self.head.answers}

    def graph(self, session: Session) -> Transformer:
        return OnnxTransformer(self.model.module, session, self.head)

    def _same(self, one: Transformer, two: Transformer) -> tuple[int, int]:
        """How many answers of two models are the same, of how many; (0, 0) where they are no words or labels."""
        if self.predictor is None:
            return 0, 0
        first, second = (
            [getattr(found, "verdict", None) for found in predict(self.predictor, model, self.examples)]
            for model in (one, two)
        )
        pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None]
        return sum(a == b for a, b in pairs), len(pairs)

    def lost(self, session: Session, int8: Session) -> Int8Loss:
        """How far the graph in 8 bits is from that in float32, on texts alone: it never meets random tokens."""
        largest = {answer.name: (0.0, 0.0) for answer in self.head.answers}
        cosine = math.inf
        for inputs in self._batches(self.rows):
            exact, rounded = session.run(inputs), int8.run(inputs)
            for name, (apart, scale) in largest.items():
                kept = _real(exact[name], inputs), _real(rounded[name], inputs)
                largest[name] = _larger(apart, _largest(kept[1] - kept[0])), _larger(scale, _largest(kept[0]))
            if self.head.name == FEATURES:
                vectors = exact["sentence_embedding"], rounded["sentence_embedding"]
                cosine = min(cosine, float(torch.nn.functional.cosine_similarity(*vectors).min()))
        same, answers = self._same(self.graph(session), self.graph(int8))
        return Int8Loss(largest, answers - same, answers, cosine if math.isfinite(cosine) else None)

    def own_scores(self, files: Sequence[str | Path], progress: Progress) -> Scores:
        """The model's scores on labelled files, before there is a graph. Raises ConfigError without answers."""
        if self.predictor is None:
            raise ConfigError(
                "labelled data measure a model that answers",
                got="features, which are vectors",
                do="leave --data out; the least cosine is reported",
            )
        return evaluate(self.model, files, baselines=False, repeats=False, progress=progress)

    def scores(
        self, measured: Scores, files: Sequence[str | Path], sessions: Sequence[Session], progress: Progress
    ) -> list[Score]:
        """Those that were `measured` already, and the scores of each graph on the same files."""
        graphs = [self._with(self.graph(session)) for session in sessions]
        found = [
            measured,
            *(evaluate(graph, files, baselines=False, repeats=False, progress=progress) for graph in graphs),
        ]
        each = [_intervals(scores) for scores in found]
        measures = [scores.measures.get(THIS_MODEL) for scores in found]
        apart: Mapping[str, Difference] = {}
        if len(measures) > 2 and measures[1] is not None and measures[2] is not None:
            apart = differences(measures[2], measures[1])
        rest = each[2] if len(each) > 2 else {}
        return [
            Score(
                name,
                own,
                each[1][name],
                rest.get(name),
                Interval(its.difference, its.low, its.high) if (its := apart.get(name)) is not None else None,
            )
            for name, own in each[0].items()
        ]

    def _with(self, module: Transformer) -> Artefact:
        other = copy.copy(self.model)
        other.module = module
        return other


def predictor_with(model: Artefact, head: ExportedHead) -> Predictor[Any, Any] | None:
    """What answers with this head, by its task or as an imported encoder; None for a model without answers."""
    own = {} if model.task_name is None else task_named(model.task_name).verbs
    usual = verb_of(str(task_where(lambda kind: kind.of_imported == "encoder")))
    try:
        return predictor_for(model, own.get((head.heads or ("",))[-1], usual), {})
    except ConfigError:
        return None


def _intervals(scores: Scores) -> dict[str, Interval]:
    """The scores of a model: by the bootstrap where examples were measured one by one, else Wilson's for shares."""
    measure = scores.measures.get(THIS_MODEL)
    if measure is not None:
        return intervals(measure)
    own = scores.of[THIS_MODEL]
    return {name: Interval(own[name], *interval(own[name], scores.count)) for name in scores.shares if name in own}


def _real(answer: Tensor, inputs: Inputs) -> Tensor:
    if inputs.real is None or answer.shape[: inputs.real.dim()] != inputs.real.shape:
        return answer
    return answer[inputs.real]


def _largest(numbers: Tensor) -> float:
    return float(numbers.abs().max()) if numbers.numel() else 0.0


def _larger(one: float, two: float) -> float:
    return math.nan if math.isnan(one) or math.isnan(two) else max(one, two)
