"""Translating texts with a trained model: the verb `translate`.

B rows · S tokens of the source · T tokens of the translation
"""

import math
from array import array
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Self

from glassformer.base.errors import ConfigError, DataError
from glassformer.base.later import Later
from glassformer.data.readers.paragraphs import Sentence, join_sentences, split_sentences
from glassformer.decode.asked import BEAMS, LENGTH_PENALTY, search_settings
from glassformer.decode.options import WritingOptions
from glassformer.decode.request import (
    Hypothesis,
    Request,
    before_stop,
    forbidden_ids,
    forced_words,
    log_probability_of,
    refuse_forbidden,
    score_of,
)
from glassformer.decode.settings import DecodeSettings, SearchDefaults
from glassformer.decode.step import StreamedText, Wanted, stream
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.models.weights import ALIGNMENT_HEAD
from glassformer.tasks.predictor import Context
from glassformer.tasks.rows import Row, located
from glassformer.tasks.writing import writers
from glassformer.tasks.writing.pair_source import TextPair
from glassformer.tasks.writing.translation import (
    Alternative,
    Translation,
    translated_links,
    translated_tokens,
    unknown_characters,
    unknown_of,
)
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import text_room
from glassformer.text.words import ids_of, spellings

# Tokens of a translation for each token of its source, and in addition to these, where no number is asked for.
_LONGER, _MORE = 2, 16
# Sentences that are decoded together, and hypotheses: more sentences where each has few of them.
SLOTS, HYPOTHESES = 64, 256
# Texts of at most so many characters that are cut into tokens together, and answers that are decoded together.
_SHORT, _TOGETHER = 2048, 256


class _Whole(TextPair):
    """A text without blanks around it that is one sentence, and its `unknown` characters."""

    unknown: str = ""


