"""How rotary positions are stretched, so that a model reads longer texts than it was first trained on: settings.

Each stretch changes the rate of a pair's angle; `original_length` is the number of tokens of the first training.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from glassformer.base.settings import Settings


class LinearStretch(Settings):
    """All rates are divided by `factor` (Chen et al. 2023, position interpolation)."""

    kind: Literal["linear"] = "linear"
    factor: float = Field(gt=0)


class DynamicStretch(Settings):
    """The base grows with a text that is longer than `original_length` (dynamic NTK-aware scaling, 2023). Each text is
    stretched by its own length, whatever other texts are in its batch.
    """

    kind: Literal["dynamic"] = "dynamic"
    factor: float = Field(gt=0)
    original_length: int = Field(ge=1)


class Llama3Stretch(Settings):
    """Long waves are stretched by `factor`, short ones are kept, those between are blended (Llama 3.1, 2024). A wave is
    short when it turns more than `high_frequency_factor` times in `original_length` tokens, long when it turns less
    than `low_frequency_factor` times.
    """

    kind: Literal["llama3"] = "llama3"
    factor: float = Field(gt=0)
    low_frequency_factor: float = Field(gt=0)
    high_frequency_factor: float = Field(gt=0)
    original_length: int = Field(ge=1)

    @model_validator(mode="after")
    def _high_above_low(self) -> Self:
        if self.high_frequency_factor <= self.low_frequency_factor:
            raise ValueError(
                "high_frequency_factor must be greater than low_frequency_factor, "
                f"got {self.high_frequency_factor:g} and {self.low_frequency_factor:g}"
            )
        return self


class YarnStretch(Settings):
    """Pairs that turn less than `beta_slow` times in `original_length` tokens are stretched by `factor`, those that
    turn more than `beta_fast` times are kept, and all cosines and sines are multiplied by `attention_factor`
    (Peng et al. 2023, §3.2 and §3.4). With `truncate` the bounds are whole pairs.
    """

    kind: Literal["yarn"] = "yarn"
    factor: float = Field(gt=0)
    original_length: int = Field(ge=1)
    attention_factor: float = Field(gt=0)
    beta_fast: float = Field(default=32.0, gt=0)
    beta_slow: float = Field(default=1.0, gt=0)
    truncate: bool = True


Stretch = Annotated[LinearStretch | DynamicStretch | Llama3Stretch | YarnStretch, Field(discriminator="kind")]
