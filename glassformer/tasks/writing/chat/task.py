"""Chat: an encoder reads the turns so far, a decoder writes the reply token by token.

B rows · S tokens of the turns · T tokens of the reply · R replies
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from glassformer.base.errors import DataError
from glassformer.data.batches.flat import Texts
from glassformer.data.readers.dialogues import read_dialogues
from glassformer.data.readers.lines import OnBad
from glassformer.data.settings import RecordSection
from glassformer.data.stores.split import Split
from glassformer.decode.settings import DecodeSettings
from glassformer.models.transformer import Transformer
from glassformer.scoring.score import THIS_MODEL, Scores
from glassformer.scoring.trigram import Trigram
from glassformer.tasks.predict import predict
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.records import Record
from glassformer.tasks.settings import TaskSection
from glassformer.tasks.task import Preparation, Source
from glassformer.tasks.writing.chat.chatter import HISTORY, Chatter, joined
from glassformer.tasks.writing.chat.scores import (
    by_trigram,
    replies_to_write,
    reply_scores,
    scores_of_replies,
    with_replies,
)
from glassformer.tasks.writing.chat.settings import ChatData, ChatSection
from glassformer.tasks.writing.pair_source import PairSource, TextPair, TextPairs
from glassformer.tasks.writing.target_losses import target_losses
from glassformer.tasks.writing.target_task import TargetTask
from glassformer.tasks.writing.translator import Translator
from glassformer.tasks.writing.writers import special_ids

MOST = 40
"""The most tokens of a reply that is written to be measured."""
# The turns of a record are those that are read.
_ALL = 1000


class Chat(TargetTask):
    """The probability of each token of a reply, given the turns before it. Replies alone are learned."""

    Section: ClassVar[type[TaskSection]] = ChatSection
    Data: ClassVar[type[RecordSection]] = ChatData
    verbs: ClassVar[Mapping[str, str]] = {"head": "chat"}
    fits_baselines = True
    baseline_names = ("unigram", "trigram", "right_replies")
    of_tokens = ("loss", "perplexity", "accuracy")
    section: ChatSection

    def searching(self, beams: int) -> Translator:
        search = DecodeSettings(max_tokens=MOST) if beams == 1 else DecodeSettings(method="beam", beams=beams)
        ids = special_ids(self.tokenizer.target)
        return Translator(self.tokenizer, length=self.length, ids=ids, search=search)

    # ------------------------------------------------------------------ dialogues

    @classmethod
    def columns(cls, data: Any) -> dict[str, str]:
        return {"text": data.text}

    @classmethod
    def records_of(cls, data: Any, path: Path, bad: OnBad) -> Iterator[Record]:
        """A record for each reply: the turns before it, and the reply. All of a dialogue are in one split."""
        for dialogue in read_dialogues(path, column=data.text, header=data.has_header, bad=bad):
            whole = joined(dialogue.turns)
            for number, learned in enumerate(dialogue.replies):
                if learned:
                    turns = dialogue.turns[max(0, number - (data.history or HISTORY)) : number]
                    values = {"text": joined(turns), "target": dialogue.turns[number], "dialogue": whole}
                    yield Record(values, dialogue.where)

    @classmethod
    def split_text(cls, record: Record) -> str:
        return str(record.values["dialogue"])

    @classmethod
    def _prepared(cls, section: Any, preparation: Preparation, bad: OnBad) -> tuple[Self, dict[Split, Source]]:
        data, log = preparation.data, preparation.log
        task = cls.from_records(section, preparation, [])
        found: dict[Split, TextPairs] = {}
        for split, record in cls._split(data, preparation.shares, bad):
            pairs = found.setdefault(split, TextPairs(Texts(), Texts()))
            pairs.sources.append(str(record.values["text"]))
            pairs.targets.append(str(record.values["target"]))
        if "train" not in found:
            raise DataError("training needs dialogues", got="none that can be used", do="check the files")
        tell = silent if preparation.measuring else log
        return task, task._sources(found, preparation, "turns and replies", tell)

    # ------------------------------------------------------------------ measuring

    def evaluate(self, model: Transformer, source: PairSource, *, limit: int | None = None) -> Scores:
        """Scores of the right replies' tokens, and `reply_scores` of at most 200 greedy replies."""
        scores = scores_of_replies(target_losses(model, source, self.unigram, limit), source, self.unigram.name)
        chosen = [source.examples[number] for number in replies_to_write(source, limit)]
        with evaluating(model):
            fast = torch.is_autocast_enabled(next(model.parameters()).device.type)
            chatter = Chatter(self.searching(1), history=_ALL)
            examples = (chatter.example({"turns": each.text.split("\n")}, "") for each in chosen)
            written = [found.reply for found in predict(chatter, model, examples, fast=fast)]
        return with_replies(scores, written, [each.target or "" for each in chosen])

    def beside(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        start, vocabulary = self.translator.ids.begin, self.tokenizer.target.vocabulary_size
        counted = by_trigram(train, source, start=start, vocabulary=vocabulary, limit=limit)
        return scores.beside(Trigram.name, counted)

    def scores(self, pairs: Sequence[tuple[TextPair, Any]]) -> Scores:
        return Scores(len(pairs), "replies", {THIS_MODEL: reply_scores([str(found.translation) for _, found in pairs])})


def silent(sentence: str) -> None:
    """Nobody is told."""
