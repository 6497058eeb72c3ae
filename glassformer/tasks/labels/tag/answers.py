"""Tags of a text as spans of its characters, and how good they are.

L labels · N words
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from glassformer.base.shown import Grid, Part, Share, line
from glassformer.models.chain import Chain, Integers, log_probabilities, viterbi
from glassformer.scoring.agreement import macro_f1
from glassformer.scoring.bio import TagSpan, is_scheme, spans_of
from glassformer.scoring.calibration import log_softmax
from glassformer.scoring.score import THIS_MODEL, Measure, Reals, Scores, share
from glassformer.tasks.answered import SHOWN, Answered, Guess, InWords
from glassformer.tasks.labels.tag.records import Sentence

# Words whose tags are kept with a model: the most frequent ones.
_KEPT = 50_000


class TagBaselines:
    """How often each label was seen, and each word's usual label where that is not the most frequent one."""

    def __init__(self, labels: Sequence[str], facts: Mapping[str, Any] | None = None) -> None:
        self.labels = tuple(labels)
        self.label_counts: dict[str, int] = dict((facts or {}).get("labels", {}))
        self.of_words: dict[str, str] = dict((facts or {}).get("words", {}))

    @classmethod
    def of(cls, labels: Sequence[str], sentences: Sequence[Sentence], tags: Sequence[Sequence[str]]) -> Self:
        self = cls(labels)
        by_word: dict[str, Counter[str]] = {}
        for sentence, its in zip(sentences, tags, strict=True):
            for (start, end), tag in zip(sentence.words, its, strict=bool(its)):
                by_word.setdefault(sentence.text[start:end], Counter())[tag] += 1
        total = Counter(tag for its in tags for tag in its)
        self.label_counts = {label: total[label] for label in labels}
        usual = max(labels, key=total.__getitem__)
        frequent = sorted(by_word.items(), key=lambda each: (-each[1].total(), each[0]))[:_KEPT]
        mostly = ((word, max(sorted(counts), key=counts.__getitem__)) for word, counts in frequent)
        self.of_words = {word: tag for word, tag in mostly if tag != usual}
        return self

    def facts(self) -> dict[str, Any]:
        return {"labels": self.label_counts, "words": self.of_words}

    def tags(self, sentences: Sequence[Sequence[str]]) -> dict[str, list[tuple[str, ...]]]:
        """By baseline, the tags of each sentence's words; a word that was not seen has the most frequent label."""
        usual = max(self.labels, key=lambda label: self.label_counts.get(label, 0))
        return {
            "most frequent": [(usual,) * len(words) for words in sentences],
            "by word": [tuple(self.of_words.get(word, usual) for word in words) for words in sentences],
        }


# The confusions of a report: the most frequent.
_SHOWN = 10


def span_types(sentences: Sequence[Sequence[TagSpan]], more: Sequence[Sequence[TagSpan]]) -> tuple[str, ...]:
    return tuple(sorted({span.label for spans in (*sentences, *more) for span in spans}))


def span_measure(
    right: Sequence[Sequence[TagSpan]],
    found: Sequence[Sequence[TagSpan]],
    agreeing: Sequence[int],
    words: Sequence[int],
    types: Sequence[str],
) -> Measure:
    """Precision, recall and F1 of spans, F1 by label, and the share of right words (`agreeing` of `words`)."""
    number = {label: place for place, label in enumerate(types)}
    statistics = np.zeros((len(right), 3 * len(types) + 2))  # [E, K]
    for row, mine, its, agree, count in zip(statistics, right, found, agreeing, words, strict=True):
        truth, guess = set(mine), set(its)
        for kind, spans in enumerate((truth & guess, guess - truth, truth - guess)):
            for span in spans:
                row[kind * len(types) + number[span.label]] += 1
        row[-2:] = agree, count
    return Measure(statistics, lambda sums: _scores(sums, len(types)))


def _scores(sums: Reals, types: int) -> dict[str, Reals]:
    hits, extra, missed = (sums[..., kind * types : (kind + 1) * types] for kind in range(3))  # [..., T]
    precision, recall, f1 = rates(hits.sum(axis=-1), extra.sum(axis=-1), missed.sum(axis=-1))
    return {
        "f1": f1,
        "precision": precision,
        "recall": recall,
        "macro_f1": macro_f1(hits, 2 * hits + extra + missed),
        "accuracy": share(sums[..., -2], sums[..., -1]),
    }


def rates(hits: Any, extra: Any, missed: Any) -> tuple[Reals, Reals, Reals]:
    """Precision, recall and F1 from counts of spans; 0 where nothing was found or is there, as in seqeval."""
    return share(hits, hits + extra), share(hits, hits + missed), share(2 * hits, 2 * hits + extra + missed)


