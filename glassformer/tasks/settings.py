"""The `[task]` table of a recipe, and what follows from it alone; without torch."""

from typing import ClassVar, NamedTuple

from glassformer.base.settings import Settings


class CardWords(NamedTuple):
    """What the model card says about a task. `printed`: the field of an answer that the card prints; `cut`: what
    happens to a text longer than a row; `limit`: what models of this task cannot do, in a sentence.
    """

    printed: str = "probabilities"
    cut: str = "read in overlapping windows"
    limit: str = ""


class TaskSection(Settings):
    """The `[task]` table of a recipe: `name` chooses the task, the rest are its own settings. A task sets the
    properties below where the defaults do not fit; those that no setting changes are class variables.
    """

    # Settings that a run determines itself where the recipe leaves them at their default.
    found: ClassVar[tuple[str, ...]] = ("labels", "no_answer")
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

    @property
    def after_scores(self) -> tuple[str, ...]:
        """What happens to the scores of the head before they are an answer, a sentence each."""
        return ()

    @property
    def card(self) -> CardWords:
        return CardWords()
