"""What a verb needs: how an example becomes rows, and how the model's outputs become an answer.

B rows · S tokens of a row
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import starmap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import ConfigError, DataError
from glassformer.data.settings import DataSection
from glassformer.decode.options import WritingOptions
from glassformer.decode.settings import DecodeSettings, SearchDefaults
from glassformer.tasks.passes import in_threads, passes_of
from glassformer.tasks.rows import Axis, Row, collate, located
from glassformer.tasks.settings import TaskSection
from glassformer.text.chat_template import ChatTemplates
from glassformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    import torch

    from glassformer.models.inputs import Batch
    from glassformer.models.transformer import Transformer

Example = TypeVar("Example")
Prediction = TypeVar("Prediction")

TOKEN_BY_TOKEN = 1 << 19
"""`Predictor.longest` of those that answer token by token: 1 kB of memory a token."""

SENTENCES = (
    "Yes.",
    "The rain stopped at noon.",
    "She reads letters by the window in summer, and nobody in the house asks her why.",
    "A train that was two hours late left the station without its passengers; the driver had not been told.",
    "Nobody liked the film, but the music was good, and the last ten minutes were better than all that came before.",
)
"""Texts to try any verb with."""

# The options of a verb by name; of one that writes as one object.
Options = Mapping[str, Any] | WritingOptions


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a predictor may know besides the model; `asked` are the options of a verb that writes."""

    section: TaskSection | None = None
    data: DataSection | None = None
    length: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    asked: WritingOptions | None = None
    search: SearchDefaults | None = None
    templates: ChatTemplates | None = None

    @property
    def writing(self) -> WritingOptions:
        return WritingOptions(**self.options) if self.asked is None else self.asked