class Translator(writers.Writer[TextPair, Translation]):
    """The source goes through the encoder; the decoder writes the translation token by token (`decode/`)."""

    writes = "translation"
    read_ahead = 4096
    sample = ("A text that you want to translate.",)

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        length: int | None,
        search: DecodeSettings,
        options: WritingOptions | None = None,
        default: SearchDefaults | None = None,
        alignment_head: bool = False,
    ) -> None:
        """Of the options those that no search has: the prefix, paragraphs and alignment."""
        self.tokenizer, self.target, self.length = tokenizer, tokenizer.target, length
        self.ids = writers.special_ids(self.target, default)
        options = options or WritingOptions()
        self.settings, self.paragraphs = search, options.paragraphs
        self.aligned, self.alignment_head = bool(options.alignment), alignment_head
        asked = "max_tokens" in self.settings.model_fields_set
        self.most = self.settings.max_tokens if asked else None
        self.imported = default is not None  # it is searched as where it comes from
        self.prefix = () if default is None else default.prefix
        typed = options.prefix or ""
        self.prefix += tuple(self.target.ids(typed.strip())) if typed.strip() else ()
        # A blank at the end belongs to the next word: alone it would be a token that the model has hardly ever seen.
        blank = typed[len(typed.rstrip()) :][:1]
        words = beginning_with(blank, self.target) if blank and typed.strip() else ()
        self.following = (*words, *self.ids.end) if words else ()
        if blanks := [word for word in (*self.settings.forced, *self.settings.forbidden) if not word.strip()]:
            raise ConfigError("a text to force or to forbid must not be blank", got=repr(blanks[0]))
        self.forced = tuple(word.inside for word in forced_words(self.settings.forced, self.target.ids))
        # A sequence with a token that is never written needs no check, and CTranslate2 has none.
        of_model = () if default is None else default.forbidden
        self.forbidden_of_model = tuple(each for each in of_model if not {*each} & {*self.ids.never})
        self.spelled = partial(spellings, self.target)
        self.forbidden = (
            *self.forbidden_of_model,
            *forbidden_ids(self.settings.forbidden, self.target.ids, self.spelled),
        )
        self.least = len(self.prefix) + sum(map(len, self.forced)) + 1
        self.check_words()

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For an encoder–decoder; raises ConfigError for another model and for options that exclude each other."""
        writers.check_translates(model.config)
        options, section, default = context.writing, context.section, context.search
        search = search_settings(
            options,
            beams=getattr(section, "beams", BEAMS),
            length_penalty=getattr(section, "length_penalty", LENGTH_PENALTY),
            default=None if default is None else default.settings,
            where="translate",
        )
        return cls(
            tokenizer,
            length=context.length,
            search=search,
            options=options,
            default=default,
            alignment_head=bool(getattr(section, "alignment", 0)),
        )

    def check_words(self) -> None:
        """Raise ConfigError for words that no answer can have: too many, or such that contain forbidden ones."""
        if self.most is not None and self.least > self.most:
            raise ConfigError(
                f"the prefix, the forced texts and the end token need {self.least} tokens",
                got=f"a maximum of {self.most}",
                do="raise it with --max-tokens, in Python max_tokens",
            )
        if ended := next((each for each in self.settings.stop if each in self.target.decode(self.prefix)), None):
            do = "leave it out of one of them"
            raise ConfigError("a prefix must not contain a stop string", got=repr(ended), do=do)
        for word in (*self.forced, self.prefix):
            if marks := {*word} & {*self.ids.end, *self.ids.never}:
                raise ConfigError(
                    "the prefix and forced texts must have no special tokens",
                    got=repr(self.target.token(min(marks))),
                    do="leave it out",
                )
        refuse_forbidden((*self.forced, self.prefix), self.forbidden, self.target.decode)

    def example(self, values: Mapping[str, object], where: str) -> TextPair:
        text = values["text"]
        if not isinstance(text, str):
            raise DataError(located(where, "the source must be a text"), got=repr(text)[:60])
        return TextPair(text)

    def sentences(self, text: str) -> list[Sentence]:
        """The sentences of a text, as characters: the whole text as one where it is not cut."""
        room = text_room(sum(self.tokenizer.frame), self.length)
        if not text.strip():
            return []
        if not self.paragraphs and (room is None or len(ids_of(self.tokenizer, text)) <= room):
            start = len(text) - len(text.lstrip())
            return [Sentence(start, start + len(text.strip()))]
        if room is None:
            return split_sentences(text)
        return split_sentences(text, length=lambda part: len(ids_of(self.tokenizer, part)), most=room)

    def rows(self, example: TextPair) -> Iterator[Row]:
        before, after = self.tokenizer.frame_ids
        for sentence in self.sentences(example.text):
            words = ids_of(self.tokenizer, example.text[sentence.start : sentence.end])
            yield Row(ids=array("i", before) + words + array("i", after))

    def cut(self, examples: Iterable[TextPair]) -> Iterator[tuple[TextPair, Iterable[Row]]]:
        left = iter(examples)
        while some := list(islice(left, _TOGETHER)):
            yield from self._cut(some)

    def _cut(self, examples: Sequence[TextPair]) -> Iterator[tuple[TextPair, Iterable[Row]]]:
        short = [each.text for each in examples if not self.paragraphs and _is_short(each.text)]
        raw = iter(self.tokenizer.raw_batch(short) if short else ())
        room = text_room(sum(self.tokenizer.frame), self.length)
        before, after = (array("i", ids) for ids in self.tokenizer.frame_ids)
        for example in examples:
            encoding = next(raw) if not self.paragraphs and _is_short(example.text) else None
            # One with [MASK] in it is read alone: its ids are not those of the library.
            ids = [] if encoding is None else encoding.ids
            if encoding is None or self.tokenizer.unalias(ids) is not ids or (room is not None and len(ids) > room):
                yield example, self.rows(example)
                continue
            whole = _Whole(*example)
            whole.unknown = unknown_of(self.tokenizer, example.text, encoding)
            yield whole, [Row(ids=before + array("i", ids) + after)]

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[Hypothesis]]]:
        """The best translations of each row; equal rows are translated once, and so have the same samples."""
        limit, slots = model.output_stack.max_length, max(SLOTS, HYPOTHESES // self.settings.width)
        steps = writers.divided(model, slots, self.looks, lambda asked, slots: self.steps(model, asked, slots=slots))
        return writers.answered(batches, lambda source: self.request(source, limit), steps)

    def words(self, model: Transformer, example: TextPair, *, fast: bool) -> Generator[str, None, Translation]:
        parts, end = self.parts(model, self.rows(example), fast=fast), 0
        sentences = self.sentences(example.text)
        found: list[list[Hypothesis]] = []
        for sentence in sentences:
            if between := example.text[end : sentence.start]:
                yield between
            found.append((yield from writers.of_sentence(parts)))
            end = sentence.end
        if sentences and end < len(example.text):
            yield example.text[end:]
        return self.merge(example, found)

    def parts(self, model: Transformer, rows: Iterable[Row], *, fast: bool) -> Iterator[StreamedText]:
        """What is written for each of these rows, one after another, as it is decided."""
        limit = model.output_stack.max_length
        steps = self.steps(model, (self.request(row.ids, limit) for row in rows), slots=1)
        steps = writers.in_precision(steps, model, fast=fast)
        byte = self.target.continuation_byte
        return stream(steps, self.text_of, stop=self.settings.stop, continuation_byte=byte)

    @property
    def looks(self) -> bool:
        """Whether the search reads attention; the coverage penalty does, so showing it changes no answer."""
        return bool(self.aligned or self.settings.coverage_penalty)

    def wanted(self, model: Transformer) -> Wanted:
        attention = (len(model.output_stack.blocks) - 1,) if self.looks else ()
        head = ALIGNMENT_HEAD if self.alignment_head else None
        spelled, ids_of = self.spelled, self.target.ids
        return Wanted(self.settings, self.ids, attention, head, text_of=self.text_of, ids_of=ids_of, spelled=spelled)

    def text_of(self, ids: Sequence[int]) -> str:
        return self.target.decode(ids).lstrip()

    def ends(self, answer: Hypothesis) -> bool:
        """Whether the model or a stop string has ended an answer: else it was cut at the largest number of tokens."""
        return answer.ended or any(stop in self.text_of(answer.ids) for stop in self.settings.stop)

    def likely(self, source: Sequence[int]) -> int:
        """The most tokens that the translation of a source is likely to have."""
        return _LONGER * len(source) + _MORE + max(self.least, self.settings.min_tokens + 1)

    def request(self, source: Sequence[int], limit: int | None) -> Request:
        """What is asked for a row: as many tokens as wanted, else by the length of the source; at most `limit`."""
        most = self.most or self.likely(source)
        return Request(
            writers.number_of(source),
            source=source,
            prefix=self.prefix,
            following=self.following,
            forbidden=self.forbidden_of_model,
            max_tokens=most if limit is None else min(most, limit),
            likely=None if self.imported else self.likely(source),
        )

    def merge(self, example: TextPair, found: Sequence[list[Hypothesis]]) -> Translation:
        return next(self.merged(iter([(example, found)])))

    def merged(self, found: Iterator[tuple[TextPair, Sequence[list[Hypothesis]]]]) -> Iterator[Translation]:
        while some := list(islice(found, _TOGETHER)):
            firsts = [hypotheses[0] for _, answers in some for hypotheses in answers if hypotheses]
            texts = iter(self.written(firsts))
            for example, answers in some:
                yield self._merged(example, answers, [next(texts) for hypotheses in answers if hypotheses])

    def _merged(self, example: TextPair, found: Sequence[list[Hypothesis]], best: Sequence[str]) -> Translation:
        """The translation of a text, given the answers to its sentences and the texts of the best ones."""
        text = example.text
        if not all(found):
            raise DataError(
                "a translation that meets all conditions is needed",
                got=f"none found by {self.settings.beams} beams for {text[:60]!r}",
                do="allow more beams or tokens, or force and forbid other words",
            )
        whole = isinstance(example, _Whole)
        sentences = [Sentence(0, len(text))] if whole else self.sentences(text)
        firsts = [hypotheses[0] for hypotheses in found]
        translation = best[0] if whole else join_sentences(text, sentences, best) if sentences else ""
        lost = _ends(text) - _ends(translation) if len(sentences) == 1 and not self.paragraphs else 0
        return Translation(
            text,
            translation,
            score=Later(score_of, *firsts),
            log_probability=Later(log_probability_of, *firsts),
            tokens=Later(translated_tokens, self.target, sentences, firsts, best),
            alignment=tuple(translated_links(self.tokenizer, text, sentences, firsts, best)) if self.aligned else (),
            n_best=self.n_best(text, sentences, found) if self.settings.n_best > 1 else (),
            windows=max((each.parts for each in sentences), default=1) if self.paragraphs else max(1, len(sentences)),
            unknown=example.unknown if isinstance(example, _Whole) else unknown_characters(self.tokenizer, text),
            whole=all(self.ends(each) for each in firsts),
            empty=sum(not each.strip() for each in best),
            lost=max(0, lost),
        )

    def written(self, answers: Sequence[Hypothesis]) -> list[str]:
        """The texts of answers, up to a stop string."""
        texts, stop = self.target.decode_batch([each.ids for each in answers]), self.settings.stop
        return [before_stop(text.lstrip(), stop).rstrip() if stop else text.strip() for text in texts]

    def n_best(
        self, text: str, sentences: Sequence[Sentence], found: Sequence[list[Hypothesis]]
    ) -> tuple[Alternative, ...]:
        """The best translations, the k-th of all sentences together; equal texts once, with the better score."""
        ranked: dict[object, Alternative] = {}
        for rank in range(max(map(len, found), default=0)):
            chosen = [hypotheses[min(rank, len(hypotheses) - 1)] for hypotheses in found]
            parts = self.written(chosen)
            whole = join_sentences(text, sentences, parts)
            ranked.setdefault(
                whole if self.settings.method == "beam" else rank,
                Alternative(
                    whole, math.fsum(each.score for each in chosen), math.fsum(each.log_probability for each in chosen)
                ),
            )
        return tuple(ranked.values())


def _ends(text: str) -> int:
    """How many sentences a text has, however its lines are broken."""
    return len(split_sentences(" ".join(text.split())))


def _is_short(text: str) -> bool:
    return 0 < len(text) <= _SHORT and text == text.strip()


def beginning_with(blank: str, tokenizer: Tokenizer) -> tuple[int, ...]:
    return tuple(id_ for id_ in range(tokenizer.vocabulary_size) if tokenizer.text(id_).startswith(blank))
