from typing import Any, ClassVar, Literal, Self
from unicodedata import normalize

from pydantic import Field, model_validator

from glassformer.tasks.labels.settings import TextPairData, TextPairSection
from glassformer.tasks.settings import LARGEST, CardWords, HeadOutputs


class ClassifySection(TextPairSection):
    found: ClassVar[tuple[str, ...]] = ("labels", "temperature")
    after: ClassVar[set[str]] = {"words"}
    name: Literal["classify"] = "classify"
    labels: tuple[str, ...] = ()
    """The labels; by default those of the training records."""
    several: bool = False
    """Whether a text may have any number of labels."""
    threshold: float = Field(default=0.5, gt=0, lt=1)
    """With `several`: a label with at least this probability is chosen."""
    class_weights: Literal["none", "balanced"] | dict[str, float] = "none"
    """A factor for the loss of each label."""
    words: bool = True
    """Add scores of tokens and of pairs of neighbours to those of single texts, where held-out records prefer it."""
    temperature: float = Field(default=1.0, gt=0)
    """What the scores are divided by; fitted on held-out records."""

    @property
    def kept_by(self) -> str:
        """Several labels are seldom all right: their F1 compares models better."""
        return "micro_f1" if self.several else "accuracy"

    def other_units(self, other: Any) -> tuple[str, ...]:
        """The loss of several labels is a mean over decisions, that of one label is of one distribution."""
        return () if self.several == other.several else ("loss",)

    @property
    def after_scores(self) -> tuple[str, ...]:
        if self.temperature == 1.0:
            return ()
        return (f"The scores are first divided by the temperature {self.temperature:.4g}, fitted on held-out records.",)

    @property
    def card(self) -> CardWords:
        return CardWords("chosen") if self.several else CardWords()

    @property
    def head_outputs(self) -> HeadOutputs:
        found = LARGEST
        if self.several:
            each = f"1 / (1 + np.exp(-x)) >= {self.threshold:g}"
            found = HeadOutputs(
                several=True,
                meaning=f"a score for each label; a text has those whose sigmoid is at least {self.threshold:g}",
                code=f"print([[LABELS[k] for k, x in enumerate(row) if {each}] for row in logits])",
            )
        return found._replace(labels=self.labels, threshold=self.threshold, temperature=self.temperature)

    def in_last_layer(self) -> Self:
        return self.model_copy(update={"temperature": 1.0})

    @property
    def not_exported(self) -> tuple[str, ...]:
        said = []
        if self.threshold != 0.5:
            said.append(f"the threshold {self.threshold:.4g} is not exported: apply it to the scores")
        if self.temperature != 1.0:
            said.append("the temperature is written into the last layer: its scores are divided by it there too")
        return tuple(said)

    @classmethod
    def of_teacher(cls) -> tuple[str, ...]:
        return ("labels", "several", "pooling")

    def for_student(self) -> dict[str, object]:
        return {"several": True} if self.several else {}

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if len(set(self.labels)) < len(self.labels) or not all(label.strip() for label in self.labels):
            raise ValueError("labels must be different words, none of them empty")
        if self.threshold != 0.5 and not self.several:
            raise ValueError("a threshold belongs to several labels: set several = true, or leave it out")
        if not isinstance(self.class_weights, str):
            known = {normalize("NFC", label) for label in self.labels}
            if unknown := [label for label in self.class_weights if known and normalize("NFC", label) not in known]:
                raise ValueError(f"class_weights must name labels, got {unknown[0][:60]!r}")
            if not all(weight > 0 for weight in self.class_weights.values()):
                raise ValueError("class_weights must be above 0")
        return self


class ClassifyData(TextPairData):
    separator: str = Field(default=",", min_length=1)
    """With `several`: what stands between the labels of a cell."""
