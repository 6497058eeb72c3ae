"""Chat by a decoder-only model: a dialogue is one text, of which the replies are learned.

B rows · S tokens of a row · N = B·S · V vocabulary · W width
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from torch import Tensor

from glassformer.base.errors import ConfigError, DataError
from glassformer.config import ModelConfig
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
from glassformer.tasks.settings import TaskSection
from glassformer.tasks.tables import Record, TableTask
from glassformer.tasks.task import Preparation, Source, silent
from glassformer.tasks.writing.chat.chatter import joined
from glassformer.tasks.writing.chat.records import DialogueSource, Exchanges
from glassformer.tasks.writing.chat.settings import ChatData, ChatSection
from glassformer.tasks.writing.chat.talker import Talker
from glassformer.tasks.writing.chat.task import MOST, Chat, replies_to_write, with_replies
from glassformer.tasks.writing.chat.turns import Lesson, TurnWriter, lessons, told_apart
from glassformer.tasks.writing.next_token_scores import MOST_COUNTED, NEXT, NextTokenScores
from glassformer.tasks.writing.writers import check_writes, special_ids_of
from glassformer.text.chat_template import MARKS, ChatTemplates, own_templates
from glassformer.text.special import GPT2
from glassformer.text.tokenizer import Tokenizer


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
            for messages, learned in told_apart(dialogue):
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
        _log_rows(sources, data.length, log)
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

    def beside(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        return self._scoring.beside_trigram(scores, train.stream[:MOST_COUNTED], source, source.rows_of(limit))

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


def _log_rows(sources: Mapping[Split, DialogueSource], length: int, log: Any) -> None:
    held_out = ", ".join(f"{len(sources[split].examples):,} {split}" for split in sources if split != "train")
    train = sources["train"]
    log(
        f"{len(train.examples):,} replies to learn from, {held_out or 'none held out'}; {len(train):,} rows of "
        f"{length} tokens, {train.padding:.1%} of them padding"
    )
    if left_out := sum(source.left_out for source in sources.values()):
        log(f"{left_out:,} replies that are longer than data.length = {length} with the turn before them are left out")
