"""The `[train]` table of a recipe."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from glassformer.settings import MOST_ROWS, Seed, Settings


class EpochsByData(Settings):
    """How many epochs a fine-tuning has: `least`, and with little data more, up to `most`, until it has `steps` steps.

    With 150 records three epochs are some 15 steps, after which a new head has learned next to nothing
    (decisions/2026-11-22-epochs-of-small-data.md).
    """

    least: int = Field(default=3, ge=1)
    steps: int = Field(default=150, ge=1)
    most: int = Field(default=20, ge=1, le=10_000)

    def epochs(self, steps_per_epoch: float) -> int:
        """The epochs of data that are so many steps."""
        return max(self.least, min(self.most, math.ceil(self.steps / steps_per_epoch)))

    def __str__(self) -> str:
        return f"{self.least} to {max(self.least, self.most)} by the data"


class TrainSection(Settings):
    """Settings of a training run. It ends when the first of `steps`, `epochs` and `minutes` is reached; where none of
    them is set, after the epochs that `epochs_by_data` finds.

    A step has `batch` rows, or with `batch_tokens` as many rows as have so many tokens, padding included: those of the
    target where a task has one.

    `minutes` are those of the clock, with compiling, evaluation and saving, without the time between a stop and its
    `--resume`. A process that the system holds (Ctrl-Z, a busy machine) uses them up, and the seconds in `metrics.json`
    count that too; the sleep of a whole machine counts on Windows, and neither on Linux nor on macOS.

    `checkpoint_minutes` is the time between two checkpoints, more where saving would take over 1 % of the time; the
    first comes after a minute. `layer_decay` multiplies the learning rate once for each layer above: the heads have the
    whole rate, the last block this share of it, and so on down to the embeddings (ELECTRA, Clark et al. 2020). `freeze`
    names parameters that are not trained: `encoder.embed.*`.

    `seeds` above 1 trains as many models, with the seeds 0, 1, 2 …, each in a folder of its own, and gives the mean and
    the deviation of their scores.

    With `optimizer = "muon"` the matrices inside the blocks are trained by Muon (Jordan et al. 2024) at
    `matrix_learning_rate` with `momentum`, and everything else by AdamW at `learning_rate`; both follow the schedule.
    Muon turns the gradient in the type of the matrix products. In bfloat16 its last digit may fall on the other side of
    a rounding where `accumulate` adds it in another order: the weights then differ by some hundredths of a step.
    """

    steps: int | None = Field(default=None, ge=1)
    epochs: float | None = Field(default=None, gt=0, le=1e9)
    minutes: float | None = Field(default=None, gt=0, le=1e9)
    epochs_by_data: EpochsByData | None = None
    batch: int = Field(default=32, ge=1, le=MOST_ROWS)
    batch_tokens: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    accumulate: int = Field(default=1, ge=1)
    optimizer: Literal["adamw", "bert-adam", "muon"] = "adamw"
    learning_rate: float = Field(default=1e-3, gt=0)
    matrix_learning_rate: float = Field(default=0.02, gt=0)
    crf_learning_rate: float | None = Field(default=None, gt=0)
    momentum: float = Field(default=0.95, ge=0, lt=1)
    newton_schulz_steps: int = Field(default=5, ge=1, le=20)
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    epsilon: float = Field(default=1e-8, gt=0)
    decay: float = Field(default=0.01, ge=0)
    layer_decay: float | None = Field(default=None, gt=0, le=1)
    freeze: tuple[str, ...] = ()
    clip: float | None = Field(default=1.0, gt=0)
    schedule: Literal["linear", "noam", "cosine", "warmup-stable-decay", "constant"] = "linear"
    warmup: float = Field(default=0.1, ge=0)
    cooldown: float = Field(default=0.2, ge=0, le=1)
    precision: Literal["auto", "float32", "bfloat16", "float64"] = "auto"
    compile: Literal["auto", "on", "off"] = "auto"
    activation_checkpointing: bool = False
    device: str = "auto"
    threads: int | None = Field(default=None, ge=1)
    seed: Seed = 0
    seeds: int = Field(default=1, ge=1, le=1000)
    evaluate_every: int | None = Field(default=None, ge=1)
    patience: int | None = Field(default=None, ge=1)
    ema: float | None = Field(default=None, gt=0, lt=1)
    average: int | None = Field(default=None, ge=2)
    checkpoint_minutes: float = Field(default=5.0, gt=0)
    checkpoint_every: int | None = Field(default=None, ge=1)
    keep: int = Field(default=2, ge=1)
    tensorboard: bool = False

    @property
    def fitted_epochs(self) -> EpochsByData | None:
        """The rule for the number of epochs, where nothing else ends the run."""
        return self.epochs_by_data if self.steps is self.epochs is self.minutes is None else None
