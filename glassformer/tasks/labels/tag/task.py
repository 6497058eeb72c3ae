"""A tag for each word: names of people and places, parts of speech (Devlin et al. 2019, §5.3).

B rows · S tokens of a row · L labels · N words
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import DataError
from glassformer.config import ModelConfig
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.readers.lines import OnBad
from glassformer.data.readers.table_format import TableFormat
from glassformer.models.chain import Chain
from glassformer.scoring.bio import OUTSIDE, is_bio, is_scheme, legal_steps, scheme_of, spans_of, tags_of
from glassformer.scoring.score import Scores, widened
from glassformer.tasks.labels.labels import Unlearned, note_alike
from glassformer.tasks.labels.tag.answers import TagBaselines, Tagging, decoded, tag_scores
from glassformer.tasks.labels.tag.records import Sentence, sentence_of, tagged_format, tagged_rows
from glassformer.tasks.labels.tag.settings import TagData, TagSection
from glassformer.tasks.predictor import Context, untrained
from glassformer.tasks.records import RecordTask
from glassformer.tasks.rows import Axis, Row, known_label, located, not_finite
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Both, Preparation, SoftLoss, answers
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import text_room, windows
from glassformer.text.words import CASES, case_of, find_words, word_tokens

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.models.crf import Crf
    from glassformer.models.inputs import Batch, Output
    from glassformer.models.transformer import Transformer

# The logits [n, L] of a row's words, and what a label adds to the one before it.
Found = tuple[npt.NDArray[Any], Chain | None]

# Labels that a note names.
_SHOWN = 10
# Chooses the words that are dropped: no dropout module has this number.
_WORDS = -1
# Tags that break a scheme, up to this share of all, are slips.
_ODD = 0.01


class Tagged(NamedTuple):
    """A sentence, and the numbers of the labels of its words in training and evaluation."""

    sentence: Sentence
    labels: tuple[int, ...] | None


def _of_words(task: Any, both: Both) -> Tensor:
    """The labels of each word; with a CRF, of all words of a row together."""
    from glassformer.scoring.cross_entropy import soft_loss  # not at the top: answers need no torch

    logits, its = answers(both, "token_logits")  # [B, S, L]
    asked, rows = both.batch.labels["tag"] != IGNORED, both.batch.weights  # [B, S], [B]
    crf, teacher = crf_of(both.student), crf_of(both.teacher)
    if crf is not None and teacher is not None:
        each = crf.divergence(logits, asked, teacher, its, both.temperature)  # [B]
        return both.temperature**2 * (each * rows.to(each.dtype)).sum()
    weights = (asked * rows[:, None]).flatten()  # [B · S]
    return soft_loss(logits.flatten(0, 1), its.flatten(0, 1), weights, both.temperature)


class Tag(RecordTask[Tagged, Tagging]):
    """A label for the first token of each word. A long text has several windows; each word is read in the one that
    shows most text around it, and the labels of the whole text are chosen together.
    """

    Section = TagSection
    Data = TagData
    verbs: ClassVar[Mapping[str, str]] = {"token_head": "tag"}
    head_use = "token labels"
    needs_encoder = "words are tagged by an encoder"
    soft: ClassVar[Mapping[str, SoftLoss]] = {"tag": _of_words}
    weights: ClassVar[Mapping[str, float]] = {"tag": 1.0}
    axes: ClassVar[Mapping[str, Axis]] = {"tag": "token"}
    baseline_names = ("most_frequent", "by_word")
    section: TagSection
    head = "token_head"
    sample = ("A text whose words you want to tag.",)

    def __init__(
        self, section: TagSection, tokenizer: Tokenizer, *, length: int | None, baselines: TagBaselines | None = None
    ) -> None:
        self.section, self.tokenizer, self.length = section, tokenizer, length
        self.baselines = baselines or TagBaselines(section.labels)
        self._numbers = {normalize("NFC", label): number for number, label in enumerate(section.labels)}
        self._bio = is_bio(section.labels)
        self._legal = legal_steps(section.labels, begun=section.begun)

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        head, section = model.config.token_head, context.section
        if head is None or not isinstance(section, TagSection) or head.labels != len(section.labels):
            wanted = "tags need a model that was trained to tag"
            raise untrained(wanted, model, context, "glassformer train tag FILES")
        return cls(section, tokenizer, length=context.length)

    @property
    def _chain(self) -> Chain | None:
        """What may follow what without a CRF; None where each word is tagged by itself."""
        return self._legal if is_scheme(self.section.labels) else None

    def found(self, row: Row, answers: npt.NDArray[np.floating[Any]]) -> Found:
        return answers[np.array(row.labels["tag"]) != IGNORED], self._chain

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, Found]]:
        """For each row, the logits [n, L] of its words, of at least float32, and what may follow what."""
        crf, chain = crf_of(model), self._chain
        if crf is not None:
            chain = self._legal + crf.chain
        for batch in batches:
            logits = model(batch.inputs, heads=("token_head",)).token_logits  # [B, S, L]
            asked = batch.labels["tag"] != IGNORED  # [B, S]
            words = widened(logits)[asked].cpu().numpy()  # [words of the batch, L]
            ends = asked.sum(dim=1).cumsum(dim=0).tolist()
            for row, begin, end in zip(batch.row_ids.tolist(), [0, *ends], ends, strict=False):
                yield row, (words[begin:end], chain)

    def merge(self, example: Tagged, found: Sequence[Found]) -> Tagging:
        logits = np.concatenate([each for each, _ in found])  # [N, L]
        if not np.isfinite(logits).all():
            raise not_finite("a model must give finite numbers to tag with", example.sentence.text)
        return decoded(example.sentence, self.section.labels, logits, found[0][1], len(found))

    @classmethod
    def records_of(cls, data: Any, path: Path, bad: OnBad) -> Iterator[Record]:
        for row in tagged_rows(path, data, bad=bad, tagged=True):
            yield Record(row.values, row.where, data.kept(row.own))

    @classmethod
    def format_of(cls, data: Any, path: Any) -> TableFormat:
        return tagged_format(path)

    def example(self, values: Mapping[str, object], where: str) -> Tagged:
        sentence = sentence_of(values, where)
        if sentence.tags is None:
            return Tagged(sentence, None)
        tags = _in_bio(sentence.tags) if self._bio else sentence.tags
        known = {tag: known_label(tag, self._numbers, where) for tag in dict.fromkeys(tags)}
        return Tagged(sentence._replace(tags=tuple(tags)), tuple(known[tag] for tag in tags))

    def rows(self, example: Tagged) -> Iterator[Row]:
        """A row for each window, with the labels of the words that it answers for; 0 where labels are not known."""
        sentence, labels = example
        tokens = word_tokens(self.tokenizer, sentence.text, sentence.words)
        before, after = self.tokenizer.frame_ids
        cases = self._cases(sentence).repeat(np.diff(tokens.first, append=len(tokens.ids)))  # [tokens]
        for window in windows(len(tokens.ids), text_room(len(before) + len(after), self.length)):
            ids = np.concatenate([before, tokens.ids[window.start : window.end], after], dtype=np.int32)  # [S]
            marks = np.full(len(ids), IGNORED, np.int32)  # [S]
            start, end = tokens.first.searchsorted([window.first, window.last]).tolist()
            marks[tokens.first[start:end] - window.start + len(before)] = 0 if labels is None else labels[start:end]
            of_tokens = array("b", bytes(len(before)) + cases[window.start : window.end].tobytes() + bytes(len(after)))
            segments = of_tokens if self.section.case else None
            yield Row(ids=array("i", ids.tobytes()), segments=segments, labels={"tag": array("i", marks.tobytes())})

    def _cases(self, sentence: Sentence) -> npt.NDArray[np.int8]:
        """The case of each word, [N]; 0 where none is read."""
        if not self.section.case:
            return np.zeros(len(sentence.words), np.int8)
        return np.array([case_of(sentence.text[start:end]) for start, end in sentence.words], np.int8)

    @classmethod
    def from_records(
        cls, section: TagSection, preparation: Preparation, records: Sequence[Record], held_out: Sequence[Record]
    ) -> Self:
        """With the labels of the records: O, and B- and I- of each type, or the tags sorted."""
        sentences = [sentence for _, sentence in _sentences(records)]
        raw = [sentence.tags or () for sentence in sentences]
        kept = [(where, sentence.tags or ()) for where, sentence in _sentences(held_out)]
        marked = is_scheme(section.labels or {tag for tags in (*raw, *(tags for _, tags in kept)) for tag in tags})
        if not marked and not section.labels:
            _refuse_odd([*_sentences(records), *_sentences(held_out)])
        bio = is_bio(section.labels) if section.labels else marked
        tagged = [tuple(_in_bio(tags)) for tags in raw] if bio else raw
        found = Counter(tag for tags in tagged for tag in tags)
        unlearned = Unlearned()
        for where, tags in kept:
            unlearned.add(set(_in_bio(tags) if bio else tags) - found.keys(), where)
        learned = section.labels or _labels_of(found, bio=bio)
        labels = section.labels or _labels_of({*found, *unlearned.places}, bio=bio)
        if len(learned) < 2:
            raise DataError(
                "to tag there must be at least two labels",
                got=f"{len(learned)} in {len(records):,} sentences" + (f" ({learned[0]!r})" if learned else ""),
                do="check which column holds the tags",
            )
        if not preparation.measuring:
            if marked:
                preparation.log(str(scheme_of(raw)))
            shown = ", ".join(f"{label[:30]} {count:,}" for label, count in found.most_common(_SHOWN))
            more = f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else ""
            preparation.log(f"{found.total():,} words with {len(found):,} labels: {shown}{more}")
            unlearned.note(labels, "sentences", preparation.log)
            note_alike(labels, preparation.log)
            _note_short(labels, {*found, *unlearned.places}, preparation.log)
            _note_words(sentences, preparation.log)
        facts, case = preparation.facts.get("word_tag_counts"), section.case
        if case is None:
            case = preparation.tokenizer.drops_case
        return cls(
            section.model_copy(update={"labels": labels, "case": case}),
            preparation.tokenizer,
            length=preparation.data.length,
            baselines=TagBaselines.of(labels, sentences, tagged) if facts is None else TagBaselines(labels, facts),
        )

    def probes(self, start: Transformer) -> Sequence[Self]:
        return () if self.section.crf or self.section.direct is False else (self.with_settings(direct=True),)

    def model(self, body: ModelConfig) -> ModelConfig:
        from glassformer.models.families.heads import token_head_of, with_segments

        section = self.section
        head = token_head_of(
            body, labels=len(section.labels), dropout=section.dropout, crf=section.crf, direct=bool(section.direct)
        )
        if section.case:
            body = with_segments(body, CASES)
        return body.model_copy(update={"token_head": head, "head": None, "sentence_head": None})

    @property
    def baseline_loss(self) -> float:
        counts = self.baselines.label_counts.values()
        total = sum(counts)
        return -math.fsum(count / total * math.log(count / total) for count in counts if count)

    def facts(self) -> dict[str, Any]:
        return {"word_tag_counts": self.baselines.facts()}

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        if model.training and self.section.word_dropout and self.tokenizer.mask_id is not None:
            batch = replace(batch, inputs=replace(batch.inputs, ids=self._dropped(batch, self.tokenizer.mask_id)))
        return super().losses(model, batch)

    def _dropped(self, batch: Batch, mask: int) -> Tensor:
        """The ids [B, S] with [MASK] for all tokens of some words (word dropout, Iyyer et al. 2015, §3.2). Of the words
        of a window for which another one answers, those before its own stay, and those after them go with its last one.
        """
        from glassformer.parts.dropout import mix, places

        ids, key = batch.inputs.ids, batch.inputs.dropout_key
        assert ids is not None
        assert key is not None, "training with dropout needs a dropout key"
        words = (batch.labels["tag"] != IGNORED).cumsum(dim=1)  # [B, S], from 1; 0 before the first one
        drawn = mix(key.keys[:, None] + places(key, 1, ids.shape[1] + 1)[words], _WORDS)  # [B, S], int32
        dropped = (words > 0) & (drawn < int(self.section.word_dropout * (1 << 32)) - (1 << 31))  # [B, S]
        for special in self.tokenizer.special_ids:
            dropped = dropped & (ids != special)
        return ids.masked_fill(dropped, mask)

    def losses_of(self, model: Transformer, output: Output, batch: Batch) -> dict[str, Tensor]:
        """Cross-entropy of the words' labels, logits [B, S, L]; with a CRF, −log probability of a row's labels."""
        from glassformer.scoring.cross_entropy import cross_entropy

        logits, labels, crf = output.token_logits, batch.labels["tag"], crf_of(model)  # [B, S, L], [B, S]
        if crf is None:
            return {"tag": cross_entropy(logits, labels, batch.weights[:, None].expand_as(labels))}
        assert logits is not None
        each = crf.log_likelihood(logits, labels, labels != IGNORED)  # [B]
        return {"tag": -(each * batch.weights.to(each.dtype)).sum()}

    def text_of(self, example: Tagged) -> str:
        return example.sentence.text

    def known_by(self, example: Tagged) -> str | None:
        return None if example.labels is None else example.sentence.text

    def scores(self, pairs: Sequence[tuple[Tagged, Tagging]]) -> Scores:
        known = [(example.sentence, found) for example, found in pairs if example.labels is not None]
        return tag_scores(known, self.baselines)


def crf_of(model: Transformer) -> Crf | None:
    """The CRF that scores the labels of a text together; None where each word is tagged by itself."""
    return None if model.token_head is None else model.token_head.crf


def _refuse_odd(sentences: Sequence[tuple[str, Sentence]]) -> None:
    """Raise DataError for rare tags that break a scheme, as a line of column names and a slip do: with them all tags
    would be parts of speech.
    """
    where = {tag: place for place, sentence in sentences for tag in sentence.tags or ()}
    found = Counter(tag for _, sentence in sentences for tag in sentence.tags or ())
    odd = [tag for tag in where if not is_scheme({tag, "B-x"})]
    rare = sum(found[tag] for tag in odd)
    if odd and is_scheme({*where} - {*odd}) and len(where) > 3 and (rare == 1 or rare <= _ODD * found.total()):
        raise DataError(
            located(where[odd[0]], "a tag must be O, or begin with B- or I- as the others do"),
            got=repr(odd[0]) + (f", one of {rare:,} such tags" if rare > 1 else ""),
            do="correct it, or leave out a line of column names",
        )


def _sentences(records: Iterable[Record]) -> Iterator[tuple[str, Sentence]]:
    """Place and sentence of each record; those of which none can be made are reported when they become examples."""
    for record in records:
        with suppress(DataError):
            yield record.where, sentence_of(record.values, record.where)


def _note_short(labels: Sequence[str], found: Collection[str], log: Callable[[str], None]) -> None:
    """Log of which types no span has a second word: their I- is a label all the same, and legal in an answer."""
    never = [label for label in labels if label.startswith("I-") and f"B-{label[2:]}" in found and label not in found]
    if never:
        shown = ", ".join(label[:30] for label in never[:_SHOWN]) + (" …" if len(never) > _SHOWN else "")
        log(f"no span has a second word: {shown} {'is a label' if len(never) == 1 else 'are labels'}, never learned")


def _note_words(sentences: Sequence[Sentence], log: Callable[[str], None]) -> None:
    """Log how many of the words that files gave would be found in their text: those of a raw text are found so."""
    given = [sentence for sentence in sentences if sentence.given]
    words = sum(len(sentence.words) for sentence in given)
    same = sum(len(set(sentence.words) & set(find_words(sentence.text))) for sentence in given)
    if same < words:
        log(
            f"a text without given words is split at blanks and punctuation: {same / words:.1%} of the words of these "
            f"files are the same"
        )


def _in_bio(tags: Sequence[str]) -> list[str]:
    return tags_of(spans_of(tags), len(tags))


def _labels_of(found: Iterable[str], *, bio: bool) -> tuple[str, ...]:
    """All labels, in a fixed order; of spans both B- and I-, also where all spans have one word."""
    if not bio:
        return tuple(sorted(found))
    types = sorted({label[2:] for label in found if label != OUTSIDE})
    return (OUTSIDE, *(f"{prefix}-{label}" for label in types for prefix in "BI"))