class Predictor(ABC, Generic[Example, Prediction]):
    """What a verb needs: how an example becomes rows, and how the model's outputs become a prediction."""

    tokenizer: Tokenizer
    # Whether a row goes through the model once; what writes goes through it for each token.
    in_one_pass: ClassVar[bool] = True
    # What the labels of its rows belong to, by the name of the loss.
    axes: ClassVar[Mapping[str, Axis]] = MappingProxyType({})
    # The head whose answers for a row are all that `found` needs, whatever computes them; "" where it needs more.
    head: ClassVar[str] = ""
    # How it searches where neither the options nor the model say so, of a verb that writes.
    usual_search: ClassVar[DecodeSettings | None] = None
    # Texts to try the verb with, and the command's option for those after the first.
    sample: ClassVar[tuple[str, ...]] = ()
    sample_option: ClassVar[str] = ""
    # Whether an example needs more than one text, whatever the model.
    reads_several: ClassVar[bool] = False
    # The most characters of a record, where the answer holds something of each token.
    longest: ClassVar[int | None] = None
    # Numbers of an answer for each token of its text, where it has a vector of each, and for each text.
    numbers_of_token: int = 0
    numbers_of_text: int = 0
    # What its answers to a row depend on besides the model, where that is not the same for all of its class.
    asks: Hashable = ()
    # The most rows whose predictions are in memory together; fewer where each prediction is large.
    read_ahead: int = 16_384
    # The most tokens of rows that are read ahead to be sorted by length: enough for little padding, and bounded, so
    # that a file of any size streams; fewer where each token has a prediction of its own.
    read_ahead_tokens: int = 1 << 21

    @classmethod
    @abstractmethod
    def of(cls, model: Transformer, tokenizer: Tokenizer, context: Context) -> Self:
        """For an existing model; raises ConfigError for a model that cannot answer."""

    @abstractmethod
    def example(self, values: Mapping[str, object], where: str) -> Example:
        """An example from the values of a record, by their role; `where` is its file and line. Raises DataError."""

    def read(self, values: Mapping[str, object], where: str) -> Example:
        """The same, for a record that is not too long; raises DataError."""
        size = sum(len(each) for each in values.values() if isinstance(each, str))
        if self.longest is not None and size > self.longest:
            wanted = located(where, f"an answer for each token needs a text of at most {self.longest:,} characters")
            raise DataError(wanted, got=f"{size:,}", do="divide it")
        return self.example(values, where)

    def given_ids(self, ids: Sequence[int], where: str) -> tuple[Example, Iterable[Row]]:
        """An example from the tokens of a text without special ones, and its rows. Raises ConfigError, DataError."""
        raise ConfigError(located(where, "a text is needed"), got="tokens", do="give the text")

    def numbers(self, example: Example) -> int:
        """The numbers of its answer, but for those of each token."""
        return self.numbers_of_text

    def shortens(self, example: Example) -> bool:
        """Whether an example is not read whole because the model has no room for it; never by default."""
        return False

    @abstractmethod
    def rows(self, example: Example) -> Iterable[Row]:
        """The rows of an example: several where it is longer than the model reads at once."""

    def cut(self, examples: Iterable[Example]) -> Iterator[tuple[Example, Iterable[Row]]]:
        """Each example with its rows, in order. What cuts several texts at once reads a few examples ahead."""
        for example in examples:
            yield example, self.rows(example)

    @abstractmethod
    def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, Any]]:
        """What the model predicts for each row, with the row's number in `Batch.row_ids`; in any order."""

    def found(self, row: Row, answers: npt.NDArray[np.floating[Any]]) -> Any:
        """What `predict` gives for a row, from the head's answers: [V] at each scored place, [L], or [S, L]."""
        raise NotImplementedError

    def of_states(self, row: Row, states: Callable[[], npt.NDArray[np.float32]]) -> Any:
        """The same from the states [S, W] of the last block; None for a predictor that needs more."""
        return None

    def settle(self, example: Example, found: list[Any]) -> tuple[Iterable[Prediction], list[Any]]:
        """Called before the next rows of an example that has more than are read ahead, with what is known of its rows:
        returns what can be answered already, and what `merge` still needs. Nothing, and all, by default.
        """
        return (), found

    @abstractmethod
    def merge(self, example: Example, found: Sequence[Any]) -> Prediction:
        """The prediction for an example, from those for its rows."""

    def merged(self, found: Iterator[tuple[Example, Sequence[Any]]]) -> Iterator[Prediction]:
        """`merge` of each example, in order. What decodes many answers at once reads a few ahead."""
        for example, answers in found:
            yield self.merge(example, answers)

    def record_of(self, text: str) -> dict[str, object]:
        """A record made of one text, to compare two forms of a model on: what `example` reads."""
        return {"text": text}


def untrained(wanted: str, model: Transformer, context: Context, do: str) -> ConfigError:
    """The error for a model that was not trained for this verb."""
    learned = "" if context.section is None else f" for {context.section.name}"
    return ConfigError(wanted, got=f"a {model.config.family} model{learned}", do=f"train one with: {do}")


@contextmanager
def evaluating(model: Transformer) -> Iterator[bool]:
    """Inside, eval mode without gradients; gives whether the caller computes in bfloat16, as is used."""
    import torch

    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield torch.is_autocast_enabled(next(model.parameters()).device.type)
    finally:
        model.train(training)


# From so many passes for each thread on, a thread computes whole passes alone: none waits for another within a product.
PASSES_OF_A_THREAD = 2
# Rows from which on it is reported how far an example is.
LONG = 64

# What is reported of a long example, or of short ones that are read together: how many of the rows are answered, and of
# how many, None where nobody knows.
Within = Callable[[int, int | None], None]

# Answers some rows for a model, in bfloat16 or not: what is found for each row, with its place, in any order.
Engine = Callable[["Predictor[Any, Any]", "Transformer", Sequence[Row], bool], Generator[tuple[int, Any], None, None]]


@dataclass
class _Waiting(Generic[Example]):
    """An example with the predictions for its rows so far: `rows` were made, of `total` (None: not known)."""

    example: Example
    found: list[Any] = field(default_factory=list)
    missing: int = 0
    complete: bool = False
    rows: int = 0
    total: int | None = None


