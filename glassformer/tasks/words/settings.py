"""What the settings of several tasks of words share."""

from typing import ClassVar, Literal

from glassformer.tasks.settings import LARGEST, CardWords, HeadOutputs, TaskSection

FILLED = CardWords("filled", limit="Several masked words are predicted independently of one another.")

# The labels of a pair, by their number in google-research/bert: 0 = the second text follows the first.
NEXT_SENTENCE_LABELS = ("IsNext", "NotNext")

# The labels of neighbours that may have changed places: 0 = in the order of the text.
ORDER_LABELS = ("InOrder", "Swapped")


class PairsSection(TaskSection):
    """Of a task on pairs of texts that are cut from documents."""

    labels_pairs: ClassVar[bool] = True
    negatives: Literal["random", "swapped"] = "random"
    """How wrong pairs are made: a text of another document, or neighbours in swapped order."""

    @property
    def labels(self) -> tuple[str, str]:
        return ORDER_LABELS if self.negatives == "swapped" else NEXT_SENTENCE_LABELS

    @property
    def head_outputs(self) -> HeadOutputs:
        return LARGEST._replace(labels=self.labels)
