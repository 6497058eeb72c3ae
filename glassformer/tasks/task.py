"""What a task is: how its examples become losses in training, and predictions afterwards.

B rows · S tokens of a row · N tokens whose vocabulary scores are asked for
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np

from glassformer.base.errors import ConfigError
from glassformer.config import HeadUse, ModelConfig
from glassformer.data.batches.batch import Integers, Order
from glassformer.data.settings import DataSection
from glassformer.data.stores.split import Split
from glassformer.decode.settings import SearchDefaults
from glassformer.scoring.score import Scores
from glassformer.tasks.rows import Shape
from glassformer.tasks.settings import TaskSection
from glassformer.text.chat_template import ChatTemplates
from glassformer.text.special import SpecialTokens
from glassformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor, nn

    from glassformer.models.inputs import Batch, Output
    from glassformer.models.transformer import Transformer
    from glassformer.tasks.predictor import Engine

# Opens a stage that takes long, given its title and about how many characters it reads; inside, call the function with
# the number of characters that were just read.
Stage = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]


class Source(Protocol):
    """Examples, each of one or several rows: pure functions of (source, number, epoch)."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that changes an example."""

    def __len__(self) -> int: ...

    @property
    def lengths(self) -> Integers | int:
        """The tokens of the longest row of each example [E], or one number where all rows have this length; [E, 2],
        source and target, where the source has cut its examples into few shapes already.
        """

    @property
    def rows_of_each(self) -> int:
        """The rows that each example has: 1, or the number of its candidates."""

    @property
    def total_counts(self) -> Mapping[str, float] | None:
        """By loss, the sum of the weights of all labels; None where each batch is divided by its own."""

    def batch(self, examples: Integers, epochs: Integers, *, shape: Shape) -> Batch:
        """These examples in these epochs as a batch of a shape, padded with rows of weight 0."""


# Rows of a batch that is measured.
_ROWS = 32


def measured_batches(source: Source, limit: int | None, *, epoch: int = 0) -> Iterator[Batch]:
    """All rows of a source as in this epoch, or always the same `limit` of them."""
    order, lengths = Order(len(source), _ROWS, source.fingerprint, 0), source.lengths
    count = min(limit or len(source), len(source))
    for number in range(math.ceil(count / _ROWS)):
        numbers = order.of_epoch(epoch, number)[: count - number * _ROWS]
        length = lengths if isinstance(lengths, int) else int(lengths[numbers].max())
        yield source.batch(numbers, np.full_like(numbers, epoch), shape=(len(numbers), length))


def drawn_examples(source: Any, count: int) -> list[Any]:
    """So many of the `examples` of a source, always the same ones: for any model, as two are compared on them."""
    order = Order(len(source.examples), count, "", 0)
    return [source.examples[number] for number in order.of_epoch(0, 0).tolist()]


class Both(NamedTuple):
    """A student and its teacher, what both answered for a batch, and the temperature of their probabilities."""

    student: Transformer
    teacher: Transformer
    answered: Output
    taught: Output
    batch: Batch
    temperature: float


SoftLoss = Callable[[Any, Both], "Tensor"]
"""From a task and both models' answers, a sum weighted over the same labels as the task's own loss."""


def silent(sentence: str) -> None:
    """A log that discards its messages."""


def answers(both: Both, head: str) -> tuple[Tensor, Tensor]:
    """What one head of the student and that of its teacher answered. Not a method: torch compiles none of a tuple."""
    student, teacher = getattr(both.answered, head), getattr(both.taught, head)
    assert student is not None
    assert teacher is not None
    return student, teacher


def check_encoder(body: ModelConfig, wanted: str) -> None:
    if body.encoder is None or body.decoder is not None:
        raise ConfigError(wanted, got=f"the family {body.family}", do="choose bert or modernbert")


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """What a task is prepared from. `body` is the model before it gets the task's head, `facts` are what the task has
    saved with the model, when this is measured again, and `cache` is a folder for tokenized text. `measuring`: the
    model is only measured, so that nothing is logged about text to learn from. `search`: how an imported model is
    searched by default. `templates`: how a decoder that chats writes turns, where the model brings that along.
    """

    data: DataSection
    tokenizer: Tokenizer
    body: ModelConfig
    cache: Path
    shares: Mapping[str, float]
    seed: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)
    log: Callable[[str], None]
    stage: Stage
    measuring: bool = False
    search: SearchDefaults | None = None
    templates: ChatTemplates | None = None


