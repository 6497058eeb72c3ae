"""What a page shows of the training of a model: the curve of the loss, and the records of the watched sentences.

The files of the run's folder are read as far as they go, so that a page can follow a training that is not at its end.
"""

import math
import os
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glassformer.base.atomic import lock, locks_folders
from glassformer.base.errors import GlassformerError
from glassformer.base.json_text import parse_json
from glassformer.saved.recipe import RECIPE, read_saved_recipe
from glassformer.tasks import task_named
from glassformer.training.record import FILE, read_watched

METRICS = "metrics.jsonl"
SECTION = "training"
# Points of the curve on a page: each is the mean of as many lines of the file as are needed for no more.
MOST_POINTS = 600
# A larger file of records is no file of this program.
MOST_BYTES = 256_000_000


def has_training(folder: str | Path | None) -> bool:
    """Whether a folder is that of a run, which has kept its losses."""
    return folder is not None and os.path.isfile(Path(folder) / METRICS)


def is_unfinished(folder: str | Path) -> bool:
    """Whether a folder holds a run that has saved no model yet."""
    there = Path(folder)
    return os.path.isfile(there / RECIPE) and not os.path.isfile(there / "glassformer.json")


def training_sections(folder: str | Path | None) -> dict[str, Any]:
    """The sections of a page that tell of the training in this folder; {} where there is none."""
    if folder is None or not has_training(folder):
        return {}
    return {SECTION: Training(Path(folder)).record()}


@dataclass
class Training:
    """A run's folder as a page reads it, again and again while the training goes on. Two readers may ask at once."""

    folder: Path
    metrics: list[tuple[int, float, float]] = field(default_factory=list)
    evaluated: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    offset: int = 0
    inode: int = 0

    def record(self, known: str = "") -> dict[str, Any]:
        """The curve, and the records: those that whoever has the mark `known` does not have yet, or with `fresh` all.

        A mark is the number of the file and the last step that was sent.
        """
        with self.lock:
            self._read_metrics()
            watched, records = self.folder / FILE, []
            mark, fresh, header, damaged = "", True, None, 0
            if watched.is_file():
                inode = os.stat(watched).st_ino
                found = read_watched(watched)
                header, damaged = found.header, found.damaged
                file, _, last = known.partition("-")
                fresh = file != str(inode)
                after = -1 if fresh or not last.isdigit() else int(last)
                records = [record for step, record in found.records.items() if step > after]
                mark = f"{inode}-{max(found.records, default=0)}"
            return {
                **self._recipe(),
                "curve": averaged(self.metrics, MOST_POINTS),
                "evaluated": self.evaluated,
                "running": is_running(self.folder),
                "saved": not is_unfinished(self.folder),
                "mark": mark,
                "fresh": fresh,
                "watched": header if fresh else None,
                "records": records,
                "damaged": damaged,
            }

    def _read_metrics(self) -> None:
        """The whole lines that have come since, or all of them where the file is another one than before."""
        try:
            with (self.folder / METRICS).open("rb") as file:
                facts = os.fstat(file.fileno())
                if facts.st_ino != self.inode or facts.st_size < self.offset:
                    self.offset, self.inode, self.metrics, self.evaluated = 0, facts.st_ino, [], []
                file.seek(self.offset)
                text = file.read(MOST_BYTES)
        except OSError:
            return
        whole = text[: text.rfind(b"\n") + 1]
        self.offset += len(whole)
        for line in whole.splitlines():
            try:
                values = parse_json(line)
                step, loss, rate = int(values["step"]), float(values["loss"]), float(values["learning_rate"])
            except (ValueError, KeyError, TypeError, OverflowError):
                continue  # a loss that is not finite, or a line that was cut short
            if not math.isfinite(loss) or not math.isfinite(rate):
                continue
            self.metrics.append((step, loss, rate))
            scores = {name.removeprefix("held_out_"): value for name, value in values.items() if "held_out_" in name}
            if scores:
                self.evaluated.append({"step": step, **scores})

    def _recipe(self) -> dict[str, Any]:
        """What the recipe states: the task, the end, the names of its baselines and of its score."""
        with suppress(GlassformerError):
            recipe = read_saved_recipe(self.folder)
            if recipe is not None:
                task, baselines = recipe.task, list(task_named(recipe.task.name).baseline_names)
                return {"task": task.name, "steps": recipe.train.steps, "baselines": baselines, "best": task.kept_by}
        return {"task": "", "steps": None, "baselines": [], "best": "-loss"}


def averaged(points: list[tuple[int, float, float]], most: int) -> dict[str, Any]:
    """At most so many points of a curve: each the mean loss of as many lines, at the last of their steps."""
    every = max(1, math.ceil(len(points) / most))
    groups = [points[start : start + every] for start in range(0, len(points), every)]
    return {
        "lines": every,
        "points": [[group[-1][0], sum(loss for _, loss, _ in group) / len(group), group[-1][2]] for group in groups],
    }


def is_running(folder: Path) -> bool:
    """Whether a training holds the folder: see `training/stopping.py`. Where the system cannot tell, it does not."""
    if not locks_folders():
        return (folder / ".lock").exists()
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not lock(handle)
    finally:
        os.close(handle)


def watched_texts(folder: str | Path) -> tuple[tuple[str, ...], tuple[str, ...] | None] | None:
    """A run's watched sentences to begin with, and their second texts; None without any, or with candidates."""
    try:
        recipe = read_saved_recipe(folder)
    except GlassformerError:
        return None
    found = [sentence.split("\t") for sentence in (recipe.watch.sentences if recipe is not None else ())]
    if not found or len(found[0]) > 2 or len({len(each) for each in found}) > 1:
        return None
    firsts, *seconds = zip(*found, strict=True)
    return firsts, seconds[0] if seconds else None
