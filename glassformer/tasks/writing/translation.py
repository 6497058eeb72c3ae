"""What a translation is: its text, its tokens with their probabilities, and which words of the source they belong to.

T tokens of the translation · M tokens of the source
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import tokenizers

from glassformer.base.later import Due
from glassformer.base.shown import Grid, Part, Share, Written
from glassformer.data.readers.paragraphs import Sentence
from glassformer.decode.request import Hypothesis
from glassformer.tasks.answered import Answered
from glassformer.tasks.writing.alignment import Link, align
from glassformer.text.tokenizer import Encoding, Tokenizer
from glassformer.text.words import Span, find_words

# Characters of a text, and of those that are unknown, that a note shows.
_SHOWN = 40


@dataclass(frozen=True)
class TranslatedToken:
    """A token of a translation as the vocabulary writes it, its text, its characters [start, end) in the translation,
    and the logarithm of its probability after those before it. The token that ends a sentence has no characters.
    """

    token: str
    text: str
    start: int
    end: int
    log_probability: float


@dataclass(frozen=True)
class Alternative:
    """One of several translations: `score` ranks them, `log_probability` is the sum over its tokens."""

    translation: str
    score: float
    log_probability: float


@dataclass(frozen=True)
class Translation(Answered):
    """A text and its translation.

    A text of several sentences is translated sentence by sentence: scores and log-probabilities are then sums.
    `alignment` has for words of the translation the word of the source that they belong to, as characters of both;
    `n_best` the best translations, the first of them this one. `windows`: the number of parts in which the longest
    sentence was read. `unknown`: characters that the vocabulary has no token for. `whole`: no sentence was cut off at
    the largest number of tokens. `empty`: the number of sentences with a translation without words. `lost`: of a text
    that was translated as one sentence, how many fewer sentences the translation has.
    """

    text: str
    translation: str
    score: Due = Due()
    log_probability: Due = Due()
    tokens: Sequence[TranslatedToken] = ()
    alignment: tuple[Link, ...] = ()
    n_best: tuple[Alternative, ...] = ()
    windows: int = 1
    unknown: str = ""
    whole: bool = True
    empty: int = 0
    lost: int = 0
    said_by = "translation"

    @property
    def notes(self) -> tuple[str, ...]:
        shown = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}…"
        found = []
        if self.unknown:
            found.append(
                f"the model has not learned {' '.join(self.unknown[:_SHOWN])}, which its vocabulary has no token for: "
                f"{shown}"
            )
        if not self.whole:
            found.append(f"cut off at the largest number of tokens: {shown}")
        if self.empty:
            which = f"of {self.empty:,} sentences is" if self.translation.strip() else "is"
            found.append(f"the translation {which} empty: {shown}")
        elif self.lost:
            found.append(
                f"the translation has fewer sentences than the text, by {self.lost:,}; --paragraphs (in Python "
                f"paragraphs=True) translates each sentence by itself: {shown}"
            )
        return tuple(found)

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        lines = "\n" in str(values["text"])  # else one text is one line
        if len(self.n_best) > 1:
            yield from (Written(each.translation, lines, f"{each.score:.4f}\t") for each in self.n_best)
        else:
            yield Written(self.translation, lines)
        if self.alignment:
            rows = []
            for link in self.alignment:
                (a, b), (c, d) = link.target, link.source
                share = f"{link.weight:.0%}", Share(link.weight)
                rows.append((self.translation[a:b], "←", self.text[c:d], *share))
            yield Grid(("translation", "", "source", "attention", ""), tuple(rows))

    def to_dict(self) -> dict[str, Any]:
        whole = replace(self, tokens=tuple(self.tokens))
        return {**asdict(whole), "alignment": [link._asdict() for link in self.alignment]}


def token_spans(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[str, list[Span]]:
    """The text of these tokens, and their characters [start, end); a letter of several bytes is its last token's."""
    # Of no tokens, of the first one, of the first two: up to all of them.
    texts = tokenizer.decode_batch([ids[:count] for count in range(len(ids) + 1)])
    text = texts[-1]
    begin = len(text) - len(text.lstrip())
    whole = text.strip()
    reached = [0]
    for written in texts[1:]:
        so_far = written[begin:].rstrip("\ufffd")
        reached.append(max(reached[-1], _common(so_far, whole)))
    spans = []
    for start, end in pairwise(reached):
        blanks = len(whole[start:end]) - len(whole[start:end].lstrip())
        spans.append((min(start + blanks, end), end))
    return whole, spans


