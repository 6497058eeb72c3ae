"""What a verb needs: how an example becomes rows, and how the model's outputs become an answer.

B rows · S tokens of a row
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Self, TypeVar

import torch

from glassformer.data.settings import DataSection
from glassformer.decode.defaults import SearchDefaults
from glassformer.decode.options import WritingOptions
from glassformer.decode.settings import DecodeSettings
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.tasks.rows import Axis, Row
from glassformer.tasks.settings import TaskSection
from glassformer.text.chat_template import ChatTemplates
from glassformer.text.tokenizer import Tokenizer

Example = TypeVar("Example")
Prediction = TypeVar("Prediction")

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
    """What a predictor may know in addition to the model: the task and data it was trained on, the longest row it reads
    at once (tokens, None for any), the options of the verb by name (of one that writes as one object, `asked`), of an
    imported model how it is searched by default, and of a decoder that chats how it writes turns.
    """

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
    # How it searches where neither the options nor the model say so, of a verb that writes.
    usual_search: ClassVar[DecodeSettings | None] = None
    # Texts to try the verb with, and the command's option for those after the first.
    sample: ClassVar[tuple[str, ...]] = ()
    sample_option: ClassVar[str] = ""
    # Whether an example needs more than one text, whatever the model.
    reads_several: ClassVar[bool] = False
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

    def settle(self, example: Example, found: list[Any]) -> tuple[Iterable[Prediction], list[Any]]:
        """Called before the next rows of an example that has more than are read ahead, with what is known of its rows:
        what can be said already, and what must be kept for `merge`. Nothing, and all, by default.
        """
        return (), found

    @abstractmethod
    def merge(self, example: Example, found: Sequence[Any]) -> Prediction:
        """The prediction for an example, from those for its rows."""

    def record_of(self, text: str) -> dict[str, object]:
        """A record made of one text, to compare two forms of a model on: what `example` reads."""
        return {"text": text}


@contextmanager
def evaluating(model: Transformer) -> Iterator[None]:
    """No dropout and no gradients inside; afterwards the model is in the mode it was in."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)
