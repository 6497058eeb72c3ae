"""Continuing a prompt: the verb `generate`, and what it answers.

B rows · S tokens of the prompt
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

from glassformer.base.errors import ConfigError, DataError
from glassformer.base.later import Due, Later
from glassformer.base.shown import Part, Written
from glassformer.decode.asked import search_settings
from glassformer.decode.request import Hypothesis, Request, before_stop, log_probability_of, score_of, text_after
from glassformer.decode.settings import USUAL, DecodeSettings, SpecialIds
from glassformer.decode.step import Wanted, stream
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.tasks.answered import Answered
from glassformer.tasks.predictor import Context
from glassformer.tasks.rows import Row, located
from glassformer.tasks.writing import writers
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.words import ids_of, spellings

# Characters of a prompt that a note shows.
_SHOWN = 40


@dataclass(frozen=True)
class GeneratedToken:
    """A token as the vocabulary writes it, its text, and the logarithm of its probability after those before it, as the
    model gives it: neither a temperature nor a choice among few tokens changes it. The end of a text has no characters.
    """

    token: str
    text: str
    log_probability: float


@dataclass(frozen=True)
class Sample:
    """One of several continuations; `score` ranks them, but samples are in the order of drawing."""

    generated: str
    score: float
    log_probability: float


@dataclass(frozen=True)
class Generation(Answered):
    """A prompt and its continuation. `ended`: by the model or a stop string; `left_out` tokens of the prompt."""

    prompt: str
    generated: str
    score: Due = Due()
    log_probability: Due = Due()
    tokens: Sequence[GeneratedToken] = ()
    n_best: tuple[Sample, ...] = ()
    ended: bool = True
    left_out: int = 0
    windows: int = 1
    said_by = "text"

    @property
    def text(self) -> str:
        return self.prompt + self.generated

    @property
    def wrote(self) -> str:
        return self.generated

    @property
    def notes(self) -> tuple[str, ...]:
        shown = self.prompt if len(self.prompt) <= _SHOWN else f"{self.prompt[:_SHOWN]}…"
        if not self.left_out:
            return ()
        return (f"the first {self.left_out:,} tokens are left out, as the model reads no more at once: {shown}",)

    def shown(self, values: Mapping[str, object], width: int) -> Iterable[Part]:
        if not self.n_best:
            yield Written(self.text, lines=True)
        for number, each in enumerate(self.n_best, start=1):
            yield Written(self.prompt + each.generated, True, f"{number}\t")

    def to_dict(self) -> dict[str, Any]:
        return asdict(replace(self, tokens=tuple(self.tokens)))


def generated(tokenizer: Tokenizer, answer: Hypothesis) -> Iterator[GeneratedToken]:
    """The tokens of an answer, the one that ends it among them."""
    ids = [*answer.ids, *([] if answer.end is None else [answer.end])]
    for id_, logarithm in zip(ids, answer.token_log_probabilities, strict=False):
        yield GeneratedToken(tokenizer.token(id_), tokenizer.text(id_), logarithm)


# Options by which somebody chooses the search, whatever the model says.
_CHOOSING = ("search", "beams", "sample", "temperature", "top_k", "top_p", "min_p")
# Prompts that are continued together.
SLOTS = 16
# The part of what a model reads at once that is kept free for what it writes, at most.
_FREE = 4


class Prompt(NamedTuple):
    """A text to continue, and its tokens as they are read: the last ones of a long text."""

    text: str
    ids: tuple[int, ...]
    left_out: int


class Generate(writers.Writer[Prompt, Generation]):
    """The decoder reads the prompt and continues it, token by token (`decode/`)."""

    writes = "text"
    usual_search = USUAL
    sample = ("Once upon a time",)
    read_ahead = 1024

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        ids: SpecialIds,
        opening: tuple[int, ...],
        room: int | None,
        search: DecodeSettings,
        forbidden: tuple[tuple[int, ...], ...] = (),
        whole: int | None = None,
    ) -> None:
        """`whole`: the most tokens of a prompt and what follows it, where an imported model says so."""
        self.tokenizer, self.ids, self.opening, self.room, self.settings = tokenizer, ids, opening, room, search
        self.forbidden, self.whole = forbidden, whole
        least = max(search.min_tokens + 1, 1)
        if room is not None and room < len(opening) + least + 1:
            raise ConfigError(f"at most {room} tokens are read at once", got=f"min_tokens = {search.min_tokens}")

    @classmethod
    def of(
        cls,
        model: Transformer,
        tokenizer: Tokenizer,
        context: Context,
        *,
        where: str = "generate",
        usual: DecodeSettings = USUAL,
    ) -> Self:
        """For a decoder; raises ConfigError for options that exclude each other, or leave an imported setting out."""
        writers.check_writes(model.config)
        options, default = context.writing, context.search
        if default is not None and default.aside and not any(getattr(options, name) for name in _CHOOSING):
            name, reason = next(iter(default.aside.items()))
            raise ConfigError(
                f"the model's generation_config.json must be kept as it is, with its setting {name}",
                got=reason,
                do="choose how tokens are chosen: --beams 1, or --temperature 1 (search= in Python)",
            )
        search = search_settings(options, default=usual if default is None else default.settings, where=where)
        asked = options.max_tokens is not None or options.search is not None
        return cls(
            tokenizer,
            ids=writers.special_ids_of(tokenizer, default),
            opening=writers.opening_of(tokenizer, context),
            room=writers.room_of(model, context),
            search=search,
            forbidden=() if default is None else default.forbidden,
            whole=None if default is None or asked else default.whole,
        )

    def example(self, values: Mapping[str, object], where: str) -> Prompt:
        text = values["text"]
        if not isinstance(text, str):
            raise DataError(located(where, "a prompt must be a text"), got=repr(text)[:60])
        return self._prompt(text, tuple(ids_of(self.tokenizer, text)) if text else (), where)

    def given_ids(self, ids: Sequence[int], where: str) -> tuple[Prompt, Iterable[Row]]:
        found = self._prompt(self.tokenizer.decode(ids), tuple(ids), where)
        return found, self.rows(found)

    def _prompt(self, text: str, ids: tuple[int, ...], where: str) -> Prompt:
        kept = ids[-self.most_read :] if self.most_read is not None else ids
        opening = self.opening if len(kept) == len(ids) else ()
        found = Prompt(text, (*opening, *kept) or (self.ids.begin,), len(ids) - len(kept))
        self.check_room(found, where)
        return found

    def check_room(self, prompt: Prompt, where: str = "") -> None:
        """Raise DataError for a prompt that is as long as the imported model's `max_length`, which counts it."""
        if self.whole is not None and len(prompt.ids) >= self.whole:
            raise DataError(
                located(where, f"max_length = {self.whole} of the model's generation_config.json counts the prompt"),
                got=f"a prompt of {len(prompt.ids):,} tokens",
                do="ask for a number of new tokens: --max-tokens, in Python max_tokens",
            )

    @property
    def most_read(self) -> int | None:
        return None if self.room is None else self._prompt_room(self.room)

    @property
    def most_of_turns(self) -> int | None:
        """As `most_read`, also within the imported model's `max_length`, which counts turns."""
        rooms = [room for room in (self.room, self.whole) if room is not None]
        return self._prompt_room(min(rooms)) if rooms else None

    def _prompt_room(self, room: int) -> int:
        """The most tokens of a prompt that leave room for what is written."""
        free = min(self.settings.max_tokens, max(self.settings.min_tokens + 1, room // _FREE))
        return max(1, room - len(self.opening) - free)

    def shortens(self, example: Prompt) -> bool:
        return bool(example.left_out)

    def rows(self, example: Prompt) -> Iterator[Row]:
        yield Row(ids=example.ids)

    def request(self, ids: Sequence[int]) -> Request:
        most = self.settings.max_tokens
        if self.room is not None:
            most = min(most, self.room + 1 - len(ids))
        if self.whole is not None:
            most = min(most, self.whole - len(ids))
        return Request(writers.number_of(ids), prompt=tuple(ids), max_tokens=max(1, most), forbidden=self.forbidden)

    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, list[Hypothesis]]]:
        return writers.answered(batches, self.request, lambda asked: self.steps(model, asked, slots=SLOTS))

    def wanted(self, model: Transformer) -> Wanted:
        tokenizer = self.tokenizer
        spelled = partial(spellings, tokenizer)
        return Wanted(self.settings, self.ids, text_of=tokenizer.decode, ids_of=tokenizer.ids, spelled=spelled)

    def words(self, model: Transformer, example: Prompt, *, fast: bool) -> Generator[str, None, Generation]:
        def text_of(ids: Sequence[int]) -> str:
            return text_after(self.tokenizer.decode, example.ids, ids)

        steps = writers.in_precision(self.steps(model, [self.request(example.ids)], slots=1), model, fast=fast)
        byte = self.tokenizer.continuation_byte
        for part in stream(steps, text_of, stop=self.settings.stop, continuation_byte=byte):
            if part.text:
                yield part.text
            if part.finished is not None:
                return self.merge(example, [part.finished.hypotheses])
        raise AssertionError("the loop answers each request")

    def merge(self, example: Prompt, found: Sequence[list[Hypothesis]]) -> Generation:
        (hypotheses,) = found
        if not hypotheses:
            raise DataError(
                "a text that meets all conditions is needed",
                got=f"none found after {example.text[:60]!r}",
                do="allow more beams or tokens, or force and forbid other words",
            )
        first, stop = hypotheses[0], self.settings.stop
        whole = [text_after(self.tokenizer.decode, example.ids, each.ids) for each in hypotheses]
        texts = [before_stop(text, stop) for text in whole]
        samples = (Sample(text, each.score, each.log_probability) for text, each in zip(texts, hypotheses, strict=True))
        return Generation(
            example.text,
            texts[0],
            score=Later(score_of, first),
            log_probability=Later(log_probability_of, first),
            tokens=Later(generated, self.tokenizer, first),
            n_best=tuple(samples) if self.settings.n_best > 1 else (),
            ended=first.ended or any(each in whole[0] for each in stop),
            left_out=example.left_out,
        )
