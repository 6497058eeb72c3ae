"""Chat by a decoder-only model: a dialogue is one text, of which the replies are learned.

L lessons · R rows · B rows of a batch · S tokens of a row · W width
"""

import hashlib
import json
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, DataError
from glassformer.config import ModelConfig
from glassformer.data.batches.batch import Flat, Integers, Texts, key_of
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.batches.pack_pairs import PackedPairs, pack_pairs
from glassformer.data.readers.lines import OnBad
from glassformer.data.readers.read import Dialogue, read_dialogues
from glassformer.data.settings import RecordSection
from glassformer.data.stores.split import Split
from glassformer.decode.options import WritingOptions
from glassformer.decode.settings import DecodeSettings
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.scoring.cross_entropy import token_cross_entropy
from glassformer.scoring.score import Scores, Unigram
from glassformer.tasks.predictor import Context
from glassformer.tasks.rows import Shape
from glassformer.tasks.settings import TaskSection
from glassformer.tasks.tables import Record, TableTask
from glassformer.tasks.task import Preparation, Source, silent
from glassformer.tasks.writing.chat.chatter import joined
from glassformer.tasks.writing.chat.settings import ChatData, ChatSection
from glassformer.tasks.writing.chat.talker import Talker
from glassformer.tasks.writing.chat.task import MOST, Chat, replies_to_write, with_replies
from glassformer.tasks.writing.chat.turns import Exchange, Lesson, TurnWriter, lessons, perspectives
from glassformer.tasks.writing.next_token_scores import MOST_COUNTED, NEXT, NextTokenScores
from glassformer.tasks.writing.pair_source import log_rows, side_by_side
from glassformer.tasks.writing.writers import check_writes, special_ids_of
from glassformer.text.chat_template import MARKS, ChatTemplates, Message, own_templates
from glassformer.text.special import GPT2
from glassformer.text.tokenizer import Tokenizer


class Exchanges(Sequence[Exchange]):
    """Many replies with the turns before them, in the memory of the letters of each dialogue."""

    def __init__(self) -> None:
        self._dialogues, self._places = Texts(), array("q")

    def add(self, messages: Sequence[Message], learned: Sequence[bool]) -> None:
        replies = [number for number, of in enumerate(learned) if of]
        for number in replies:
            self._places.extend((len(self._dialogues), number))
        self._dialogues.append(json.dumps(messages, ensure_ascii=False))

    def __len__(self) -> int:
        return len(self._places) // 2

    def __getitem__(self, number: int) -> Exchange:  # type: ignore[override]  # no slices: nobody asks for them
        number = range(len(self))[number]
        dialogue, turn = self._places[2 * number : 2 * number + 2]
        messages = [Message(*each) for each in json.loads(self._dialogues[dialogue])]
        return Exchange(tuple(messages[:turn]), messages[turn].content)


