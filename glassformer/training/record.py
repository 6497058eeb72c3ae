"""The log of a run: `metrics.jsonl`, and optionally TensorBoard."""

import importlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import MissingExtraError, TrainingError
from glassformer.base.json_text import check_regular_file, parse_json
from glassformer.training.budget import RunProgress, Window

# The share of a step's own loss in the running mean.
_NEW = 0.05


@dataclass(frozen=True, kw_only=True)
class Step:
    """One finished step. `tokens` and `seconds` are of this step alone, `elapsed` is the time of the run so far,
    evaluation and saving included, `fraction` is how much of the run is done.

    `loss` is the weighted sum of `losses`, each divided by its number of labels in `counts`. `norm` is the norm of the
    gradient before clipping, `scores` are those of the evaluation after this step. `means` are the running means of the
    loss, and of each loss where there are several: kept with the checkpoints, so that a resumed run shows the same.
    `baseline_names`: see `Task`.
    """

    step: int
    steps: int | None
    fraction: float
    epoch: float
    loss: float
    losses: Mapping[str, float]
    learning_rate: float
    norm: float
    counts: Mapping[str, float]
    tokens: int
    seconds: float
    elapsed: float
    means: Mapping[str, float]
    scores: Mapping[str, float] | None = None
    baseline_names: tuple[str, ...] = ()

    @property
    def seconds_left(self) -> float:
        """Time to the end at the speed so far; infinite before the first progress."""
        return self.elapsed * (1 - self.fraction) / self.fraction if self.fraction else float("inf")


def running_means(before: Mapping[str, float], loss: float, losses: Mapping[str, float]) -> dict[str, float]:
    """The running means after a step: a twentieth of the step's own loss, the rest what they were before."""
    of_step = {"loss": loss, **(losses if len(losses) > 1 else {})}
    return {name: (1 - _NEW) * before.get(name, value) + _NEW * value for name, value in of_step.items()}


class Record:
    """Lines of `metrics.jsonl`: the mean of every ten steps, and each evaluation. A resumed run appends the same lines
    as if it had never stopped: the sums for the next line are in `progress`, and so in each checkpoint.
    """

    every = 10

    def __init__(self, folder: Path, progress: RunProgress, *, tensorboard: bool) -> None:
        self._path, self._progress = folder / "metrics.jsonl", progress
        with self._writing():
            folder.mkdir(parents=True, exist_ok=True)
            self._drop_lines_after(progress.step)
        self._board: Any = _board(folder, progress.step) if tensorboard else None

    def see(self, step: Step) -> None:
        window = self._progress.window
        window.steps += 1
        window.loss += step.loss
        for name, loss in step.losses.items():
            window.losses[name] = window.losses.get(name, 0.0) + loss
        window.tokens += step.tokens
        window.seconds += step.seconds
        if step.step % self.every and step.scores is None and step.fraction < 1:
            return
        line: dict[str, Any] = {
            "step": step.step,
            "epoch": round(step.epoch, 4),
            "seconds": round(step.elapsed, 3),
            "loss": window.loss / window.steps,
            # Each loss separately, where there are several.
            **{f"{name}_loss": total / window.steps for name, total in window.losses.items() if len(window.losses) > 1},
            "learning_rate": step.learning_rate,
            "norm": step.norm,
            "tokens_per_second": round(window.tokens / max(window.seconds, 1e-9), 1),
        }
        line |= {f"held_out_{name}": value for name, value in (step.scores or {}).items()}
        self._progress.window = Window()
        with self._writing(), self._path.open("a", encoding="utf-8") as file:
            known = {name: value if math.isfinite(value) else None for name, value in line.items()}  # JSON has no NaN
            file.write(json.dumps(known, allow_nan=False) + "\n")
        if self._board is not None:
            for name, value in line.items():
                self._board.add_scalar(name, value, step.step)

    def close(self) -> None:
        if self._board is not None:
            self._board.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            refuse_removed_folder(self._path.parent, self._progress.step, error)
            raise TrainingError(
                f"the record of the run could not be written to {self._path}",
                got=error.strerror or str(error),
                do="make room and go on with --resume",
            ) from None

    def _drop_lines_after(self, step: int) -> None:
        """Drop the lines of steps that will be done again, and one that was cut short."""
        check_regular_file(self._path)
        if not self._path.exists():
            return
        text = self._path.read_text(encoding="utf-8", errors="replace")
        kept = [line for line in text.splitlines() if _step_of(line) <= step]
        with atomic_write(self._path) as draft:
            draft.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")


def refuse_removed_folder(folder: Path, step: int, error: Exception) -> None:
    """Raise TrainingError when the error is that the folder of a run is gone after so many steps."""
    if step and isinstance(error, FileNotFoundError) and not folder.exists():
        raise TrainingError(
            "a run needs its folder to the end",
            got=f"no {folder}: it was removed during the run, and with it the result of {step:,} steps",
            do="begin again without --resume: nothing is left to resume",
        )


def _step_of(line: str) -> float:
    try:
        return float(parse_json(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")


def _board(folder: Path, step: int) -> Any:
    try:
        writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter
    except ImportError:
        raise MissingExtraError("tensorboard", extra="tensorboard", purpose="train.tensorboard") from None
    return writer(str(folder / "tensorboard"), purge_step=step or None)