def by_type(measure: Measure, types: Sequence[str]) -> list[dict[str, Any]]:
    """Precision, recall, F1 and count of each label: rows of a table, the most frequent first."""
    sums = measure.sums
    hits, extra, missed = (sums[kind * len(types) : (kind + 1) * len(types)] for kind in range(3))
    columns = zip(types, *rates(hits, extra, missed), hits + missed, strict=True)
    rows = [
        {"label": label, "count": int(count), "precision": float(p), "recall": float(r), "f1": float(f)}
        for label, p, r, f, count in columns
    ]
    return sorted(rows, key=lambda row: -row["count"])


def confusions(right: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    counted = Counter(
        (mine, its)
        for truth, guess in zip(right, found, strict=True)
        for mine, its in zip(truth, guess, strict=True)
        if mine != its
    )
    return [{"label": mine, "guessed": its, "count": count} for (mine, its), count in counted.most_common(_SHOWN)]


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
    """A text's tags by word with their `offsets`, and the spans they mark. `given`: its words were given."""

    text: str
    spans: tuple[FoundSpan, ...]
    offsets: tuple[tuple[int, int], ...]
    tags: tuple[str, ...]
    windows: int = 1
    given: bool = False
    judged_by = "tags"

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
        remarks = [
            f"{span.text[:SHOWN]}: {span.label} ({span.probability:.1%}), characters {span.start:,} to {span.end:,}."
            for span in self.spans[: 2 * answers]
        ]
        left = len(self.spans) - len(remarks)
        remarks += [*([f"{left:,} more spans."] if left else []), *([] if remarks else ["No span is marked."])]
        if len(self.spans) == len(found):  # each word has a tag of its own
            remarks = []
        return InWords("the tag of each word", (), rows, self.tags[:kept], more, tuple(remarks))

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
        scheme, places = is_scheme(labels), {label: number for number, label in enumerate(labels)}
        logarithms = np.full(len(found), float("-inf"))  # [K]
        for its, marked in _ways(found, tags, chain, places) if scheme else [(tags, np.ones(len(found), bool))]:
            apart = (_longer(found, its, labels), _before(found, its, labels)) if scheme else (None, None)
            way = np.array([places[tag] for tag in its])  # [N]
            more = log_probabilities(logits, chain, way, starts, ends, *apart)  # [K]
            logarithms = np.where(marked, np.logaddexp(logarithms, more), logarithms)  # [K]
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


def _ways(
    found: Sequence[TagSpan], tags: Sequence[str], chain: Chain, numbers: Mapping[str, int]
) -> Iterator[tuple[Sequence[str], npt.NDArray[np.bool_]]]:
    """All tags that mark the same spans, and of which spans they do [K]: an imported model may begin or end a span with
    several tags of its type. The given tags come first.
    """
    of_spans = []
    for label, start, end in found:
        own = list(tags[start:end])
        first = [tag for tag in numbers if tag[2:] == label and np.isfinite(chain.first[numbers[tag]])]
        last = [tag for tag in numbers if tag[2:] == label and np.isfinite(chain.last[numbers[tag]])]
        several = [[tag] for tag in first if tag in last]
        if end - start > 1:
            several = [[one, *own[1:-1], two] for one, two in product(first, last)]
        whole = [TagSpan(label, 0, end - start)]
        of_spans.append([own, *(way for way in several if way != own and spans_of(way) == whole)])
    for turn in range(max(map(len, of_spans), default=0)):
        its = list(tags)
        for (_, start, end), ways in zip(found, of_spans, strict=True):
            its[start:end] = ways[min(turn, len(ways) - 1)]
        yield its, np.array([turn < len(ways) for ways in of_spans])


def _longer(found: Sequence[TagSpan], tags: Sequence[str], labels: Sequence[str]) -> npt.NDArray[np.bool_]:
    """The labels after each span that would make it longer; a span whose last tag closes it ends there. [K, L]"""
    on = {each.label: [tag[0] in "IMEL" and tag[2:] == each.label for tag in labels] for each in found}
    rows = [[False] * len(labels) if tags[each.end - 1][0] in "ESLU" else on[each.label] for each in found]
    return np.array(rows, bool).reshape(len(found), len(labels))


def _before(found: Sequence[TagSpan], tags: Sequence[str], labels: Sequence[str]) -> npt.NDArray[np.bool_]:
    """The labels before each span that would make it longer, where its own first tag does not open it. [K, L]"""
    open_ = {each.label: [tag[0] not in "ESLU" and tag[2:] == each.label for tag in labels] for each in found}
    rows = [open_[each.label] if tags[each.start][0] in "IMEL" else [False] * len(labels) for each in found]
    return np.array(rows, bool).reshape(len(found), len(labels))


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
    report = {
        "labels": by_type(measures[THIS_MODEL], span_types(truth, spans[THIS_MODEL])),
        "confused": confusions(right, systems[THIS_MODEL]),
    }
    return Scores.measured("words", measures, count=sum(counts), report=report)
