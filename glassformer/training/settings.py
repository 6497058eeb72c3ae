"""The tables `[train]` and `[tune]` of a recipe."""

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from glassformer.base.deprecated import deprecated
from glassformer.base.settings import MOST_ROWS, Seed, Settings

# The highest learning rate where none is set and no model is there to start from.
_RATE = 1e-3


def _as_tuple(given: object) -> object:
    return (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list) else given


class EpochsByData(Settings):
    """How many epochs a fine-tuning has: `least`, or more for little data, until it has `steps` steps. With
    150 records three epochs are some 15 steps, after which a new head has learned next to nothing
    (decisions/2026-11-22-epochs-of-small-data.md).
    """

    least: int = Field(default=3, ge=1)
    """The fewest epochs."""
    small: int = Field(default=1, ge=1)
    """The fewest epochs with a start of fewer than two million parameters, where this is more."""
    steps: int = Field(default=150, ge=1)
    """The steps that a fine-tuning should have."""
    most: int = Field(default=20, ge=1, le=10_000)
    """The most epochs."""

    def epochs(self, steps_per_epoch: float) -> int:
        """The epochs of data that make `steps` steps."""
        return max(self.least, min(self.most, math.ceil(self.steps / steps_per_epoch)))

    def __str__(self) -> str:
        return f"{self.least} to {max(self.least, self.most)} depending on the data"


class TrainSection(Settings):
    """Settings of a training run. It ends when the first of `steps`, `epochs` and `minutes` is reached. The tokens of
    `batch_tokens` are those of the target where a task has one.

    `minutes` are those of the clock, with compiling, evaluation and saving, without the time between a stop and its
    `--resume`. A suspended or slowed process (Ctrl-Z, a busy machine) uses them up, and the seconds in `metrics.json`
    count that too; time in which the whole machine sleeps counts on Windows alone.

    `checkpoint_minutes` is the time between two checkpoints, more where saving would take over 1 % of the time; the
    first comes after a minute.

    `seeds` above 1 trains as many models, with the seeds 0, 1, 2 …, each in its own folder, and gives the mean and the
    deviation of their scores.

    Where no `learning_rate` is set it is that of the weights of the model to start from
    (`glassformer.training.tune.rate_by_weights`), without one 1e-3.

    `track` names programs that show the lines of `metrics.jsonl` as curves; each needs its extra.

    With `optimizer = "muon"` the matrices inside the blocks are trained by Muon (Jordan et al. 2024) at
    `matrix_learning_rate` with `momentum`, and everything else by AdamW at `learning_rate`; both follow the schedule.
    Muon turns the gradient in the type of the matrix products. In bfloat16 its last digit may fall on the other side of
    a rounding where `accumulate` adds it in another order: the weights then differ by some hundredths of a step.
    """

    steps: int | None = Field(default=None, ge=1)
    """Stop after this many steps."""
    epochs: float | None = Field(default=None, gt=0, le=1e9)
    """Stop after this many epochs."""
    minutes: float | None = Field(default=None, gt=0, le=1e9)
    """Stop after this many minutes."""
    epochs_by_data: EpochsByData | None = None
    """Where nothing else ends the run: how many epochs follow from the number of records."""
    batch: int = Field(default=32, ge=1, le=MOST_ROWS)
    """Rows of a step."""
    batch_tokens: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    """Tokens of a step, padding included; then `batch` is not used."""
    accumulate: int = Field(default=1, ge=1)
    """Parts into which a step is cut, to save memory. The gradient is that of the whole step."""
    optimizer: Literal["adamw", "bert-adam", "muon"] = "adamw"
    """AdamW; AdamW as BERT's authors wrote it, without bias correction; or Muon for matrices."""
    learning_rate: float | None = Field(default=None, gt=0)
    """The highest learning rate of AdamW."""
    matrix_learning_rate: float = Field(default=0.02, gt=0)
    """With Muon: the highest learning rate of the matrices in the blocks."""
    crf_learning_rate: float | None = Field(default=None, gt=0)
    """The learning rate of the transition scores of a CRF; by default that of the run."""
    momentum: float = Field(default=0.95, ge=0, lt=1)
    """With Muon: the share of the last step's direction that is kept."""
    newton_schulz_steps: int = Field(default=5, ge=1, le=20)
    """With Muon: iterations that make a gradient orthogonal."""
    beta1: float = Field(default=0.9, ge=0, lt=1)
    """AdamW: the decay of the mean of gradients."""
    beta2: float = Field(default=0.999, ge=0, lt=1)
    """AdamW: the decay of the mean of their squares."""
    epsilon: float = Field(default=1e-8, gt=0)
    """AdamW: added to the root, so that nothing is divided by 0."""
    decay: float = Field(default=0.01, ge=0)
    """Weight decay, times the learning rate; not for biases and norms."""
    clip: float | None = Field(default=1.0, gt=0)
    """A gradient with a larger norm is scaled down to this one."""
    schedule: Literal["linear", "noam", "cosine", "warmup-stable-decay", "constant"] = "linear"
    """How the learning rate changes after the warm-up."""
    warmup: float = Field(default=0.1, ge=0)
    """Steps in which the learning rate rises from 0: a share of the run if below 1, else their number."""
    cooldown: float = Field(default=0.2, ge=0, le=1)
    """With warmup-stable-decay: the share of the run in which the rate falls at the end."""
    precision: Literal["auto", "float32", "bfloat16", "float64"] = "auto"
    """The type of the matrix products."""
    compile: Literal["auto", "on", "off"] = "auto"
    """Whether steps are compiled; auto compiles where that saves time over the whole run."""
    activation_checkpointing: bool = False
    """Compute states again for the gradient instead of keeping them: less memory, more time."""
    device: str = "auto"
    """Where to compute: auto, cpu, cuda, or cuda:1."""
    threads: int | None = Field(default=None, ge=1)
    """Threads of the processor."""
    shard: bool = False
    """Share out weights, gradients and optimizer among the processes of a training."""
    seed: Seed = 0
    """The seed of all random numbers of the training."""
    seeds: int = Field(default=1, ge=1, le=1000)
    """Train this many models, with the seeds 0, 1, 2 and so on."""
    evaluate_every: int | None = Field(default=None, ge=1)
    """Steps between two evaluations on held-out data; by default as many as suit the length of the run."""
    patience: int | None = Field(default=None, ge=1)
    """Stop after this many evaluations with neither a better score nor a lower held-out loss."""
    ema: float | None = Field(default=None, gt=0, lt=1)
    """Keep a moving average of the weights with this decay, and save the average."""
    average: int | None = Field(default=None, ge=2)
    """Save the mean of this many last checkpoints."""
    checkpoint_minutes: float = Field(default=5.0, gt=0)
    """Minutes between two checkpoints."""
    checkpoint_every: int | None = Field(default=None, ge=1)
    """Steps between two checkpoints; others are written after as many minutes."""
    keep: int = Field(default=2, ge=1)
    """Checkpoints that are kept."""
    track: Annotated[tuple[Literal["tensorboard", "mlflow"], ...], BeforeValidator(_as_tuple)] = ()
    """Write the curves for these trackers too."""

    @model_validator(mode="before")
    @classmethod
    def _with_track(cls, given: Any) -> Any:
        """`tensorboard = true` was written until 1.0; recipes saved by then have it, mostly false."""
        if not isinstance(given, dict) or not isinstance(given.get("tensorboard"), bool):
            return given
        values = {name: value for name, value in given.items() if name != "tensorboard"}
        if given["tensorboard"]:
            deprecated("train.tensorboard", 'train.track = ["tensorboard"]')
            values.setdefault("track", ["tensorboard"])
        return values

    @property
    def rate(self) -> float:
        return _RATE if self.learning_rate is None else self.learning_rate

    @property
    def fitted_epochs(self) -> EpochsByData | None:
        """The rule for the number of epochs, where nothing else ends the run."""
        return self.epochs_by_data if self.steps is self.epochs is self.minutes is None else None