def predict(
    predictor: Predictor[Example, Prediction],
    model: Transformer,
    examples: Iterable[Example],
    *,
    fast: bool = False,
    within: Within = lambda done, total: None,
    merge: Callable[[Example, Sequence[Any]], Any] | None = None,
    engine: Engine | None = None,
) -> Iterator[Prediction]:
    """A prediction for each example, in order, in bfloat16 when `fast`. `within` hears how far a long example is;
    `merge` takes the place of the predictor's; `engine` answers the rows, by default the model.
    """
    waiting: deque[_Waiting[Example]] = deque()
    ahead: list[tuple[_Waiting[Example], int, Row]] = []
    tokens, answered = 0, False
    engine = engine or answer_rows
    merged = predictor.merged if merge is None else partial(starmap, merge)

    for example, rows in predictor.cut(examples):
        entry = _Waiting(example, total=len(rows) if isinstance(rows, Sized) else None)
        waiting.append(entry)
        for row in rows:
            ahead.append((entry, len(entry.found), row))
            entry.found.append(None)
            entry.missing += 1
            entry.rows += 1
            tokens += len(row.ids)
            if len(ahead) >= predictor.read_ahead or tokens >= predictor.read_ahead_tokens:
                _answer(predictor, model, ahead, within, fast=fast, engine=engine)
                ahead, tokens, answered = [], 0, True
                yield from merged(_finished(waiting))
                settled, entry.found = predictor.settle(example, entry.found)
                yield from settled
        entry.complete = True
        if answered:
            answered = False
            yield from merged(_finished(waiting))
    if ahead:
        _answer(predictor, model, ahead, within, fast=fast, engine=engine)
    yield from merged(_finished(waiting))


def _finished(waiting: deque[_Waiting[Example]]) -> Iterator[tuple[Example, Sequence[Any]]]:
    while waiting and waiting[0].complete and not waiting[0].missing:
        entry = waiting.popleft()
        yield entry.example, entry.found


def _answer(
    predictor: Predictor[Example, Prediction],
    model: Transformer,
    ahead: Sequence[tuple[_Waiting[Example], int, Row]],
    within: Within,
    *,
    fast: bool,
    engine: Engine,
) -> None:
    rows = [row for _, _, row in ahead]
    for done, (place, found) in enumerate(engine(predictor, model, rows, fast), 1):
        entry, number, _ = ahead[place]
        entry.found[number] = found
        entry.missing -= 1
        if entry.rows > LONG:
            within(entry.rows - entry.missing, entry.total)
        elif done % LONG == 0:
            within(done, len(rows))


def answer_rows(
    predictor: Predictor[Any, Any], model: Transformer, rows: Sequence[Row], fast: bool
) -> Generator[tuple[int, Any], None, None]:
    """What is found for each row, with its place, in any order: rows of about one length go together."""
    import torch

    device = next(model.parameters()).device
    by_length = sorted(range(len(rows)), key=lambda place: -len(rows[place].ids))
    lengths = [len(rows[place].ids) for place in by_length]
    in_caches = device.type == "cpu" and predictor.in_one_pass

    def batches(passes: Iterable[range]) -> Iterator[Batch]:
        for chosen in passes:
            mine = [by_length[place] for place in chosen]
            batch = collate(
                [rows[place] for place in mine], pad_id=predictor.tokenizer.pad_id or 0, axes=predictor.axes
            )
            yield replace(batch, row_ids=torch.tensor(mine, dtype=torch.int32)).to(device)

    def predicted(passes: Iterable[range]) -> Iterator[tuple[int, Any]]:
        with torch.inference_mode(), precision(device, fast=fast):
            yield from predictor.predict(model, batches(passes))

    passes = list(passes_of(lengths, caches=in_caches))
    threads = torch.get_num_threads()
    alone = in_caches and len(passes) >= PASSES_OF_A_THREAD * threads > PASSES_OF_A_THREAD
    yield from in_threads(predicted, passes, threads) if alone else predicted(passes)


def precision(device: torch.device, *, fast: bool) -> AbstractContextManager[None]:
    """The arithmetic of prediction: bfloat16 where autocast allows it when `fast`, else the type of the weights."""
    import torch

    return torch.autocast(device.type, torch.bfloat16, enabled=fast)
