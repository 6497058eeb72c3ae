"""Chat: an encoder reads the turns so far, a decoder writes the reply token by token.

B rows · S tokens of the turns · T tokens of the reply · R, E replies · n tokens of E replies
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from glassformer.base.errors import DataError
from glassformer.data.batches.batch import Flat, Integers, Order, Texts
from glassformer.data.readers.lines import OnBad
from glassformer.data.readers.read import read_dialogues
from glassformer.data.settings import RecordSection
from glassformer.data.stores.split import Split
from glassformer.decode.settings import DecodeSettings
from glassformer.models.transformer import Transformer
from glassformer.scoring.score import THIS_MODEL, Measure, Reals, Scores
from glassformer.scoring.trigram import Trigram
from glassformer.tasks.predictor import Engine, Predictor, evaluating, predict
from glassformer.tasks.settings import TaskSection
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Preparation, Source, silent
from glassformer.tasks.writing.chat.chatter import HISTORY, Chatter, Reply, joined
from glassformer.tasks.writing.chat.settings import ChatData, ChatSection
from glassformer.tasks.writing.next_token_scores import MOST_COUNTED
from glassformer.tasks.writing.pair_source import (
    PairSource,
    TargetLosses,
    TextPairs,
    measured_pairs,
    target_losses,
)
from glassformer.tasks.writing.target_task import TargetTask
from glassformer.tasks.writing.translator import Translator
from glassformer.tasks.writing.writers import special_ids
from glassformer.text.words import find_words

WRITTEN = 200
"""Replies that are written to measure how different and long they are."""

REPEATED = 4
"""Sequences of this many words that occur more than once in a reply are counted."""


def reply_scores(replies: Sequence[str]) -> dict[str, float]:
    """`distinct_1`, `distinct_2`: different words and pairs of words as shares of all (Li et al. 2016); `reply_words`:
    the mean number; `repeated_4`: sequences of four words that occurred before; `empty`: replies without a word.
    """
    words = [[reply[start:end].lower() for start, end in find_words(reply)] for reply in replies]
    fours = [_sequences(each, REPEATED) for each in words]
    count = sum(map(len, fours))
    return {
        "distinct_1": _distinct(words, 1),
        "distinct_2": _distinct(words, 2),
        "reply_words": sum(map(len, words)) / max(1, len(words)),
        "repeated_4": sum(len(each) - len(set(each)) for each in fours) / count if count else 0.0,
        "empty": sum(not each for each in words) / max(1, len(words)),
    }


class Replies(Protocol):
    fingerprint: str

    @property
    def examples(self) -> Sequence[Any]: ...


def replies_to_write(source: Replies, limit: int | None) -> list[Any]:
    """The examples of a source to which replies are written to measure them, always the same ones."""
    count = min(WRITTEN, len(source.examples), limit or WRITTEN)
    order = Order(len(source.examples), count, source.fingerprint, 0)
    return [source.examples[number] for number in order.of_epoch(0, 0).tolist()]


def with_replies(
    scores: Scores,
    model: Transformer,
    writer: Predictor[Any, Reply],
    asked: Sequence[tuple[object, str]],
    engine: Engine | None,
) -> Scores:
    """Scores with those of a writer's replies to these turns, compared with the right ones."""
    with evaluating(model) as fast:
        examples = (writer.example({"turns": turns}, "") for turns, _ in asked)
        written = [found.reply for found in predict(writer, model, examples, fast=fast, engine=engine)]
    own = {**scores.of[THIS_MODEL], **reply_scores(written)}
    of = {**scores.of, THIS_MODEL: own, "right replies": reply_scores([right for _, right in asked])}
    return replace(scores, of=of, report={"written": len(written)})


def _sequences(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]


def _distinct(words: Sequence[Sequence[str]], size: int) -> float:
    found = [sequence for each in words for sequence in _sequences(each, size)]
    return len(set(found)) / len(found) if found else 0.0


