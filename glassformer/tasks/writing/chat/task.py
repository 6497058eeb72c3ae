"""Chat: an encoder reads the turns so far, a decoder writes the reply token by token.

B rows · S tokens of the turns · T tokens of the reply · R, E replies · n tokens of E replies
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from glassformer.base.errors import DataError
from glassformer.data.batches.batch import Integers, Texts
from glassformer.data.readers.lines import OnBad
from glassformer.data.readers.read import read_dialogues
from glassformer.data.settings import RecordSection
from glassformer.data.stores.split import Split
from glassformer.decode.settings import DecodeSettings
from glassformer.models.transformer import Transformer
from glassformer.scoring.score import THIS_MODEL, Reals, Scores
from glassformer.tasks.predictor import Engine, Predictor, evaluating, predict
from glassformer.tasks.settings import TaskSection
from glassformer.tasks.tables import Record
from glassformer.tasks.task import Preparation, Source, drawn_examples, silent
from glassformer.tasks.writing.chat.chatter import HISTORY, Chatter, Reply, joined
from glassformer.tasks.writing.chat.settings import ChatData, ChatSection
from glassformer.tasks.writing.next_token_scores import MOST_COUNTED, Trigram, scores_of_sums
from glassformer.tasks.writing.pair_source import (
    PairSource,
    TargetLosses,
    TextPairs,
    measured_pairs,
    target_losses,
)
from glassformer.tasks.writing.target_task import TargetTask
from glassformer.tasks.writing.translator import Translator
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


def replies_to_write(source: Any, limit: int | None) -> list[Any]:
    """The examples of a source to which replies are written to measure them, always the same ones."""
    return drawn_examples(source, min(WRITTEN, len(source.examples), limit or WRITTEN))


def with_replies(
    scores: Scores,
    model: Transformer,
    writer: Predictor[Any, Reply],
    asked: Sequence[tuple[object, str]],
    engine: Engine | None,
) -> Scores:
    """Scores with those of a writer's replies to these turns, compared with the right ones. Turns that cannot be
    replied to, as those that end with a reply, are left out.
    """
    examples, replies = [], list[str]()
    for turns, reply in asked:
        with suppress(DataError):
            examples.append(writer.example({"turns": turns}, ""))
            replies.append(reply)
    if not examples:
        return scores
    with evaluating(model) as fast:
        written = [found.reply for found in predict(writer, model, examples, fast=fast, engine=engine)]
    own = {**scores.of[THIS_MODEL], **reply_scores(written)}
    of = {**scores.of, THIS_MODEL: own, "right replies": reply_scores(replies)}
    return replace(scores, of=of, report={"written": len(written)})


def _sequences(words: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + size]) for at in range(len(words) - size + 1)]


def _distinct(words: Sequence[Sequence[str]], size: int) -> float:
    found = [sequence for each in words for sequence in _sequences(each, size)]
    return len(set(found)) / len(found) if found else 0.0


def scores_of_replies(of: TargetLosses, source: PairSource, baseline: str) -> Scores:
    """Loss, perplexity, accuracy and bits per byte, compared with the tokens' frequencies; intervals over replies."""
    own, other = (
        np.stack([losses, of.right, of.tokens, _bytes(source, of.pairs)], axis=1)  # [E, 4]
        for losses in (of.losses, of.unigram)
    )
    return scores_of_sums(own).with_baseline(baseline, scores_of_sums(other, guesses=False))


def by_trigram(train: PairSource, source: PairSource, *, start: int, vocabulary: int, limit: int | None) -> Scores:
    """The scores of the same replies by trigrams of the training replies, without the turns before them."""
    # All tokens that are learned, each reply after its start token.
    learned = np.insert(train.targets.values.astype(np.int64), train.targets.offsets[:-1], start)
    counted = Trigram(learned[:MOST_COUNTED], vocabulary)
    pairs = measured_pairs(source, limit)
    ids, of, place = source.targets.joined(pairs)  # [n], [n], [n]
    stream = np.insert(ids.astype(np.int64), np.flatnonzero(place == 0), start)  # [n + E]
    at = np.arange(len(ids)) + of + 1  # where each token is now
    last = stream[at - 1]
    before = np.where(at > 1, stream[at - 2], -1)  # after a start token: the end of the reply before it
    losses = -np.log(counted.probability(before, last, stream[at]))  # [n]
    sums, tokens = (np.bincount(of, each, len(pairs)) for each in (losses, np.ones(len(ids))))  # [E], [E]
    rows = np.stack([sums, np.zeros(len(pairs)), tokens, _bytes(source, pairs)], axis=1)  # [E, 4]
    return scores_of_sums(rows, guesses=False)


def _bytes(source: PairSource, pairs: Integers) -> Reals:
    targets = source.examples.targets
    return np.array([len(targets[pair].encode("utf-8", "surrogatepass")) for pair in pairs.tolist()], np.float64)


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
        return Translator(self.tokenizer, length=self.length, search=search)

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
        losses = target_losses(model, source, self.unigram, limit, never=self.translator.ids.never)
        scores = scores_of_replies(losses, source, self.unigram.name)
        asked = [(each.text.split("\n"), each.target) for each in replies_to_write(source, limit)]
        return with_replies(scores, model, Chatter(self.searching(1), history=_ALL), asked, self.engine)

    def with_baselines(self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Any) -> Scores:
        start, vocabulary = self.translator.ids.begin, self.tokenizer.target.vocabulary_size
        counted = by_trigram(train, source, start=start, vocabulary=vocabulary, limit=limit)
        return scores.with_baseline(Trigram.name, counted)