# Names of parameters or layers with * and ?; a single one may stand without brackets.
Patterns = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
ALL_BUT_HEAD, GRADUALLY = "all-but-head", "gradually"


class AdapterSection(Settings):
    """Low-rank adapters (Hu et al. 2021): for each of the `layers` W a product (alpha / rank) · B A is trained, and W
    is not. At the end of the run the products are added to the weights.
    """

    rank: int = Field(default=8, ge=1, le=65_536)
    """The rank of an adapter."""
    alpha: float = Field(default=16.0, gt=0)
    """An adapter is scaled by alpha / rank."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Dropout of what an adapter reads."""
    layers: Patterns = ("*.query", "*.value")
    """The layers that get an adapter, as patterns."""


class TuneSection(Settings):
    """What is trained, and how fast each layer of it.

    `freeze` names what is not trained, each word overriding those before it: `all-but-head`, or patterns of parameter
    names, `encoder.embed.*`; one after a `!` is trained after all, `!*.bias`. With `gradually` the heads are trained
    from the beginning, and then one block more after equal parts of the run, from the last one down to the embeddings,
    until everything is trained after the share `all_after` of the run (Howard & Ruder 2018).

    `layer_decay` multiplies the learning rate once for each layer above: the heads have the whole rate, the last block
    this share of it, and so on down to the embeddings (ELECTRA, Clark et al. 2020). With `adapters` only these and the
    heads are trained.

    With `probe` the last layer of a new head begins as the best linear model on the frozen states of the model to start
    from, and the weights before the first step are among those that may be kept (Kumar et al. 2022). Where whole texts
    are labelled, the matrices of its blocks begin smaller if such a model is then better.
    """

    freeze: Patterns = ()
    """What is not trained."""
    all_after: float = Field(default=0.5, gt=0, le=1)
    """With `gradually`: the share of the run after which everything is trained."""
    layer_decay: float | None = Field(default=None, gt=0, le=1)
    """The learning rate of a layer over that of the layer above."""
    adapters: AdapterSection | None = None
    """Low-rank adapters: a table with the keys below."""
    probe: bool = True
    """Whether a new head begins as the best linear model on the frozen states."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if GRADUALLY in self.freeze and (ALL_BUT_HEAD in self.freeze or self.adapters is not None):
            other = "adapters" if self.adapters is not None else f"freeze = {ALL_BUT_HEAD!r}"
            raise ValueError(f"freeze = {GRADUALLY!r} trains all blocks in the end: leave it out, or {other}")
        if ALL_BUT_HEAD in self.freeze and self.adapters is not None:
            raise ValueError(
                f"adapters already freeze all but the heads and themselves: leave out freeze = {ALL_BUT_HEAD!r}, which "
                "would freeze them too, or adapters"
            )
        if self.all_after != 0.5 and GRADUALLY not in self.freeze:
            raise ValueError(f"all_after belongs to freeze = {GRADUALLY!r}: set it too, or leave all_after out")
        return self

    @property
    def gradually(self) -> bool:
        return GRADUALLY in self.freeze
