"""Several runs of one recipe that differ only in their seed: their scores, mean and deviation, and the best of them."""

import json
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassformer.base.atomic import atomic_write, current
from glassformer.saved import store
from glassformer.saved.recipe import read_saved_recipe
from glassformer.scoring.score import flat_name
from glassformer.scoring.verdict import FROZEN, shown
from glassformer.training.settings import TrainSection

SEEDS = "seeds.json"


@dataclass(frozen=True)
class Seeds:
    """The scores of each run by its seed, and the score that keeps the best model (`-loss`, `accuracy`)."""

    runs: Mapping[int, Mapping[str, float]]
    best_score: str
    baseline_names: tuple[str, ...] = ()

    @property
    def best(self) -> int:
        name, sign = self.best_score.removeprefix("-"), -1 if self.best_score.startswith("-") else 1
        return max(self.runs, key=lambda seed: sign * self.runs[seed][name])

    @property
    def names(self) -> list[str]:
        runs = list(self.runs.values())
        # A score that is not a number is null in the file of a finished run.
        shared = [name for name in runs[0] if all(run.get(name) is not None for run in runs)]
        others = *self.baseline_names, flat_name(FROZEN, "")
        return [name for name in shared if name != "targets" and not name.startswith(others)]

    def of(self, name: str) -> list[float]:
        return [scores[name] for scores in self.runs.values()]

    def to_dict(self) -> dict[str, Any]:
        return {
            "runs": [{"seed": seed, "folder": folder(seed), "scores": dict(its)} for seed, its in self.runs.items()],
            "scores": {
                name: {"mean": statistics.mean(self.of(name)), "deviation": statistics.stdev(self.of(name))}
                for name in self.names
            },
            "best": folder(self.best),
            "best_by": self.best_score.removeprefix("-"),
        }

    def write(self, out: Path) -> None:
        with atomic_write(out / SEEDS) as draft:
            draft.write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")


def lines(found: Mapping[str, Any]) -> list[Sequence[str]]:
    """For a table, from `Seeds.to_dict`: each score with its mean, its deviation, and its lowest and highest value."""
    shown_lines: list[Sequence[str]] = []
    for name, its in found["scores"].items():
        values = [run["scores"][name] for run in found["runs"]]
        bounds = f"{shown(name, min(values))} … {shown(name, max(values))}"
        deviation = f"± {shown(name, its['deviation'])}"
        shown_lines.append((name.replace("_", " "), shown(name, its["mean"]), deviation, bounds))
    return shown_lines


def folder(seed: int) -> str:
    return f"seed-{seed}"


def is_finished(out: Path, train: TrainSection, left_open: Collection[str] = ()) -> bool:
    """Whether a folder holds the finished model of this run: with the same settings of training. Those that are
    `left_open` and are not set now either are what its run found.
    """
    if not (current(out) / store.SETTINGS).is_file():
        return False
    known = read_saved_recipe(out)
    if known is None:
        return False
    found = {name: getattr(known.train, name) for name in left_open if getattr(train, name) is None}
    least = {"epochs_by_data": known.train.epochs_by_data}  # raised for a small start when the run began
    return known.train == train.model_copy(update=found | least)
