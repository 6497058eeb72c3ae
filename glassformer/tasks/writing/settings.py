"""What the settings of several tasks of writing share."""

from typing import ClassVar

from pydantic import Field

from glassformer.decode.asked import BEAMS, LENGTH_PENALTY
from glassformer.decode.settings import LengthPenalty
from glassformer.tasks.settings import TaskSection


class TargetSection(TaskSection):
    """Label smoothing is that of Szegedy et al. (2016), the length penalty that of Wu et al. (2016, eq. 14). The head
    that learns which words belong together is one of the decoder's last block; `alignment` is λ of Garg et al. (2019,
    §4.2).
    """

    greedy: ClassVar[bool] = False  # answers are found without beams, unless these are asked for
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """The share of the probability that all tokens but padding get alike."""
    beams: int = Field(default=BEAMS, ge=1, le=1000)
    """Hypotheses that are searched at once for an answer."""
    length_penalty: LengthPenalty = LENGTH_PENALTY
    """How much longer answers are preferred."""
    alignment: float = Field(default=0.0, ge=0, le=1)
    """Weight of the loss by which a head learns which words belong together; 0: none does."""


class StreamSection(TaskSection):
    """Of a task that learns texts as one stream, with a token between two of them."""