def scores_of_replies(of: TargetLosses, source: PairSource, baseline: str) -> Scores:
    """Loss, perplexity, accuracy and bits per byte, compared with the tokens' frequencies; intervals over replies."""
    sizes = _bytes(source, of.pairs)
    right = np.stack([of.right, of.tokens], axis=1)  # [E, 2]
    by_losses = _of_losses(of.losses, of.tokens, sizes)
    assert isinstance(by_losses.statistics, np.ndarray)

    def scores(sums: Reals) -> Mapping[str, Reals]:
        return {**by_losses.scores(sums[..., :3]), "accuracy": sums[..., 3] / sums[..., 4]}

    own = Measure(np.concatenate([by_losses.statistics, right], axis=1), scores)  # [E, 5]
    measures = {THIS_MODEL: own, baseline: _of_losses(of.unigram, of.tokens, sizes)}
    return Scores.measured("tokens", measures, count=round(float(of.tokens.sum())))


def by_trigram(train: PairSource, source: PairSource, *, start: int, vocabulary: int, limit: int | None) -> Scores:
    """The scores of the same replies by trigrams of the training replies, without the turns before them."""
    counted = Trigram(_one_after_another(train.targets, start)[:MOST_COUNTED], vocabulary)
    pairs = measured_pairs(source, limit)
    ids, of, place = source.targets.joined(pairs)  # [n], [n], [n]
    stream = np.insert(ids.astype(np.int64), np.flatnonzero(place == 0), start)  # [n + E]
    at = np.arange(len(ids)) + of + 1  # where each token is now
    last = stream[at - 1]
    before = np.where(at > 1, stream[at - 2], -1)  # behind a beginning: the end of the reply before it
    losses = -np.log(counted.probability(before, last, stream[at]))  # [n]
    sums = np.bincount(of, losses, len(pairs)).astype(np.float64)  # [E]
    tokens = np.bincount(of, minlength=len(pairs)).astype(np.float64)  # [E]
    measure = _of_losses(sums, tokens, _bytes(source, pairs))
    return Scores.measured("tokens", {THIS_MODEL: measure}, count=len(ids))


def _of_losses(losses: Reals, tokens: Reals, sizes: Reals) -> Measure:
    """Loss, perplexity and bits per byte of replies with these losses [E], numbers of tokens [E] and bytes [E]."""

    def scores(sums: Reals) -> Mapping[str, Reals]:
        loss = sums[..., 0] / sums[..., 1]
        bits = sums[..., 0] / math.log(2) / sums[..., 2]
        return {"loss": loss, "perplexity": np.exp(np.minimum(loss, 700.0)), "bits_per_byte": bits}

    return Measure(np.stack([losses, tokens, sizes], axis=1), scores)  # [E, 3]


def _bytes(source: PairSource, pairs: Integers) -> Reals:
    targets = source.examples.targets
    return np.array([len(targets[pair].encode("utf-8", "surrogatepass")) for pair in pairs.tolist()], np.float64)


def _one_after_another(replies: Flat, start: int) -> Integers:
    """All tokens, each reply behind the token that it begins with. [N]"""
    return np.insert(replies.values.astype(np.int64), replies.offsets[:-1], start)


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
    held_out_from = 20
    section: ChatSection

    def searching(self, beams: int) -> Translator:
        search = DecodeSettings(max_tokens=MOST) if beams == 1 else DecodeSettings(method="beam", beams=beams)
        ids = special_ids(self.tokenizer.target)
        return Translator(self.tokenizer, length=self.length, ids=ids, search=search)

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
        task = cls.untrained(section, preparation)
        found: dict[Split, TextPairs] = {}
        for split, record in cls._split(data, preparation.shares, bad):
            pairs = found.setdefault(split, TextPairs(Texts(), Texts()))
            pairs.sources.append(str(record.values["text"]))
            pairs.targets.append(str(record.values["target"]))
        if "train" not in found:
            raise DataError("training needs dialogues", got="none that can be used", do="check the files")
        tell = silent if preparation.measuring else log
        return task, task._sources(found, preparation, "turns and replies", tell)

    def evaluate(self, model: Transformer, source: PairSource, *, limit: int | None = None) -> Scores:
        """Scores of the right replies' tokens, and `reply_scores` of at most 200 greedy replies."""
        scores = scores_of_replies(target_losses(model, source, self.unigram, limit), source, self.unigram.name)
        asked = [(each.text.split("\n"), each.target) for each in replies_to_write(source, limit)]
        return with_replies(scores, model, Chatter(self.searching(1), history=_ALL), asked, self.engine)

    def beside(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        start, vocabulary = self.translator.ids.begin, self.tokenizer.target.vocabulary_size
        counted = by_trigram(train, source, start=start, vocabulary=vocabulary, limit=limit)
        return scores.beside(Trigram.name, counted)
