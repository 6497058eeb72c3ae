"""Passages as tokens with their characters; their best spans from the scores of these tokens, window by window and
together; and how good they are.

T tokens of a passage · B rows · S tokens of a row · K tokens of the longest answer · N best spans
"""

from __future__ import annotations

import math
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.errors import DataError
from glassformer.base.shown import Grid, Part, Remark, Share, Words, bold, line
from glassformer.data.readers.squad import StatedAnswer, placed
from glassformer.scoring.exact_match import answer_by_overlap, answer_measure, exact_and_f1
from glassformer.scoring.score import THIS_MODEL, Scores
from glassformer.tasks.answered import SHOWN, Answered, Guess, InWords
from glassformer.tasks.rows import located, not_finite
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.words import encoded_parts

Reals = npt.NDArray[np.float64]

# Spans that are kept of each window, and among which probabilities are shared out.
BEST = 20

# Characters of an answer in a cell, and of the passage on either side of the answer; spans that are watched.
CELL, AROUND, TOP = 40, 200, 5
NO_ANSWER = "(no answer)"


@dataclass(frozen=True, eq=False)
class Passage:
    """A text, the ids of its tokens [T], and the characters [start, end) of each [T]."""

    text: str
    ids: array[int]
    starts: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ids)

    def tokens_of(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last token with some of the characters [start, end), None where there is none."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, end, side="left")) - 1
        return (first, last) if first <= last else None

    def characters_of(self, first: int, last: int) -> tuple[int, int]:
        """The characters [start, end) from one token to another, without blanks at their ends. The marks of the last
        character belong to them: a tokenizer that leaves out accents does not count them.
        """
        start, end = int(self.starts[first]), int(self.ends[last])
        while end < len(self.text) and unicodedata.category(self.text[end])[0] == "M":
            end += 1
        written = self.text[start:end]
        if not written.strip():
            return start, start
        return end - len(written.lstrip()), start + len(written.rstrip())


class Passages:
    """Encodes passages, and keeps each as long as someone has it."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: WeakValueDictionary[str, Passage] = WeakValueDictionary()

    def encoded(self, text: str) -> Passage:
        passage = self._known.get(text)
        if passage is None:
            passage = self._known[text] = encode(self._tokenizer, text)
        return passage


def encode(tokenizer: Tokenizer, text: str) -> Passage:
    """A text of any length as tokens, in memory of a few times its own."""
    ids, offsets = array("i"), []
    for begin, raw in encoded_parts(tokenizer, text):
        ids.extend(tokenizer.unalias(raw.ids))
        offsets.append(np.array(raw.offsets, np.int32).reshape(-1, 2) + np.int32(begin))
    both = np.concatenate(offsets)  # [T, 2]
    return Passage(text, ids, np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1]))


def right_answers(
    passage: Passage, stated: Sequence[StatedAnswer], where: str
) -> tuple[tuple[str, ...], tuple[int, int] | None, bool]:
    """All right answers of a question, the first and the last token of the most frequent one (None without answers),
    and whether some answer is not where it says. Raises DataError when none is there or near.
    """
    starts = [placed(passage.text, each) for each in stated]
    at = Counter((start, each.text) for start, each in zip(starts, stated, strict=True) if start is not None)
    if stated and not at:
        text, start = stated[0]
        said = "without its position" if start is None else f"stated to start at character {start:,}"
        rule, do = "an answer must be in its passage", "correct the answer or the passage"
        if found := passage.text.count(text):
            rule = "an answer that occurs several times in its passage needs its position"
            said = f"{said}; it occurs {found:,} times"
            do = 'write [{"text": "...", "start": 17}], counted in characters from 0, also in the cell of a table'
        raise DataError(located(where, rule), got=f"{text[:60]!r}, {said}", do=do)
    if not at:
        return (), None, False
    ((begin, text), _), *_ = at.most_common(1)
    begin += len(text) - len(text.lstrip())
    span = passage.tokens_of(begin, begin + len(text.strip()))
    if span is None:
        raise DataError(located(where, "an answer needs at least one token"), got=repr(text[:40]))
    moved = any(found is None or each.start not in (None, found) for each, found in zip(stated, starts, strict=True))
    return tuple(each.text for each in stated), span, moved


class Span(NamedTuple):
    """A part of the passage: its text, which is `context[start:end]`, its score and its probability."""

    text: str
    start: int
    end: int
    score: float
    probability: float


@dataclass(frozen=True)
class Answer(Answered):
    """The best spans of the passage, and whether the first is the answer or there is none. The score of a span is the
    sum of its start and end logits minus those of the first token of its window, [CLS]: how much likelier the span is
    than no answer, as a logarithm. Probabilities are shared out among the best 20 spans of all windows and, for a model
    that has learned that questions may have no answer, none (else it is None).
    """

    question: str
    spans: tuple[Span, ...]
    no_answer_probability: float | None = None
    threshold: float = 0.0
    windows: int = 1
    question_cut: int = 0
    place_names: ClassVar[list[str]] = ["answer"]
    judged_by = "text"

    @property
    def best(self) -> Span | None:
        return self.spans[0] if self.no_answer_probability is None or self.spans[0].score > self.threshold else None

    @property
    def text(self) -> str:
        return "" if self.best is None else self.best.text

    @property
    def says(self) -> str:
        return "no answer" if self.best is None else self.best.text

    @property
    def places(self) -> list[list[Guess]]:
        spans: list[Guess] = [(span.text, span.probability) for span in self.spans[:TOP]]
        none: list[Guess] = [] if self.no_answer_probability is None else [(NO_ANSWER, self.no_answer_probability)]
        return [[*spans, *none]]

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        yield line(self.question, style="dim")
        if self.question_cut:
            yield Remark(f"the question was too long: its last {self.question_cut:,} tokens were not read")
        rows: list[tuple[str | Share, ...]] = []
        for span in self.spans:
            words = span.text if len(span.text) <= CELL else f"{span.text[:CELL]} …"
            chance, place = span.probability, f"{span.start:,}–{span.end:,}"
            rows.append((" ".join(words.split()), f"{chance:.1%}", Share(chance), place))
        none = self.no_answer_probability
        if none is not None:
            rows.append((NO_ANSWER, f"{none:.1%}", Share(none), ""))
        yield Grid(("answer", "probability", "", "characters"), tuple(rows))
        if none is not None:
            score = f"score of the best span {self.spans[0].score:.2f}"
            yield line(f"{score}; it is the answer above the threshold {self.threshold:.2f}")
        yield line(*self._in_passage(str(values["pair"])), style="answer", after=True)

    def _in_passage(self, passage: str) -> tuple[Words, ...]:
        if self.best is None:
            return ("no answer",)
        start, end = self.best.start, self.best.end
        left, right = "… " * (start > AROUND), " …" * (end + AROUND < len(passage))
        before, after = passage[max(0, start - AROUND) : start], passage[end : end + AROUND]
        return f"{left}{before}", bold(f"[{self.best.text}]"), f"{after}{right}"

    def in_words(self, words: int, answers: int) -> InWords:
        rows = [(" ".join(span.text.split())[:SHOWN], (span.probability,)) for span in self.spans[:answers]]
        if self.no_answer_probability is not None:
            rows.append((NO_ANSWER, (self.no_answer_probability,)))
        said = "No answer: it is not in the passage."
        if self.best is not None:
            where = f"characters {self.best.start:,} to {self.best.end:,} of the passage"
            said = f"The answer: {self.best.text[:SHOWN]} ({where})."
        return InWords("the best spans", ("probability",), tuple(rows), remarks=(said,))

    def to_dict(self) -> dict[str, Any]:
        """The same as plain lists and words, for JSON; without an answer `start` and `end` are None, and `probability`
        that of none.
        """
        best = self.best
        record: dict[str, Any] = {
            "question": self.question,
            "answer": self.text,
            "start": None if best is None else best.start,
            "end": None if best is None else best.end,
            "probability": self.no_answer_probability if best is None else best.probability,
            "best": [span._asdict() for span in self.spans],
            "windows": self.windows,
            "question_cut": self.question_cut,
        }
        if self.no_answer_probability is not None:
            record |= {"no_answer_probability": self.no_answer_probability, "threshold": self.threshold}
        return record


def best_spans(logits: Tensor, may_start: Tensor, ends_at: Tensor, *, longest: int, count: int) -> Reals:
    """The best spans of each row [B, N, 3]: score (−inf where there are fewer), first and last token. From logits [B,
    S, 2], the tokens where a span may start [B, S], and the token [B] before which it must end.
    """
    length = may_start.shape[1]
    starts, ends = (logits - logits[:, :1]).unbind(dim=-1)  # [B, S], [B, S]
    starts = starts.masked_fill(~may_start, -math.inf)
    beyond = torch.arange(length, device=logits.device) >= ends_at[:, None]  # [B, S]
    ends = F.pad(ends.masked_fill(beyond, -math.inf), (0, longest - 1), value=-math.inf)  # [B, S + K - 1]
    both = starts[..., None] + ends.unfold(1, longest, 1)  # [B, S, K]
    found = both.flatten(1).topk(min(max(count, BEST), length * longest))  # [B, N]
    first, more = found.indices // longest, found.indices % longest
    table = torch.stack([found.values.cpu().double(), first.cpu(), (first + more).cpu()], dim=-1)  # [B, N, 3]
    return table.numpy()


def merged(
    found: Sequence[Reals], shifts: Sequence[int], passage: Passage, *, count: int, no_answer: bool
) -> tuple[tuple[Span, ...], float | None]:
    """The `count` best spans of the windows [N, 3], less their shifts; the probability of no answer where asked for."""
    scores = np.concatenate([each[:, 0] for each in found])
    tokens = np.concatenate([each[:, 1:] + shift for each, shift in zip(found, shifts, strict=True)]).astype(int)
    if np.isnan(scores).any():
        raise not_finite("a model must give finite numbers to answer with", passage.text)
    order = np.argsort(-scores, kind="stable")[: max(count, BEST)]
    order = order[np.isfinite(scores[order])]
    total = float(np.logaddexp.reduce([*([0.0] if no_answer else []), *scores[order]]))
    spans = []
    for number in order[:count].tolist():
        start, end = passage.characters_of(*tokens[number].tolist())
        score = float(scores[number])
        spans.append(Span(passage.text[start:end], start, end, score, math.exp(score - total)))
    return tuple(spans), math.exp(-total) if no_answer else None


# Wrong answers that a report quotes.
_WORST = 10
# A question, its passage, and the answers that count as right, none where it has no answer.
Asked = tuple[str, str, tuple[str, ...]]


def answer_scores(asked: Sequence[Asked], answers: Sequence[Answer], *, threshold: float | None) -> Scores:
    """Exact match and F1, compared with overlapping words and, where some questions have no answer, with none."""
    right = [each for _, _, each in asked]
    found = {
        THIS_MODEL: [answer.text for answer in answers],
        "sliding window": [context[slice(*answer_by_overlap(question, context))] for question, context, _ in asked],
    }
    if not all(right):
        found["never answering"] = [""] * len(asked)
    measures = {name: answer_measure(texts, right) for name, texts in found.items()}
    windowed = sum(answer.windows > 1 for answer in answers)
    report = {"threshold": threshold, "windowed": windowed, "most_wrong": _most_wrong(right, answers)}
    return Scores.measured("questions", measures, shares=(), report=report)


def _most_wrong(right: Sequence[tuple[str, ...]], answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """The answers without a word of a right one, those of the highest score first."""
    wrong: list[dict[str, Any]] = [
        {"question": answer.question, "answer": answer.text, "right": list(gold), "score": answer.spans[0].score}
        for gold, answer in zip(right, answers, strict=True)
        if not exact_and_f1(answer.text, gold)[1]
    ]
    return sorted(wrong, key=lambda each: -each["score"])[:_WORST]
