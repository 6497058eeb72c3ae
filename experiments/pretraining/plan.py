"""The arms of X-14: what they share, in what they differ, and how many steps they have.

All arms read pairs of neighbouring texts, in two segments, with masked words, and have the same two heads. The arm
"masked words alone" reads each pair in the order of the text, so that the label of the pair is always the same and
teaches nothing. So a step costs each arm the same, and equal steps are equal time.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import glassformer as gf
from experiments import books
from experiments.encoder.plan import Plan
from experiments.translation.plan import read_json, write_json
from glassformer.models.families import modernbert
from glassformer.tasks.words.bert.task import BertSection
from glassformer.training.progress import ConsoleProgress
from glassformer.training.record import Step

WORK = Path("runs/pretraining")
MINUTES, LENGTH, BATCH = 10.0, 64, 32
STEPS = "steps.json"
# Steps that are timed, and those before them that are not.
TIMED, FIRST = 60, 20
# The recipe of the demo (decisions/2026-11-22-arms-of-masked-words.md); it was not searched for these arms.
TRAINING: Mapping[str, Any] = {
    "batch": BATCH,
    "optimizer": "muon",
    "learning_rate": 3e-3,
    "matrix_learning_rate": 0.02,
    "newton_schulz_steps": 3,
    "schedule": "warmup-stable-decay",
    "warmup": 0.05,
    "cooldown": 0.3,
    "compile": "off",
    "threads": 1,
}


@dataclass(frozen=True)
class Arm:
    """What differs: the pairs, how many of them are wrong, and the share of the masked words that become [MASK]; the
    others become another word or stay, one half each.
    """

    told: str
    negatives: Literal["random", "swapped"] = "swapped"
    wrong: float = 0.0
    mask: float = 0.8

    @property
    def pairs(self) -> bool:
        """Whether there is something to learn from the label of a pair."""
        return self.wrong > 0

    @property
    def masking(self) -> str:
        """As in 80/10/10."""
        rest = round(50 * (1 - self.mask))
        return f"{round(100 * self.mask)}/{rest}/{rest}"

    @property
    def section(self) -> BertSection:
        """The `[task]` table of the recipe."""
        rest = round((1 - self.mask) / 2, 6)
        return BertSection(negatives=self.negatives, unrelated=self.wrong, mask=self.mask, random=rest, keep=rest)


ARMS: dict[str, Arm] = {
    "alone": Arm("masked words alone"),
    "alone-100": Arm("masked words alone", mask=1.0),
    "next": Arm("masked words and next sentence", "random", 0.5),
    "next-100": Arm("masked words and next sentence", "random", 0.5, mask=1.0),
    "order": Arm("masked words and sentence order", wrong=0.5),
}

# Two ways to use an encoder for another task: fine-tuned, its labels read from the first token; and frozen, the mean of
# its states under a logistic regression. The second was added after the first arm had been fine-tuned (table.py).
TUNED, FROZEN = "tuned", "frozen"
WAYS = (TUNED, FROZEN)

# RANDOM is no arm: the weights that all arms begin with, fine-tuned as they are.
# What is fine-tuned on them, for fixed steps. Trained weights are larger than random ones, so that one learning rate is
# not the same to both: each arm has, for each task, the best of these on the last KEPT rows, trained on the rows before
# them with seed 0.
ROWS, KEPT, FINE_STEPS, FINE_LENGTH = 2000, 400, 250, 128
FINE_RATES = (3e-4, 1e-3, 3e-3)
TASKS: dict[str, Plan] = {
    "sst2": Plan("classify", learning_rate=FINE_RATES[0], length=FINE_LENGTH),
    "mrpc": Plan("classify", learning_rate=FINE_RATES[0], length=FINE_LENGTH, positive="1"),
}


def start() -> Path:
    """The random weights that all arms begin with: two layers of 128, ModernBERT's parts with BERT's two segments.

    BERT's own parts would stay at the frequencies of the words for all of ten minutes
    (decisions/2026-11-20-modernbert-for-short-runs.md).
    """
    folder = WORK / "start"
    if not folder.exists():
        tokenizer = books.learned_tokenizer()
        config = modernbert(size="tiny", vocabulary=tokenizer.vocabulary_size)
        assert config.encoder is not None
        embed = config.encoder.embed.model_copy(update={"segments": 2})
        config = config.model_copy(update={"encoder": config.encoder.model_copy(update={"embed": embed})})
        gf.Model(gf.build(config, seed=0), tokenizer).save(folder)
    return folder


def recipe(arm: Arm, steps: int) -> dict[str, Any]:
    """The recipe of an arm."""
    return {
        "task": arm.section.model_dump(),
        "data": {
            "files": list(books.sections()["train"].files),
            "validation": 0.0,
            "length": LENGTH,
            "cache": str(WORK / "cache"),
        },
        "model": {"start": str(start())},
        "train": {**TRAINING, "steps": steps},
    }


class Clock(ConsoleProgress):
    """Shows the progress and counts the processor's seconds of each step: what else runs on the machine takes none."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def training(self, steps: Iterator[Step]) -> Iterator[Step]:
        """The same steps, each counted."""
        began = time.process_time()
        for step in super().training(steps):
            self.seconds.append(time.process_time() - began)
            yield step
            began = time.process_time()


def planned(minutes: float | None) -> dict[str, float]:
    """`minutes` of one thread of the processor for each arm, `seconds` of a step, `steps` of each arm.

    Measured once, on the first steps of one arm, and kept: all arms have the same steps. Raises SystemExit where they
    are planned for other minutes.
    """
    path = WORK / STEPS
    if path.exists():
        known: dict[str, float] = read_json(path)
        if minutes not in (None, known["minutes"]):
            raise SystemExit(
                f"all arms have equal minutes: those in {WORK} have {known['minutes']:g}, and {minutes:g} were asked "
                f"for. Leave --minutes out, or remove {WORK}"
            )
        return known
    trial, clock = WORK / "trial", Clock()
    shutil.rmtree(trial, ignore_errors=True)
    gf.train(recipe(ARMS["next"], TIMED), out=trial, progress=clock)
    shutil.rmtree(trial)
    of_step = clock.seconds[FIRST:]
    seconds, minutes = sum(of_step) / len(of_step), MINUTES if minutes is None else minutes
    found = {"minutes": minutes, "seconds": seconds, "steps": max(1, round(60 * minutes / seconds))}
    write_json(path, found)
    return found
