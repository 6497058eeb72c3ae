"""Tags of a text as spans of its characters, and how good they are.

L labels · N words
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from glassformer.models.chain import Chain, Posterior, viterbi
from glassformer.tasks.bio import TagSpan, is_scheme, spans_of
from glassformer.tasks.score import THIS_MODEL, Scores
from glassformer.tasks.tag_baselines import TagBaselines
from glassformer.tasks.tag_scores import by_type, confusions, span_measure, span_types
from glassformer.tasks.tagged import Sentence


@dataclass(frozen=True)
class FoundSpan:
    """The characters [start, end) of a text, their label, and how likely it is that exactly these have it."""

    start: int
    end: int
    label: str
    probability: float
    text: str


@dataclass(frozen=True)
class Tagging:
    """The tags of a text's words, and the spans that they mark; where each word has a tag of its own, these are the
    words. `windows` is above 1 for a long text.
    """

    text: str
    spans: tuple[FoundSpan, ...]
    words: tuple[tuple[int, int], ...]
    tags: tuple[str, ...]
    windows: int = 1
    given: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and words, for JSON; with words and tags where the words were given."""
        spans = [vars(span) for span in self.spans]
        words = [self.text[start:end] for start, end in self.words]
        given = {"words": words, "tags": list(self.tags)} if self.given else {}
        return {"text": self.text, **given, "spans": spans, "windows": self.windows}


def decoded(sentence: Sentence, labels: Sequence[str], logits: Tensor, chain: Chain | None, windows: int) -> Tagging:
    """The best sequence of labels of a sentence's words, from their logits [N, L]; without a chain each word's own."""
    numbers = logits.argmax(dim=1)  # [N]
    if chain is not None and not _is_best(numbers, chain):
        everywhere = torch.ones(1, len(logits), dtype=torch.bool)
        numbers = viterbi(logits[None], everywhere, chain)[0]
    chosen: list[int] = numbers.tolist()
    tags = tuple(labels[number] for number in chosen)
    found = _marked(tags, labels)
    if chain is None or not is_scheme(labels):
        each = logits.log_softmax(dim=-1) if chain is None else Posterior(logits, chain).log_marginals()  # [N, L]
        logarithms = each.gather(1, numbers[:, None])[:, 0].tolist()
    else:
        logarithms = _of_spans(found, chosen, labels, logits, chain)
    spans = []
    for (label, first, end), logarithm in zip(found, logarithms, strict=True):
        start, stop = sentence.words[first][0], sentence.words[end - 1][1]
        spans.append(FoundSpan(start, stop, label, math.exp(min(logarithm, 0.0)), sentence.text[start:stop]))
    return Tagging(sentence.text, tuple(spans), sentence.words, tags, windows, sentence.given)


def _is_best(numbers: Tensor, chain: Chain) -> bool:
    """Whether each word's own best label is the best sequence: where the chain only forbids, and forbids none of it."""
    if any(((scores != 0) & scores.isfinite()).any() for scores in chain):
        return False
    total = chain.first[numbers[0]] + chain.steps[numbers[:-1], numbers[1:]].sum() + chain.last[numbers[-1]]
    return bool(total == 0)


def _marked(tags: Sequence[str], labels: Sequence[str]) -> list[TagSpan]:
    """The spans of tags, one for each word where tags mark none."""
    if is_scheme(labels):
        return spans_of(tags)
    return [TagSpan(tag, number, number + 1) for number, tag in enumerate(tags)]


def _of_spans(
    found: Sequence[TagSpan], chosen: Sequence[int], labels: Sequence[str], logits: Tensor, chain: Chain
) -> list[float]:
    if not found:
        return []
    posterior = Posterior(logits, chain)
    further: dict[str, list[int]] = {}  # the labels that would make a span longer
    for number, tag in enumerate(labels):
        if tag[0] in "IMEL":
            further.setdefault(tag[2:], []).append(number)
    return [
        posterior.log_probability(span.start, chosen[span.start : span.end], further.get(span.label, ()))
        for span in found
    ]


def tag_scores(known: Sequence[tuple[Sentence, Tagging]], baselines: TagBaselines) -> Scores:
    """Scores of sentences with tags, beside those of the baselines; the report has a table by label."""
    right = [sentence.tags or () for sentence, _ in known]
    words = [[sentence.text[start:end] for start, end in sentence.words] for sentence, _ in known]
    systems = {THIS_MODEL: [found.tags for _, found in known], **baselines.tags(words)}
    spans = {name: [_marked(tags, baselines.labels) for tags in found] for name, found in systems.items()}
    truth = [_marked(tags, baselines.labels) for tags in right]
    counts = [len(tags) for tags in right]
    measures = {}
    for name, found in systems.items():
        agreeing = [sum(map(str.__eq__, one, two)) for one, two in zip(right, found, strict=True)]
        measures[name] = span_measure(truth, spans[name], agreeing, counts, span_types(truth, spans[name]))
    return Scores(
        sum(counts),
        "words",
        {name: measure.values() for name, measure in measures.items()},
        measures=measures,
        report={
            "labels": by_type(measures[THIS_MODEL], span_types(truth, spans[THIS_MODEL])),
            "confused": confusions(right, systems[THIS_MODEL]),
        },
    )