class Task(ABC):
    """What training needs to know: the data, the head of the model, the losses and the scores.

    `section` has its settings, and what follows from them alone. `shares` are the scores that are shares of all
    targets, for which an interval can be computed. `baseline_names` are the prefixes of its baselines' scores in
    `Scores.flat`, first the one that a score is shown with. `frozen` are models that are not trained, such as a
    teacher: they are in eval mode and not saved. `two_sided`: its training texts are sources and targets in turn, which
    may have a vocabulary each. `verbs` are the verbs that answer with its models, by the head that each needs (as
    `ModelConfig` names it), first the one that shows what was learned. `soft` says by loss how far a student's answers
    are from its teacher's, of tasks that have students.
    """

    Section: ClassVar[type[TaskSection]]
    Data: ClassVar[type[DataSection]]
    reads_tables: ClassVar[bool] = False  # only tables, no running text
    two_sided: ClassVar[bool] = False
    needs_encoder: ClassVar[str] = "this task is learned by an encoder"  # the refusal of any other model
    head_use: ClassVar[HeadUse | None] = None  # what the head for labels of its models answers
    of_imported: ClassVar[Literal["encoder", "decoder", "both"] | None] = None  # those without a task, by their stacks
    of_pairs: ClassVar[bool] = False  # each of its rows is two texts, whatever its data
    verbs: ClassVar[Mapping[str, str]] = MappingProxyType({})
    soft: ClassVar[Mapping[str, SoftLoss]] = MappingProxyType({})
    shares: ClassVar[tuple[str, ...]] = ("accuracy",)
    baseline_names: ClassVar[tuple[str, ...]] = ()
    frozen: Mapping[str, nn.Module] = MappingProxyType({})
    engine: Engine | None = None  # what answers the rows that `evaluate` predicts; None: the model itself
    fits_baselines: ClassVar[bool] = False  # whether `with_baselines` fits any
    plateau_causes: ClassVar[tuple[str, ...]] = ()  # of a loss that stays where it began: those that only this task has
    special: ClassVar[SpecialTokens | None] = None  # of a tokenizer that is learned; None: those usual for its kind
    marks: ClassVar[tuple[str, ...]] = ()  # further special tokens of such a tokenizer, without a role
    templates: ChatTemplates | None = None  # how its models write the turns of a conversation
    section: TaskSection

    @property
    @abstractmethod
    def weights(self) -> Mapping[str, float]:
        """How much each loss counts: a step's loss is Σ weights[name] · sum of losses / sum of label weights."""

    @classmethod
    def reads_pairs(cls, data: DataSection | None) -> bool:
        return cls.of_pairs or getattr(data, "pair", None) is not None

    of_tokens: ClassVar[tuple[str, ...]] = ()
    """Scores per token of a text: those of two models are comparable only where they have the same tokens."""

    @classmethod
    @abstractmethod
    def resolve_shares(cls, data: DataSection) -> dict[str, float]:
        """The shares that are held out: larger than asked for where a split would be empty. Raises DataError."""

    @classmethod
    @abstractmethod
    def training_texts(cls, data: DataSection, shares: Mapping[str, float]) -> Iterable[str]:
        """The texts of the training split, for a tokenizer to learn from."""

    @classmethod
    def check_data(cls, data: DataSection) -> None:
        """Raise ConfigError for settings that this task does not support, before any file is read."""
        return

    @classmethod
    def check_body(cls, section: Any, body: ModelConfig) -> None:
        """Raise ConfigError for a model that cannot learn this task: by default, for any but an encoder."""
        check_encoder(body, cls.needs_encoder)

    @classmethod
    @abstractmethod
    def prepared(cls, section: Any, preparation: Preparation) -> tuple[Self, dict[Split, Source]]:
        """The task with all settings resolved, and a source for each split that is not empty. Raises DataError."""

    def model(self, body: ModelConfig) -> ModelConfig:
        """The body with the head that this task needs: unchanged where that is the vocabulary head, which it has."""
        return body

    def losses(self, model: Transformer, batch: Batch) -> dict[str, Tensor]:
        """By name, the weighted sum of the losses of a batch, at least float32: those of what the heads answer. A task
        whose losses are of the model's states, as those over a large vocabulary, overrides this.
        """
        output = model(batch.inputs, scored_at=batch.scored_at, heads=tuple(self.verbs))
        return self.losses_of(model, output, batch)

    def losses_of(self, model: Transformer, output: Output, batch: Batch) -> dict[str, Tensor]:
        """The losses of the model's answers for a batch."""
        raise NotImplementedError(f"{type(self).__name__} needs a method losses_of, or its own losses")

    @abstractmethod
    def evaluate(self, model: Transformer, source: Any, *, limit: int | None = None) -> Scores:
        """Scores on all examples of a source, or on `limit` of them, always the same."""

    def evaluate_in_training(self, model: Transformer, source: Any, *, limit: int | None = None) -> Scores:
        """The scores by which the best model is kept: those of `evaluate`, unless a task has some that cost less."""
        return self.evaluate(model, source, limit=limit)

    def with_baselines(
        self, scores: Scores, train: Any, source: Any, *, limit: int | None = None, log: Callable[[str], None]
    ) -> Scores:
        """The scores, and those of baselines fitted on the training source; called once, at the end."""
        return scores

    def answered_by(self, engine: Engine) -> Self:
        """The task whose evaluations have an engine answer where they predict; losses are always the model's own."""
        task = copy(self)
        task.engine = engine
        return task

    def with_settings(self, **changed: object) -> Self:
        """The task with these settings changed, which are not checked again; all else is shared."""
        task = copy(self)
        task.section = self.section.model_copy(update=changed)
        return task

    def probes(self, start: Transformer) -> Sequence[Self]:
        """The task with each head that a linear probe can try: a linear layer on trained parts of `start`."""
        return ()

    def names(self, train: Any) -> Source | None:
        """The names of labels as texts, of which a linear probe learns too; None where there are enough examples."""
        return None

    def completed(self, model: Transformer, train: Any, held_out: Any, log: Callable[[str], None]) -> Transformer:
        """The model with what is fitted after its training, on data of which the second were not learned from."""
        return model

    def fitted(self, model: Transformer, source: Any, log: Callable[[str], None]) -> Self:
        """The task with what validation data choose, such as a temperature; logs why it may be doubtful."""
        return self

    @property
    def baseline_loss(self) -> float | None:
        """The loss that is reached without looking at the text, None where it is not known."""
        return None

    def facts(self) -> dict[str, Any]:
        """What is to be saved with the model so that it can be measured again: plain numbers and strings."""
        return {}
