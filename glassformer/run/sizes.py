"""How large a model, vocabulary and batch fit a text and a time: the rules of `train masked-lm FILES` and `train
translate PAIRS`.

A small model makes more steps in the same time, and leaves the plateau at the start of training sooner; a large one
reaches a lower loss if it has the time. A small text has too few examples of rare tokens: it gets a smaller vocabulary.
Measured at four minutes of two cores only, where tiny is far ahead of mini: the other thresholds are estimates
(decisions/2026-11-21-half-the-minutes.md).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from glassformer.data.readers.files import find_files
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
_OPTIONS = {
    "model.size": "--size",
    "tokenizer.vocabulary": "--vocabulary",
    "train.batch": "--batch",
    "train.batch_tokens": "--set train.batch_tokens",
    "train.steps": "--steps",
    "model.settings.dropout": "--set model.settings.dropout",
}
# Sizes of a translator, target tokens that a core learns from in a second, and from how many minutes on one core it is
# chosen. The speed of tiny is measured, those of the others follow from their parameters; the minutes are estimates.
TRANSLATORS = (("tiny", 2500.0, 0.0), ("mini", 900.0, 400.0), ("small", 250.0, 3000.0), ("base", 120.0, 20_000.0))
# Vocabularies of both sides together, and from how many bytes of both on.
SHARED_VOCABULARIES = ((1000, 0.0), (2000, 2e5), (4000, 1e6), (8000, 3e6), (16000, 3e7), (32000, 3e8))
# Target tokens of a step, the largest with which there are enough steps; and dropout, from how many epochs on: what is
# seen often is learned by heart without it.
_STEP_TOKENS, _STEPS = (512, 1024, 2048, 4096), 2500.0
_DROPOUTS = ((0.1, 0.0), (0.2, 8.0), (0.3, 30.0))
# Fewer bytes of pairs than this are learned in so many steps, long before the minutes of the recipe end.
_FEW, _STEPS_OF_FEW = 4000, 600
# Bytes of a target token, and of a text by each byte of its archive.
_BYTES_OF_A_TOKEN, _UNPACKED = 4.3, 3.3


@dataclass(frozen=True)
class Choice:
    """Settings of a recipe that fit `megabytes` of text and `core_minutes` of time, or another `end` of the run."""

    settings: dict[str, object]
    megabytes: float
    core_minutes: float | None
    end: str = ""

    def sentence(self, names: Collection[str]) -> str:
        """What was chosen, why, and how to change it; `names` are the settings that the user did not choose."""
        chosen = ", ".join(f"{name.rpartition('.')[2].replace('_', ' ')} {self.settings[name]}" for name in names)
        minutes = None if self.core_minutes is None else round(self.core_minutes, 1)
        time = self.end if minutes is None else f"{minutes:,g} minute{'s' * (minutes != 1)} of one core"
        time = f" and {time}" if time else ""
        options = ", ".join(_OPTIONS[name] for name in names)
        differ = "choose otherwise" if len(names) > 1 else "chooses otherwise"
        return f"{chosen}: chosen for {self.megabytes:,.1f} MB of text{time}; {options} {differ}"


def cores_of(settings: TrainSection) -> int:
    """The cores of a run; a GPU counts as a hundred. Raises DeviceError."""
    if choose_device(settings.device).type != "cpu":
        return _CORES_OF_A_GPU
    return settings.threads or torch.get_num_threads()  # torch knows what OMP_NUM_THREADS and taskset leave


def sizes_for(
    files: Sequence[str], core_minutes: float | None, *, size: str | None = None, tokenizer: bool = True
) -> Choice:
    """Size, vocabulary and batch for these files and core minutes (None: not chosen). Raises DataError."""
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


def translator_sizes(
    files: Sequence[str],
    core_minutes: float | None,
    *,
    size: str | None = None,
    tokenizer: bool = True,
    shared: bool = True,
    steps: int | None = None,
    epochs: float | None = None,
    step_tokens: int | None = None,
) -> Choice:
    """Size, vocabulary, dropout and tokens of a step for pairs, as `sizes_for`; not `shared`: each vocabulary is of
    half the text. `steps` or `epochs` decide the dropout and, without `step_tokens`, the steps.
    """
    paths = find_files(files).used
    text = sum(path.stat().st_size * (_UNPACKED if path.suffix.lower() == ".gz" else 1.0) for path in paths)
    settings: dict[str, object] = {}
    if text < _FEW and core_minutes is not None and steps is epochs is None:
        settings["train.steps"] = steps = _STEPS_OF_FEW
    if core_minutes is not None and size is None:
        size = next(name for name, _, least in reversed(TRANSLATORS) if core_minutes >= least)
        settings["model.size"] = size
    speed = next((speed for name, speed, _ in TRANSLATORS if name == size), TRANSLATORS[0][1])
    of_an_epoch = max(1.0, text / 2 / _BYTES_OF_A_TOKEN)
    seen = [] if core_minutes is None else [core_minutes * 60 * speed]
    if epochs is not None:
        seen.append(epochs * of_an_epoch)
    if steps is not None:
        fitting = (each for each in _STEP_TOKENS if _step_tokens(steps * each) == each)
        seen.append(steps * float(step_tokens or next(fitting)))
    if seen:
        tokens = min(seen)
        rates = (rate for rate, least in reversed(_DROPOUTS) if tokens / of_an_epoch >= least)
        settings["model.settings.dropout"] = next(rates)
        settings["train.batch_tokens"] = _step_tokens(tokens)
    if tokenizer:
        settings["tokenizer.vocabulary"] = next(
            tokens for tokens, least in reversed(SHARED_VOCABULARIES) if (text if shared else text / 2) >= least
        )
    ends = {"steps": steps, "epochs": epochs}
    end = " or ".join(f"{count:,} {name}" for name, count in ends.items() if count is not None)
    return Choice(settings, text / 1e6, core_minutes, end)


def _step_tokens(tokens: float) -> int:
    return max((each for each in _STEP_TOKENS if tokens / each >= _STEPS), default=_STEP_TOKENS[0])
