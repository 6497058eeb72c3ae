"""Chat: an encoder reads the turns so far, a decoder writes the reply token by token.

B rows · S tokens of the turns · T tokens of the reply · R replies
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field

from glassformer.data.dialogues import read_dialogues
from glassformer.data.files import files_of
from glassformer.data.flat import Texts
from glassformer.data.lines import OnBad
from glassformer.data.order import Order
from glassformer.data.settings import ChatData, RecordSection
from glassformer.data.split import Split
from glassformer.decode.settings import DecodeSettings
from glassformer.errors import DataError
from glassformer.models.transformer import Transformer
from glassformer.tasks.chat_scores import reply_scores
from glassformer.tasks.chatter import HISTORY, Chatter, joined
from glassformer.tasks.pair_records import log_rows
from glassformer.tasks.pair_source import PairSource, TextPair, TextPairs
from glassformer.tasks.predict import predict
from glassformer.tasks.records import Record
from glassformer.tasks.reply_measures import by_trigram, scores_of_replies
from glassformer.tasks.score import THIS_MODEL, Scores
from glassformer.tasks.task import Preparation, Source, TaskSection, evaluating
from glassformer.tasks.translate import Translate, TranslateSection, unigram_of
from glassformer.tasks.translation_evaluation import target_losses, token_scores
from glassformer.tasks.translator import Translator, special_ids
from glassformer.tasks.trigram import Trigram

WRITTEN, MOST = 200, 40
"""Replies that are written to measure how different and long they are, and their most tokens."""
# The turns of a record are those that are read.
_ALL = 1000


class ChatSection(TranslateSection):
    """As for translation, but without label smoothing."""

    name: Literal["chat"] = "chat"  # type: ignore[assignment]
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    best: Literal["loss"] = "loss"


class Chat(Translate):
    """The probability of each token of a reply, given the turns before it. Replies alone are learned."""

    Section: ClassVar[type[TaskSection]] = ChatSection
    Data: ClassVar[type[RecordSection]] = ChatData
    fits_baselines = True
    baseline_names = ("unigram", "trigram", "right_replies")
    of_tokens = ("loss", "perplexity", "accuracy")
    section: ChatSection

    @classmethod
    def compared_by(cls, section: Any) -> str:
        """Bits per byte: losses per token are of different tokens where vocabularies differ."""
        return "-bits_per_byte"

    def searching(self, beams: int) -> Translator:
        """What writes with so many beams; greedy with one."""
        search = DecodeSettings(max_tokens=MOST) if beams == 1 else DecodeSettings(method="beam", beams=beams)
        ids = special_ids(self.tokenizer.target)
        return Translator(self.tokenizer, length=self.length, ids=ids, options={"search": search})

    # ------------------------------------------------------------------ dialogues

    @classmethod
    def columns(cls, data: Any) -> dict[str, str]:
        """The turns."""
        return {"text": data.text}

    @classmethod
    def records(cls, data: Any, files: Sequence[str], bad: OnBad) -> Iterator[Record]:
        """A record for each reply: the turns before it, and the reply. All of a dialogue are in one split."""
        for path in files_of(files, text=data.text, tables=True):
            for dialogue in read_dialogues(path, column=data.text, header=data.has_header, bad=bad):
                whole = joined(dialogue.turns)
                for number, learned in enumerate(dialogue.replies):
                    if learned:
                        turns = dialogue.turns[max(0, number - (data.history or HISTORY)) : number]
                        values = {"text": joined(turns), "target": dialogue.turns[number], "dialogue": whole}
                        yield Record(values, dialogue.where)

    @classmethod
    def split_text(cls, record: Record) -> str:
        """The whole dialogue."""
        return str(record.values["dialogue"])

    @classmethod
    def texts_of(cls, record: Record) -> tuple[str, ...]:
        """The turns of a reply, the reply: what a vocabulary of both sides is learned from."""
        return str(record.values["text"]), str(record.values["target"])

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
        begin = task.translator.ids.begin
        sources = {
            split: PairSource(pairs, preparation.tokenizer, start=begin, longest=data.length)
            for split, pairs in found.items()
        }
        if not len(sources["train"]):
            raise DataError(
                f"turns and replies of at most data.length = {data.length} tokens are needed",
                got=f"{len(found['train']):,} longer ones",
                do="" if preparation.measuring else "raise data.length",
            )
        task.unigram = unigram_of(preparation, sources["train"])
        log_rows(sources, data.length, silent if preparation.measuring else log)
        return task, {split: source for split, source in sources.items() if len(source)}

    # ------------------------------------------------------------------ measuring

    def facts(self) -> dict[str, Any]:
        """How frequent each token of the training replies is."""
        return {"unigram_counts": self.unigram.counts.tolist()}

    def evaluate(self, model: Transformer, source: PairSource, *, limit: int | None = None) -> Scores:
        """Loss, perplexity, bits per byte and accuracy of the right replies, and what the model's own greedy ones are
        like: `reply_scores` of at most 200 of them.
        """
        scores = scores_of_replies(target_losses(model, source, self.unigram, limit), source, self.unigram.name)
        count = min(WRITTEN, len(source.examples), limit or WRITTEN)
        numbers = Order(len(source.examples), count, source.fingerprint, 0).of_epoch(0, 0).tolist()
        with evaluating(model):
            fast = torch.is_autocast_enabled(next(model.parameters()).device.type)
            asked = ({"turns": source.examples[number].text.split("\n")} for number in numbers)
            chatter = Chatter(self.searching(1), history=_ALL)
            examples = (chatter.example(each, "") for each in asked)
            replies = [found.reply for found in predict(chatter, model, examples, fast=fast)]
        own = {**scores.of[THIS_MODEL], **reply_scores(replies)}
        right = reply_scores([source.examples[number].target or "" for number in numbers])
        of = {**scores.of, THIS_MODEL: own, "right replies": right}
        return replace(scores, of=of, report={"written": count})

    def beside(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        """With those of somebody who counts which token followed which two in the training replies."""
        start, vocabulary = self.translator.ids.begin, self.tokenizer.target.vocabulary_size
        counted = by_trigram(train, source, start=start, vocabulary=vocabulary, limit=limit)
        return scores.beside(Trigram.name, counted)

    def evaluate_in_training(self, model: Transformer, source: PairSource, *, limit: int | None = None) -> Scores:
        """Loss, perplexity and accuracy of the tokens of the right replies."""
        return token_scores(target_losses(model, source, self.unigram, limit), self.unigram)

    def scores(self, pairs: Sequence[tuple[TextPair, Any]]) -> Scores:
        """What replies are like."""
        return Scores(len(pairs), "replies", {THIS_MODEL: reply_scores([str(found.translation) for _, found in pairs])})


def silent(sentence: str) -> None:
    """Nobody is told."""