class DialogueSource:
    """Lessons packed into rows; tokens attend within their lesson (a document) and learn the next token."""

    rows_of_each = 1
    total_counts = None  # each token of a step weighs the same

    def __init__(
        self, lessons: Sequence[Lesson], exchanges: Exchanges, *, length: int, pad_id: int, left_out: int = 0
    ) -> None:
        self.examples, self.lengths, self.left_out, self._pad_id = exchanges, length, left_out, pad_id
        self._ids = Flat.of(each.ids[:-1] for each in lessons)
        self._labels = Flat.of(
            [
                id_ if of else IGNORED
                for id_, of in zip(each.ids[1:], each.learned[1:], strict=True)
            ]
            for each in lessons
        )  # fmt: skip
        digest = hashlib.sha256(repr([type(self).__name__, length]).encode())
        for part in (self._ids.values, self._ids.offsets, self._labels.values):
            digest.update(part.tobytes())
        self.fingerprint = digest.hexdigest()
        sizes = np.stack([self._ids.lengths] * 2, axis=1)  # [L, 2]: the packing is one of pairs
        self.packed: PackedPairs = pack_pairs(sizes, np.array([[length, length]]), key=key_of(self.fingerprint, 0))

    def __len__(self) -> int:
        return len(self.packed.members)

    @cached_property
    def padding(self) -> float:
        return 1 - len(self._ids.values) / max(1, len(self) * self.lengths)

    @property
    def stream(self) -> Integers:
        ends = self._ids.offsets[1:]
        last = self._labels.values[ends - 1]  # the last token of a lesson is not read
        known = last != IGNORED
        return np.insert(self._ids.values.astype(np.int64), ends[known], last[known])

    def rows_of(self, replies: int | None) -> int | None:
        """The number of rows that hold about this many replies; None for all."""
        if replies is None:
            return None
        return min(len(self), math.ceil(replies * len(self) / len(self.examples)))

    @property
    def target_tokens(self) -> npt.NDArray[np.int32]:
        return self._labels.values[self._labels.values != IGNORED]

    def batch(self, examples: Integers, epochs: Integers, *, shape: Shape) -> Batch:
        rows, length = shape
        filled = np.concatenate([examples, np.repeat(examples[-1:], rows - len(examples))])
        members, row, _ = self.packed.members.joined(filled)
        chosen = members.astype(np.int64)
        # Padding belongs to the first lesson: it has something to look at, and nobody looks back at it.
        read = side_by_side(self._ids, chosen, row, (rows, length), fill=(self._pad_id, 0))
        labels = side_by_side(self._labels, chosen, row, (rows, length), fill=(IGNORED, 0)).ids  # [B, S]
        labels[len(examples) :] = IGNORED
        return Batch(
            inputs=read.inputs(),
            labels={NEXT: torch.from_numpy(labels)},
            counts={NEXT: float((labels != IGNORED).sum())},
            row_ids=torch.arange(rows, dtype=torch.int32),
            weights=torch.from_numpy((np.arange(rows) < len(examples)).astype(np.float32)),
            tokens=int(self._ids.lengths[chosen[row < len(examples)]].sum()),
        )


