"""Replying with a decoder-only model: the verb `chat` of models with a chat template.

B rows · S tokens of the turns so far
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Self

from glassformer.base.errors import ConfigError, DataError
from glassformer.base.later import Later
from glassformer.decode.asked import reply_search
from glassformer.decode.request import Hypothesis, log_probability_of, score_of
from glassformer.decode.step import Wanted
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.tasks.predictor import Context
from glassformer.tasks.rows import Row, located
from glassformer.tasks.writing.chat.chatter import Conversation, OtherReply, Reply
from glassformer.tasks.writing.chat.turns import TurnWriter, messages_of, opened
from glassformer.tasks.writing.generator import Generate, Generation
from glassformer.tasks.writing.writers import Writer
from glassformer.text.chat_template import MARKS, Message
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.words import encoded_parts, ids_of


class Talker(Writer[Conversation, Reply]):
    """The chat template of the model formats the last turns, and the decoder continues, as in `generate`."""

    writes = "text"
    sample = ("Hi, how are you?",)
    read_ahead = 1024

    def __init__(self, writer: Generate, turns: TurnWriter, *, history: int | None, system: str | None = None) -> None:
        self.writer, self.turns, self.history, self.system = writer, turns, history, system
        self.tokenizer, self.settings = writer.tokenizer, writer.settings

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For a decoder with a chat template; raises ConfigError, also for options that exclude each other."""
        writer = Generate.of(model, tokenizer, context, where="chat", usual=reply_search(context.writing))
        if context.search is None:  # it has learned what begins a turn: none of its replies contains that
            marks = (tokenizer.id(mark) for mark in MARKS.values())
            ends = dict.fromkeys([*writer.ids.end, *(id_ for id_ in marks if id_ is not None)])
            writer.ids = replace(writer.ids, end=tuple(ends))
        if context.templates is None:
            raise ConfigError(
                "a decoder that chats has a chat template, which says how turns are written",
                got=f"{model.config.family} without one",
                do="glassformer train chat DIALOGUES --start MODEL teaches it; glassformer generate continues a text",
            )
        options = context.writing
        turns = TurnWriter(tokenizer, context.templates.named(options.template), writer.ids.end)
        history = options.history or getattr(context.data, "history", None)
        return cls(writer, turns, history=history, system=options.system)

    def example(self, values: Mapping[str, object], where: str) -> Conversation:
        """A text, turns, or objects with `role` and `content`; raises DataError, also for special tokens in a turn."""
        messages = messages_of(values.get("turns", values.get("text")), where, system=self.system)
        for each in messages:
            if marks := {*ids_of(self.tokenizer, each.content)} & self.tokenizer.special_ids:
                raise DataError(
                    located(where, "a turn must have no special tokens"),
                    got=f"{self.tokenizer.token(min(marks))!r}, which the model uses to separate turns",
                )
        return self._read(*opened(messages))

    def _read(self, system: Sequence[Message], turns: Sequence[Message]) -> Conversation:
        """As many of the last turns as the model reads at once; of one that is too long the end."""
        said = tuple(each.content for each in turns)
        most, largest = self.writer.most_of_turns, min(len(turns), self.history or len(turns))
        least, (ids, read) = 1, self._written(system, turns[-1:])
        if most is not None and len(ids) > most:
            ids, left_out = self._shortened(system, turns[-1], len(ids) - most, most)
            return Conversation(said, read, tuple(ids), left_out)
        while least < largest:  # the most turns that fit, by halving
            count = (least + largest + 1) // 2
            more, its = self._written(system, turns[-count:])
            if most is None or len(more) <= most:
                least, ids, read = count, more, its
            else:
                largest = count - 1
        return Conversation(said, read, tuple(ids), 0)

    def _written(self, system: Sequence[Message], turns: Sequence[Message]) -> tuple[array[int], int]:
        """The tokens of these turns and their number; without a first assistant turn if the template refuses it."""
        try:
            return self.turns.prompt([*system, *turns]), len(turns)
        except DataError:
            if len(turns) < 2:
                raise
            return self.turns.prompt([*system, *turns[1:]]), len(turns) - 1

    def _shortened(self, system: Sequence[Message], turn: Message, too_many: int, most: int) -> tuple[array[int], int]:
        """The tokens of the end of a turn that is too long by so many, and how many of its own are left out."""
        starts = [
            begin + start
            for begin, raw in encoded_parts(self.tokenizer, turn.content)
            for start, _ in raw.offsets
        ]  # fmt: skip
        left_out = too_many
        while left_out < len(starts):
            end = turn.content[starts[left_out] :]
            ids = self.turns.prompt([*system, turn._replace(content=end)]) if end.strip() else array("i")
            if ids and len(ids) <= most:
                return ids, left_out
            left_out += max(1, len(ids) - most)
        raise DataError(
            f"a model that reads {most} tokens at once must have room for a turn and its reply",
            got="a system message, or marks of the template, that leave none",
            do="shorten the system message, or ask for fewer tokens",
        )

    def shortens(self, example: Conversation) -> bool:
        turns = len(example.turns)
        return bool(example.left_out) or example.read < min(turns, self.history or turns)

    def rows(self, example: Conversation) -> Iterator[Row]:
        yield Row(ids=example.ids)

    def wanted(self, model: Transformer) -> Wanted:
        return self.writer.wanted(model)

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[Hypothesis]]]:
        return self.writer.predict(model, batches)

    def merge(self, example: Conversation, found: Sequence[list[Hypothesis]]) -> Reply:
        return self._reply(example, self.writer.merge(example.prompt, found))

    def words(self, model: Transformer, example: Conversation, *, fast: bool) -> Generator[str, None, Reply]:
        """Without blanks around it."""
        words = self.writer.words(model, example.prompt, fast=fast)
        blanks, begun = "", False
        while True:
            try:
                text = blanks + next(words)
            except StopIteration as end:
                return self._reply(example, end.value)
            text = text if begun else text.lstrip()
            shown = text.rstrip()
            blanks = text[len(shown) :]
            if shown:
                begun = True
                yield shown

    def _reply(self, example: Conversation, found: Generation) -> Reply:
        return Reply(
            example.turns,
            found.generated.strip(),
            score=Later(score_of, found),
            log_probability=Later(log_probability_of, found),
            tokens=found.tokens,
            n_best=tuple(OtherReply(each.generated.strip(), each.score, each.log_probability) for each in found.n_best),
            ended=found.ended,
            read=example.read,
            left_out=example.left_out,
        )
