"""Replying to a conversation: the verb `chat`.

B rows · S tokens of the turns so far
"""

from array import array
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Self

from glassformer.base.errors import ConfigError, DataError
from glassformer.base.later import Due, Later
from glassformer.base.shown import Part, Written
from glassformer.config import ModelConfig
from glassformer.data.readers.read import in_a_line
from glassformer.decode.asked import reply_search, search_settings
from glassformer.decode.request import Hypothesis, log_probability_of, score_of
from glassformer.decode.step import Wanted
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.tasks.answered import Answered
from glassformer.tasks.predictor import Context
from glassformer.tasks.rows import Row, located
from glassformer.tasks.writing.chat.turns import messages_of
from glassformer.tasks.writing.generator import GeneratedToken, Prompt, generated
from glassformer.tasks.writing.translator import Translator
from glassformer.tasks.writing.writers import Writer, of_sentence
from glassformer.text.chat_template import SYSTEM
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import text_room
from glassformer.text.words import ids_of


@dataclass(frozen=True)
class OtherReply:
    """One of several replies. `score` is what they are ranked by; samples are in the order of drawing."""

    reply: str
    score: float
    log_probability: float


@dataclass(frozen=True)
class Reply(Answered):
    """The turns so far, of which the last is answered, and the reply. `read` of the last turns were read, but
    `left_out` tokens of the first; `ended` by the model or a stop string.
    """

    turns: tuple[str, ...]
    reply: str
    score: Due = Due()
    log_probability: Due = Due()
    tokens: Sequence[GeneratedToken] = ()
    n_best: tuple[OtherReply, ...] = ()
    ended: bool = True
    read: int = 1
    left_out: int = 0
    windows: int = 1
    said_by = "reply"

    @property
    def wrote(self) -> str:
        return self.reply

    @property
    def notes(self) -> tuple[str, ...]:
        left_out = f"{self.left_out:,} tokens at the beginning are left out: the model reads no more at once"
        cut = "the reply is cut off at the largest number of tokens"
        return (*([left_out] if self.left_out else []), *([] if self.ended else [cut]))

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        for each in self.n_best or (self,):
            yield Written(each.reply)

    def to_dict(self) -> dict[str, Any]:
        return asdict(replace(self, tokens=tuple(self.tokens)))


_CHAT = "chat"
# Between two turns; no turn contains one.
TURN_END = "\n"
HISTORY = 3
"""Maximum number of turns to read, where neither the model nor the user says otherwise."""


class Conversation(NamedTuple):
    """The turns so far, how many of the last of them are read, their tokens, and how many tokens are left out."""

    turns: tuple[str, ...]
    read: int
    ids: tuple[int, ...]
    left_out: int

    @property
    def prompt(self) -> Prompt:
        return Prompt("", self.ids, self.left_out)


def check_replies(model: ModelConfig, context: Context) -> None:
    """Raise ConfigError unless an encoder–decoder with a vocabulary head that was trained for nothing but chat."""
    trained = None if context.section is None else context.section.name
    writes = model.encoder is not None and model.decoder is not None and model.head is not None
    if not writes or trained not in (None, _CHAT):
        raise ConfigError(
            "a reply needs a model that was trained to chat",
            got=f"a {model.family} model{'' if trained is None else f' for {trained}'}",
            do="the model chat is bundled; train one with: glassformer train chat DIALOGUES",
        )


class Chatter(Writer[Conversation, Reply]):
    """The encoder reads the last turns, the decoder writes the reply (`decode/`)."""

    writes = "reply"
    sample = ("Hi, how are you?",)
    read_ahead = 1024

    def __init__(self, translator: Translator, *, history: int) -> None:
        self.translator, self.tokenizer, self.history = translator, translator.tokenizer, history
        self.settings = translator.settings

    @classmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For an encoder–decoder; raises ConfigError for other models, and for options that exclude each other."""
        check_replies(model.config, context)
        options, default = context.writing, context.search
        if given := [name for name in ("system", "template") if getattr(options, name) is not None]:
            raise ConfigError(
                f"{given[0]} is for a decoder with a chat template",
                got=f"{model.config.family}, an encoder–decoder, which reads turns alone",
                do="leave it out",
            )
        usual = reply_search(options) if default is None else default.settings
        search = search_settings(options, default=usual, where="chat")
        translator = Translator(tokenizer, length=context.length, search=search, default=default)
        learned: int | None = getattr(context.data, "history", None)
        return cls(translator, history=options.history or learned or HISTORY)

    def example(self, values: Mapping[str, object], where: str) -> Conversation:
        """A first turn, or a list of turns, each read in one line; raises DataError as `messages_of` does."""
        turns = messages_of(values.get("turns", values.get("text")), where)
        if any(each.role == SYSTEM for each in turns):
            raise DataError(located(where, "an encoder–decoder reads turns alone"), got="a system message")
        return self._read(tuple(in_a_line(each.content) for each in turns))

    def _read(self, turns: tuple[str, ...]) -> Conversation:
        """As many of the last turns as the model reads at once; of one that is too long the end."""
        room = text_room(sum(self.tokenizer.frame), self.translator.length)
        for count in range(min(self.history, len(turns)), 0, -1):
            ids = tuple(ids_of(self.tokenizer, joined(turns[-count:])))
            if room is None or len(ids) <= room or count == 1:
                break
        left_out = 0 if room is None else max(0, len(ids) - room)
        return Conversation(turns, count, ids[left_out:], left_out)

    def shortens(self, example: Conversation) -> bool:
        return bool(example.left_out) or example.read < min(self.history, len(example.turns))

    def rows(self, example: Conversation) -> Iterator[Row]:
        before, after = self.tokenizer.frame_ids
        yield Row(ids=array("i", before) + array("i", example.ids) + array("i", after))

    def wanted(self, model: Transformer) -> Wanted:
        return self.translator.wanted(model)

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[Hypothesis]]]:
        return self.translator.predict(model, batches)

    def words(self, model: Transformer, example: Conversation, *, fast: bool) -> Generator[str, None, Reply]:
        hypotheses = yield from of_sentence(self.translator.parts(model, self.rows(example), fast=fast))
        return self.merge(example, [hypotheses])

    def merge(self, example: Conversation, found: Sequence[list[Hypothesis]]) -> Reply:
        (hypotheses,) = found
        if not hypotheses:
            raise DataError(
                "a reply that meets all conditions is needed",
                got="none found",
                do="allow more beams or tokens, or force and forbid other words",
            )
        first, written = hypotheses[0], self.translator.written(hypotheses)
        several = self.settings.n_best > 1
        return Reply(
            example.turns,
            written[0],
            score=Later(score_of, first),
            log_probability=Later(log_probability_of, first),
            tokens=Later(generated, self.translator.target, first),
            n_best=tuple(
                OtherReply(text, each.score, each.log_probability)
                for text, each in zip(written, hypotheses, strict=True)
            )
            if several
            else (),
            ended=self.translator.ends(first),
            read=example.read,
            left_out=example.left_out,
        )


def joined(turns: Sequence[str]) -> str:
    return TURN_END.join(turns)