def translated_tokens(
    target: Tokenizer, sentences: Sequence[Sentence], answers: Sequence[Hypothesis], texts: Sequence[str]
) -> Iterator[TranslatedToken]:
    """The tokens of a translation, given the best answer to each sentence and its text."""
    for before, answer, text in zip(_begins(sentences, texts), answers, texts, strict=True):
        spans = _spans(target, answer, text)
        ids = [*answer.ids, *([] if answer.end is None else [answer.end])]
        last = spans[-1][1] if spans else 0
        places = [*spans, (last, last)]
        for id_, logarithm, (start, end) in zip(ids, answer.token_log_probabilities, places, strict=False):
            yield TranslatedToken(target.token(id_), target.text(id_), before + start, before + end, logarithm)


def translated_links(
    tokenizer: Tokenizer,
    text: str,
    sentences: Sequence[Sentence],
    answers: Sequence[Hypothesis],
    texts: Sequence[str],
) -> Iterator[Link]:
    """Which words of a text those of its translation belong to, given the same, by the attention of its tokens."""
    for before, sentence, answer, written in zip(_begins(sentences, texts), sentences, answers, texts, strict=True):
        if answer.attention is not None:
            part = text[sentence.start : sentence.end]
            table = answer.attention.cpu().double().numpy()  # [T, M]
            target = [*_spans(tokenizer.target, answer, written), *[(0, 0)] * len(table)][: len(table)]
            found = align(table, source_spans(tokenizer, part), target, find_words(part), find_words(written))
            yield from (link.moved(sentence.start, before) for link in found)


def _spans(target: Tokenizer, answer: Hypothesis, text: str) -> list[Span]:
    """The characters [start, end) of each token of an answer in its text, which may end before it."""
    _, spans = token_spans(target, answer.ids)
    return [(min(start, len(text)), min(end, len(text))) for start, end in spans]


def _begins(sentences: Sequence[Sentence], texts: Sequence[str]) -> Iterator[int]:
    """Where each sentence's translation begins in the whole one."""
    moved = 0  # by the translations before it
    for sentence, written in zip(sentences, texts, strict=True):
        yield sentence.start + moved
        moved += len(written) - (sentence.end - sentence.start)


def _common(one: str, other: str) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def source_spans(tokenizer: Tokenizer, text: str) -> list[Span]:
    """The characters [start, end) of each token that the encoder reads; (0, 0) for those around the text."""
    before, after = tokenizer.frame_ids
    offsets = tokenizer.encode(text, special=False).offsets
    stripped = [(start + len(text[start:end]) - len(text[start:end].lstrip()), end) for start, end in offsets]
    return [*[(0, 0)] * len(before), *stripped, *[(0, 0)] * len(after)]


def unknown_characters(tokenizer: Tokenizer, text: str) -> str:
    """The characters without a token in the vocabulary, each once: read as unknown, or byte by byte."""
    if text.isascii() and tokenizer.unknown_id is None:
        return ""
    return unknown_of(tokenizer, text, tokenizer.encode(text, special=False))


def unknown_of(tokenizer: Tokenizer, text: str, encoding: Encoding | tokenizers.Encoding) -> str:
    """The same of a text that is already cut into tokens."""
    unknown, ids = tokenizer.unknown_id, encoding.ids
    if text.isascii() and (unknown is None or unknown not in ids):
        return ""
    found = dict[str, None]()
    before: Span = (0, 0)
    for id_, (start, end) in zip(ids, encoding.offsets, strict=True):
        spelled = (start, end) == before and len(text[start:end].strip()) == 1
        named = id_ == unknown and text[start:end] == tokenizer.token(id_)  # as [UNK] in the text itself
        if (id_ == unknown and not named) or spelled:
            found |= dict.fromkeys(text[start:end].strip())
        before = (start, end)
    return "".join(found)
