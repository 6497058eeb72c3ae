"""Tags of a text as spans of its characters, and how good they are.

L labels · N words
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from glassformer.base.shown import Grid, Part, Share, line
from glassformer.models.chain import Chain, Integers, log_probabilities, viterbi
from glassformer.scoring.bio import TagSpan, is_scheme, spans_of
from glassformer.scoring.calibration import log_softmax
from glassformer.scoring.score import THIS_MODEL, Scores
from glassformer.tasks.answered import SHOWN, Answered, Guess, InWords
from glassformer.tasks.labels.tag.records import Sentence
from glassformer.tasks.labels.tag.scores import TagBaselines, by_type, confusions, span_measure, span_types


@dataclass(frozen=True)
class FoundSpan:
    """The characters [start, end) of a text, their label, and the probability that exactly these have it."""

    start: int
    end: int
    label: str
    probability: float
    text: str


@dataclass(frozen=True)
class Tagging(Answered):
    """The tags of a text's words, [start, end) of each in `offsets`, and the spans that they mark, or the words.
    `given`: the words were given with the text.
    """

    text: str
    spans: tuple[FoundSpan, ...]
    offsets: tuple[tuple[int, int], ...]
    tags: tuple[str, ...]
    windows: int = 1
    given: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.text[start:end] for start, end in self.offsets)

    @property
    def says(self) -> str:
        return ", ".join(f"{span.text}: {span.label}" for span in self.spans) or "no span"

    @property
    def place_names(self) -> list[str]:
        return list(self.words)

    @property
    def places(self) -> list[list[Guess]]:
        likely: dict[int, float] = {}
        for span in self.spans:
            likely |= {start: span.probability for start, _ in self.offsets if span.start <= start < span.end}
        return [[(tag, likely.get(start))] for tag, (start, _) in zip(self.tags, self.offsets, strict=True)]

    @property
    def verdict(self) -> object:
        return self.tags

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        yield line(self.text, style="dim")
        if not self.spans:
            yield line("no span found", after=True)
            return
        rows = tuple(
            (f"{each.start}", f"{each.end}", each.text, each.label, f"{each.probability:.1%}", Share(each.probability))
            for each in self.spans
        )
        yield Grid(("start", "end", "text", "label", "probability", ""), rows, right=(0, 1))

    def in_words(self, words: int, answers: int) -> InWords:
        kept, found = 2 * words, self.words
        more = f"{len(found) - kept:,} more words" if len(found) > kept else ""
        rows = tuple((word, ()) for word in found[:kept])
        told = [
            f"{span.text[:SHOWN]}: {span.label} ({span.probability:.1%}), characters {span.start:,} to {span.end:,}."
            for span in self.spans[: 2 * answers]
        ]
        left = len(self.spans) - len(told)
        told += [*([f"{left:,} more spans."] if left else []), *([] if told else ["No span is marked."])]
        if len(self.spans) == len(found):  # each word has a tag of its own
            told = []
        return InWords("the tag of each word", (), rows, self.tags[:kept], more, tuple(told))

    def to_dict(self) -> dict[str, Any]:
        spans = [vars(span) for span in self.spans]
        given = {"words": list(self.words), "tags": list(self.tags)} if self.given else {}
        return {"text": self.text, **given, "spans": spans, "windows": self.windows}


def decoded(
    sentence: Sentence, labels: Sequence[str], logits: npt.NDArray[Any], chain: Chain | None, windows: int
) -> Tagging:
    """The best sequence of labels of a sentence's words, from their logits [N, L]; without a chain each word's own."""
    numbers: Integers = logits.argmax(axis=1)  # [N]
    if chain is not None and not _is_best(numbers, chain):
        numbers = viterbi(logits, chain)
    tags = tuple(labels[number] for number in numbers.tolist())
    found = _marked(tags, labels)
    starts, ends = (np.array([getattr(span, side) for span in found], np.int64) for side in ("start", "end"))  # [K]
    if chain is None:
        logarithms = log_softmax(logits.astype(np.float64))[np.arange(len(numbers)), numbers]  # [N]
    else:
        longer = _longer(found, labels) if is_scheme(labels) else None
        logarithms = log_probabilities(logits, chain, numbers, starts, ends, longer)  # [K]
    probabilities = np.exp(np.minimum(logarithms, 0.0)).tolist()
    spans = []
    for (label, first, end), probability in zip(found, probabilities, strict=True):
        start, stop = sentence.words[first][0], sentence.words[end - 1][1]
        spans.append(FoundSpan(start, stop, label, probability, sentence.text[start:stop]))
    return Tagging(sentence.text, tuple(spans), sentence.words, tags, windows, sentence.given)


def _is_best(numbers: Integers, chain: Chain) -> bool:
    """Whether each word's own best label is the best sequence: where the chain only forbids, and forbids none of it."""
    if any(((scores != 0) & np.isfinite(scores)).any() for scores in chain):
        return False
    return not (chain.first[numbers[0]] or chain.steps[numbers[:-1], numbers[1:]].any() or chain.last[numbers[-1]])


def _marked(tags: Sequence[str], labels: Sequence[str]) -> list[TagSpan]:
    if is_scheme(labels):
        return spans_of(tags)
    return [TagSpan(tag, number, number + 1) for number, tag in enumerate(tags)]


def _longer(found: Sequence[TagSpan], labels: Sequence[str]) -> npt.NDArray[np.bool_]:
    """The labels that would make each span longer. [K, L]"""
    goes_on = {
        label: [tag[0] in "IMEL" and tag[2:] == label for tag in labels] for label in {span.label for span in found}
    }
    return np.array([goes_on[span.label] for span in found], bool).reshape(len(found), len(labels))


def tag_scores(known: Sequence[tuple[Sentence, Tagging]], baselines: TagBaselines) -> Scores:
    """Scores of sentences with tags, compared with the baselines; the report has a table by label."""
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