class ChatAlone(TableTask):
    """The probability of each token of a reply after the turns before it. Replies alone are learned."""

    Section: ClassVar[type[TaskSection]] = ChatSection
    Data: ClassVar[type[RecordSection]] = ChatData
    verbs = Chat.verbs
    special: ClassVar = GPT2
    marks: ClassVar[tuple[str, ...]] = tuple(MARKS.values())
    weights: ClassVar[Mapping[str, float]] = {NEXT: 1.0}
    fits_baselines = True
    held_out_from = Chat.held_out_from
    baseline_names = ("unigram", "trigram", "right_replies")
    of_tokens = ("loss", "perplexity", "accuracy")
    shares = ()
    section: ChatSection
    templates: ChatTemplates

    def __init__(self, section: ChatSection, tokenizer: Tokenizer, templates: ChatTemplates) -> None:
        self.section, self.tokenizer, self.templates = section, tokenizer, templates
        self.unigram = Unigram(np.zeros(1, np.int64))  # counted where there are training dialogues
        self.data: ChatData | None = None

    @classmethod
    def check_body(cls, section: ChatSection, body: ModelConfig) -> None:
        check_writes(body)
        if section.alignment:
            raise ConfigError(
                "only an encoder–decoder learns which words belong together",
                got=f"task.alignment = {section.alignment}",
                do="leave it out",
            )

    @classmethod
    def records_of(cls, data: Any, path: Path, bad: OnBad) -> Iterator[Record]:
        for dialogue in read_dialogues(path, column=data.text, header=data.has_header, bad=bad):
            yield Record({"text": joined(dialogue.turns), "dialogue": dialogue}, dialogue.where)

    @classmethod
    def texts_of(cls, record: Record) -> tuple[str, ...]:
        dialogue = record.values["dialogue"]
        assert isinstance(dialogue, Dialogue)
        return dialogue.turns

    @classmethod
    def _prepared(cls, section: Any, preparation: Preparation, bad: OnBad) -> tuple[Self, dict[Split, Source]]:
        data, log = preparation.data, silent if preparation.measuring else preparation.log
        assert isinstance(data, ChatData)
        task = cls(section, preparation.tokenizer, preparation.templates or own_templates(preparation.tokenizer))
        task.data = data
        ends = special_ids_of(task.tokenizer, preparation.search).end
        writer = TurnWriter(task.tokenizer, task.templates.named(), ends)
        found: dict[Split, list[Lesson]] = {}
        asked: dict[Split, Exchanges] = {}
        left_out: dict[Split, int] = {}
        for split, record in cls._split(data, preparation.shares, bad):
            dialogue = record.values["dialogue"]
            assert isinstance(dialogue, Dialogue)
            for messages, learned in perspectives(dialogue):
                try:
                    its = list(lessons(writer, messages, learned, room=data.length, history=data.history))
                except DataError as error:
                    bad(DataError(f"{record.where}: {error.wanted}", got=error.got).about(record.where, dialogue.turns))
                    continue
                found.setdefault(split, []).extend(each for each in its if each is not None)
                left_out[split] = left_out.get(split, 0) + its.count(None)
                asked.setdefault(split, Exchanges()).add(messages, learned)
        if not found.get("train"):
            count = left_out.get("train", 0)
            raise DataError(
                "training needs dialogues, with replies that fit into data.length = "
                f"{data.length} tokens after the turn before them",
                got=f"{count:,} longer ones" if count else "none that can be used",
                do="" if preparation.measuring else "raise data.length, or check the files",
            )
        sources = {
            split: DialogueSource(
                its,
                asked[split],
                length=data.length,
                pad_id=preparation.tokenizer.pad_id or 0,
                left_out=left_out.get(split, 0),
            )
            for split, its in found.items()
            if its
        }
        size = preparation.tokenizer.vocabulary_size
        task.unigram = Unigram.saved(preparation.facts) or Unigram.count(sources["train"].target_tokens, size)
        too_long = f"that are longer than data.length = {data.length} with the turn before them"
        log_rows(sources, "replies", f"{data.length}", too_long, log)
        return task, {split: source for split, source in sources.items() if len(source)}

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        states = model(batch.inputs, heads=()).states  # [B, S, W]
        smoothing = self.section.label_smoothing
        return {NEXT: token_cross_entropy(model, states, batch.labels[NEXT], smoothing=smoothing)}

    @property
    def baseline_loss(self) -> float:
        share = self.section.label_smoothing
        uniform = float(-np.log(self.unigram.probability(np.arange(len(self.unigram.counts)))).mean())
        return (1 - share) * self.unigram.entropy + share * uniform

    def facts(self) -> dict[str, Any]:
        return self.unigram.facts

    def evaluate(self, model: Transformer, source: DialogueSource, *, limit: int | None = None) -> Scores:
        """Scores of the right replies' tokens, and `reply_scores` of at most 200 greedy replies."""
        scores = self.evaluate_in_training(model, source, limit=limit)
        chosen = replies_to_write(source, limit)
        asked = [([turn._asdict() for turn in each.before], each.reply) for each in chosen]
        return with_replies(scores, model, self.talking(model), asked, self.engine)

    def evaluate_in_training(self, model: Transformer, source: DialogueSource, *, limit: int | None = None) -> Scores:
        return self._scoring.measured(model, source, source.rows_of(limit))

    def with_baselines(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        return self._scoring.with_trigram(scores, train.stream[:MOST_COUNTED], source, source.rows_of(limit))

    @property
    def _scoring(self) -> NextTokenScores:
        return NextTokenScores(self.unigram, self.tokenizer.byte_counts)

    def talking(self, model: Transformer) -> Talker:
        options = WritingOptions(search=DecodeSettings(max_tokens=MOST))
        length = None if self.data is None else self.data.length
        return Talker.of(
            model, self.tokenizer, Context(data=self.data, asked=options, length=length, templates=self.templates)
        )

    def known_by(self, example: Any) -> str:
        return json.dumps(example, ensure_ascii=False)
