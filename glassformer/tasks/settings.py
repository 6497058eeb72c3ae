"""The `[task]` table of a recipe, and what follows from it alone; without torch."""

from typing import Any, ClassVar, NamedTuple, Self, get_args

from glassformer.base.settings import Settings
from glassformer.config import SentenceHeadConfig, TokenHeadConfig
from glassformer.data.settings import DataSection


class CardWords(NamedTuple):
    """Words of the model card: a `printed` field, how a long text is `cut`, and the `limit` of the task's models."""

    printed: str = "probabilities"
    cut: str = "read in overlapping windows"
    limit: str = ""


class HeadOutputs(NamedTuple):
    """What the outputs of the head for labels mean. `labels`: their names, () where they have none; `several`: each has
    a probability of its own, and a label is chosen from `threshold`. Probabilities are those of the outputs divided by
    `temperature`; a number is `scale` · output + `shift`. `meaning` and `code` are for the README of an exported graph:
    the outputs in a sentence, and a line of Python that makes answers of `logits` [texts, outputs] and of `LABELS`.
    """

    labels: tuple[str, ...] = ()
    several: bool = False
    threshold: float | None = None
    temperature: float = 1.0
    scale: float = 1.0
    shift: float = 0.0
    meaning: str = "the scores of the sentence's labels"
    code: str = "print(logits)"

    def fits(self, other: Self) -> bool:
        """Whether a head that has learned numbers in these units can go on with those of the other: an imported one
        gives the numbers themselves, whose usual size nobody knows.
        """
        unknown = (self.scale, self.shift) == (1.0, 0.0)
        return unknown or (abs(self.shift - other.shift) <= 4 * self.scale and 0.1 <= other.scale / self.scale <= 10)


LARGEST = HeadOutputs(
    meaning="a score for each label; the largest is the answer",
    code="print([LABELS[row.argmax()] for row in logits])",
)


class TaskSection(Settings):
    """The `[task]` table of a recipe: `name` chooses the task, the rest are its own settings. A task sets the
    properties below where the defaults do not fit; those that no setting changes are class variables. No other room
    knows the names of a task's own settings.
    """

    # Settings that a run determines itself where the recipe leaves them at their default.
    found: ClassVar[tuple[str, ...]] = ()
    # Settings of what follows the training: the order of its records does not depend on them.
    after: ClassVar[set[str]] = set()
    # Settings that the linear probe chooses where the recipe leaves them at their default.
    probed: ClassVar[tuple[str, ...]] = ()
    # Its models answer pairs with one of two `labels`, besides what else they learn.
    labels_pairs: ClassVar[bool] = False
    name: str

    @property
    def kept_by(self) -> str:
        """The score by which the best model is kept, with a minus where less is better."""
        return "-loss"

    @property
    def compared_by(self) -> str:
        """The score by which two models are compared; they may cut texts into different tokens."""
        return self.kept_by

    def other_units(self, other: Any) -> tuple[str, ...]:
        """Scores that have another unit for a model with the section `other` of the same task."""
        return ()

    @property
    def after_scores(self) -> tuple[str, ...]:
        """What happens to the scores of the head before they are an answer, a sentence each."""
        return ()

    @property
    def card(self) -> CardWords:
        return CardWords()

    @property
    def head_outputs(self) -> HeadOutputs:
        return HeadOutputs()

    @property
    def units(self) -> dict[str, Any]:
        """Settings in whose units the head answers: a model that goes on with its weights keeps them."""
        return {}

    @property
    def chosen(self) -> dict[str, Any]:
        """What the linear probe has chosen, or may choose, by the names of the settings."""
        return {name: getattr(self, name) for name in self.probed}

    # of a model that is exported or imported

    @property
    def spans_begin(self) -> bool:
        """Whether each span begins with B-, where labels have it."""
        return False

    def in_last_layer(self) -> Self:
        """The same for a model whose last layer has the temperature, the scale and the shift in its weights."""
        return self

    @property
    def not_exported(self) -> tuple[str, ...]:
        """What an exported model has in its last layer, or lacks: sentences."""
        return ()

    @property
    def beyond_transformers(self) -> str:
        """What its models read and no model of `transformers` does, or nothing."""
        return ""

    @classmethod
    def of_imported(cls, outputs: HeadOutputs, head: SentenceHeadConfig | TokenHeadConfig, **more: object) -> Self:
        """The section of an imported head: of what its file says, that for which there are settings."""
        said = {"labels": outputs.labels, "several": outputs.several, "dropout": head.dropout, **more}
        if isinstance(head, SentenceHeadConfig) and "pooling" in cls.model_fields:
            known = [get_args(each) for each in get_args(cls.model_fields["pooling"].annotation)]
            said["pooling"] = head.pooling if any(head.pooling in each for each in known) else ""
        return cls.model_validate(
            {name: value for name, value in said.items() if name in cls.model_fields and value not in ((), "")}
        )

    # of a run, and of a student and its teacher

    def as_saved(self) -> Self:
        """The section of a run or a model: a setting that its version did not have is as it was then."""
        return self

    def from_random(self, data: DataSection) -> Self:
        """The section of a run without a model to start from."""
        return self

    def with_fixed_embedding(self) -> Self:
        """The section of a run that trains no embedding."""
        return self

    @classmethod
    def of_teacher(cls) -> tuple[str, ...]:
        """Settings that a student takes from its teacher, as the answers of both must mean the same."""
        return cls.found

    def taught_by(self, teacher: Any) -> Self:
        """The section of a student of a teacher of this task; what a probe would choose stays where it is changed."""
        usual = type(self).model_fields
        stays = {name for name in self.probed if getattr(self, name) != usual[name].default}
        taken = {name: getattr(teacher.as_saved(), name) for name in self.of_teacher() if name not in stays}
        return self.model_copy(update=taken)

    def for_student(self) -> dict[str, object]:
        """Settings of this, a teacher, without which the recipe of its student could not be read."""
        return {}
