"""How large a model, vocabulary and batch fit a text and a time: the rule behind `train masked-lm FILES`.

A small model does more steps in the same time, and its plateau at the start of training ends sooner; a large one ends
lower where there is time for it. A small text has too few examples of rare tokens: it gets a smaller vocabulary.
Measured at four minutes of two cores only, where tiny is far ahead of mini: the other thresholds are estimates
(decisions/2026-11-21-half-the-minutes.md).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from glassformer.data.files import find_files
from glassformer.runtime.device import choose_device
from glassformer.training.settings import TrainSection


class Size(NamedTuple):
    """A size of the model, the rows of a step, and from how many minutes on one core it is chosen."""

    name: str
    batch: int
    core_minutes: float


SIZES = (Size("tiny", 32, 0.0), Size("mini", 32, 40.0), Size("small", 64, 480.0))
# Tokens, and from how many bytes of text on.
VOCABULARIES = ((2000, 0.0), (4000, 5e5), (8000, 4e6), (16000, 2e8))
_CORES_OF_A_GPU = 100
_OPTIONS = {"model.size": "--size", "tokenizer.vocabulary": "--vocabulary", "train.batch": "--batch"}


@dataclass(frozen=True)
class Choice:
    """Settings of a recipe that fit `megabytes` of text and `core_minutes` of time."""

    settings: dict[str, object]
    megabytes: float
    core_minutes: float | None

    def sentence(self, names: Collection[str]) -> str:
        """What was chosen, why, and how to choose otherwise; `names` are the settings that were not the user's."""
        chosen = ", ".join(f"{name.split('.')[1]} {self.settings[name]}" for name in names)
        time = "" if self.core_minutes is None else f" and {round(self.core_minutes, 1):,g} minutes of one core"
        options = ", ".join(_OPTIONS[name] for name in names)
        return f"{chosen}: chosen for {self.megabytes:,.1f} MB of text{time}; {options} choose otherwise"


def cores_of(settings: TrainSection) -> int:
    """The cores of a run; a GPU counts as a hundred. Raises DeviceError."""
    if choose_device(settings.device).type != "cpu":
        return _CORES_OF_A_GPU
    return settings.threads or torch.get_num_threads()  # torch knows what OMP_NUM_THREADS and taskset leave


def sizes_for(
    files: Sequence[str], core_minutes: float | None, *, size: str | None = None, tokenizer: bool = True
) -> Choice:
    """Size, vocabulary and batch for a training on these files: a function of their bytes and the time alone.

    `core_minutes` are the minutes times the cores; None = bounded by steps or epochs, which leaves the size to the
    recipe. `size` is one that the user has chosen; without `tokenizer` none is to be learned. Raises DataError for
    files that are not there.
    """
    text = sum(path.stat().st_size for path in find_files(files).used)
    settings: dict[str, object] = {}
    if core_minutes is not None or size is not None:
        names = [each.name for each in SIZES]
        if size is None:
            assert core_minutes is not None
            found = next(each for each in reversed(SIZES) if core_minutes >= each.core_minutes)
            settings["model.size"], settings["train.batch"] = found.name, found.batch
        elif size in names:
            settings["train.batch"] = SIZES[names.index(size)].batch
    if tokenizer:
        settings["tokenizer.vocabulary"] = next(tokens for tokens, least in reversed(VOCABULARIES) if text >= least)
    return Choice(settings, text / 1e6, core_minutes)
