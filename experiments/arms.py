"""Changes of the recipe of `train masked-lm`, one at a time, on a small model: which deserves a trial at full size?

    python -m experiments.arms              # every arm that runs/arms/arms.jsonl does not have
    python -m experiments.arms baseline     # one of them, by its name in ARMS

Two layers of width 128, a vocabulary of 4,000 tokens from twenty of the books, rows of 64 tokens. Every arm reads as
many tokens as 400 steps of 32 rows; what depends on the time depends on the share of these tokens. Held out is the loss
at the same places of five other books for all arms, 15 % of their tokens. Equal tokens are compared, not equal times:
`seconds` is the processor time of a step. Two seeds do not tell what is chance: those of one arm were 0.18 apart
(decisions/2026-11-22-arms-of-masked-words.md).

B rows of a step · S tokens of a row
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.books import sections
from experiments.results import made_on
from glassformer.data.batches.order import Order
from glassformer.data.settings import CorpusSection
from glassformer.data.stores.corpus import prepare, training_texts
from glassformer.data.stores.store import TokenStore
from glassformer.models.families import modernbert
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer, build
from glassformer.runtime import compiler
from glassformer.runtime.device import choose_machine, repeatable
from glassformer.scoring.cross_entropy import cross_entropy
from glassformer.tasks.predictor import evaluating
from glassformer.tasks.words.corpus import HELD_OUT_EPOCH, MaskedRows
from glassformer.tasks.words.masked_lm.task import MaskedLMSection, masked_rows
from glassformer.text.load import load_tokenizer
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from glassformer.training.budget import Budget, RunProgress, Schedule
from glassformer.training.optimize import MovingAverage, Optimizers, build_optimizer
from glassformer.training.settings import TrainSection

BOOKS, VOCABULARY, LENGTH, BATCH, STEPS = 20, 4000, 64, 32, 400
TOKENS = STEPS * BATCH * LENGTH
HELD_OUT_ROWS, DATA_SEED = 1024, 2026
WORK = Path("runs/arms")
# Today's recipe, masked-lm-mini.toml.
RECIPE = {
    "steps": STEPS,
    "optimizer": "muon",
    "learning_rate": 3e-3,
    "matrix_learning_rate": 0.02,
    "newton_schulz_steps": 3,
    "warmup": 0.05,
}


@dataclass(frozen=True)
class Arm:
    """One change. `training` are settings of the `[train]` table; `words`, `vectors` and `head` multiply AdamW's rate
    for word vectors, for norms and biases, and for the head's matrix; `masked` is the share of masked tokens at the
    beginning and at the end; `phases` are the share of the tokens until which they last, the rows of a step, and the
    tokens of a row.
    """

    training: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    words: float = 1.0
    vectors: float = 1.0
    head: float = 1.0
    masked: tuple[float, float] = (0.3, 0.3)
    phases: tuple[tuple[float, int, int], ...] = ((1.0, BATCH, LENGTH),)


ARMS = {
    "baseline": Arm(),
    "baseline, seed 1": Arm(seed=1),
    "batch 16, 32, 64": Arm(phases=((0.25, 16, LENGTH), (0.75, 32, LENGTH), (1.0, 64, LENGTH))),
    "rows of 32, then 64": Arm(phases=((0.5, 64, 32), (1.0, BATCH, LENGTH))),
    "masked 0.4 to 0.15": Arm(masked=(0.4, 0.15)),
    "masked 0.4 to 0.15, seed 1": Arm(masked=(0.4, 0.15), seed=1),
    "word vectors x 0.3": Arm(words=0.3),
    "word vectors x 3": Arm(words=3.0),
    "norms and biases x 3": Arm(vectors=3.0),
    "head x 3": Arm(head=3.0),
    "Muon 0.01": Arm({"matrix_learning_rate": 0.01}),
    "Muon 0.03": Arm({"matrix_learning_rate": 0.03}),
    "Muon 0.03, seed 1": Arm({"matrix_learning_rate": 0.03}, seed=1),
    "Muon 0.05": Arm({"matrix_learning_rate": 0.05}),
    "decay 0.1": Arm({"decay": 0.1}),
    "cosine": Arm({"schedule": "cosine"}),
    "stable, decay over 0.3": Arm({"schedule": "warmup-stable-decay", "cooldown": 0.3}),
    "constant, averaged": Arm({"schedule": "constant", "ema": 0.98}),
    "linear, averaged": Arm({"ema": 0.98}),
    "warm-up 0.01": Arm({"warmup": 0.01}),
    "warm-up 0.15": Arm({"warmup": 0.15}),
}


def texts(name: str) -> CorpusSection:
    """Twenty of the training books, or the five held-out ones."""
    section = sections()["books" if name == "held out" else "train"]
    return section if name == "held out" else section.model_copy(update={"files": section.files[:BOOKS]})


def tokenizer() -> Tokenizer:
    """The vocabulary of all arms."""
    folder = WORK / "tokenizer"
    if not folder.exists():
        read = training_texts(texts("train"), {"validation": 0.0, "test": 0.0})
        train_tokenizer("wordpiece", read, vocabulary=VOCABULARY, lowercase=True).save(folder)
    return load_tokenizer(folder)


class Trial:
    """What all arms share: text, model and compiled step."""

    def __init__(self) -> None:
        self.tokenizer = tokenizer()
        self.stores: dict[str, TokenStore] = {
            name: prepare(texts(name), self.tokenizer, WORK / "cache").stores["train"] for name in ("train", "held out")
        }
        self.machine = choose_machine("cpu", "auto", None)
        self.config = modernbert(size="tiny", vocabulary=self.tokenizer.vocabulary_size)
        self.model = build(self.config).train()
        self.compiled = compiler.compiled(self.losses)

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        """The sum of the losses at the masked tokens."""
        with self.machine.context():
            logits = self.model(batch.inputs, scored_at=batch.scored_at, heads=("head",)).logits  # [N, V]
            return {"masked_words": cross_entropy(logits, batch.labels["masked_words"])}

    def rows(self, name: str, length: int, rate: float, seed: int) -> MaskedRows:
        """A text in rows of `length` tokens, of which the share `rate` is masked."""
        data = texts(name).model_copy(update={"length": length, "document_mask": False})
        return masked_rows(data, self.stores[name], self.tokenizer, MaskedLMSection(rate=rate), seed=seed)

    def batches(self, arm: Arm) -> Iterator[tuple[int, Batch]]:
        """The batches of an arm, and how many tokens there are up to and with each."""
        read = 0
        sources: dict[tuple[int, float], MaskedRows] = {}
        while read < TOKENS:
            done = read / TOKENS
            rows, length = next((rows, length) for until, rows, length in arm.phases if done < until)
            first, last = arm.masked
            rate = round(first + (last - first) * done, 2)
            if (length, rate) not in sources:
                sources[length, rate] = self.rows("train", length, rate, arm.seed)
            source = sources[length, rate]
            # One order of the rows for all shares of masked tokens; it goes on where another batch size begins.
            order = Order(len(source), rows, f"rows of {length}", arm.seed)
            examples, epochs = order.of_step(read // (rows * length))
            read += rows * length
            yield read, source.batch(examples, epochs, shape=(rows, length))

    def held_out(self) -> dict[str, float]:
        """Loss and accuracy at the held-out places."""
        source = self.rows("held out", LENGTH, 0.15, DATA_SEED)
        numbers = np.linspace(0, len(source) - 2, HELD_OUT_ROWS).astype(np.int64)
        loss, right, count = 0.0, 0, 0
        with evaluating(self.model):
            for part in np.array_split(numbers, HELD_OUT_ROWS // BATCH):
                batch = source.batch(part, np.full_like(part, HELD_OUT_EPOCH), shape=(len(part), LENGTH))
                logits = self.model(batch.inputs, scored_at=batch.scored_at, heads=("head",)).logits  # [N, V]
                labels = batch.labels["masked_words"]
                loss += float(cross_entropy(logits, labels))
                right += int((logits.argmax(-1) == labels).sum())
                count += int(batch.counts["masked_words"])
        return {"loss": loss / count, "accuracy": right / count, "places": count}

    def run(self, arm: Arm) -> dict[str, Any]:
        """Train with an arm from the beginning, and judge it."""
        settings = TrainSection(**{**RECIPE, **arm.training, "seed": arm.seed})
        self.model.load_state_dict(build(self.config, seed=arm.seed).state_dict())
        optimizer = build_optimizer(self.model, settings, products=self.machine.products)
        scale_apart(optimizer, self.model, arm)
        average = None if settings.ema is None else MovingAverage(self.model, settings.ema)
        schedule = Schedule.of(settings, Budget(TOKENS, None))  # in tokens, because steps have different sizes
        # Each share of masked tokens is another shape, too many to compile.
        losses_of = self.compiled if arm.masked[0] == arm.masked[1] else self.losses
        seconds, losses = [], []
        with repeatable(self.machine):
            for step, (read, batch) in enumerate(self.batches(arm), start=1):
                began = time.process_time()
                loss = losses_of(batch)["masked_words"] / batch.counts["masked_words"]
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip or float("inf"))
                rate = settings.rate * schedule(RunProgress(step=read - 1))
                for group in optimizer.param_groups:
                    group["lr"] = rate * group["scale"]
                optimizer.step()
                optimizer.zero_grad()
                losses.append(float(loss.detach()))
                if average is not None:
                    average.update(self.model, step)
                seconds.append(time.process_time() - began)
                if step % 50 == 0:
                    print(f"step {step}: {statistics.mean(losses[-50:]):.3f}", file=sys.stderr, flush=True)
        scores = self.held_out()
        if average is not None:
            average.copy_to(self.model)
            scores["loss of the average"] = self.held_out()["loss"]
        fifths = [statistics.mean(part) for part in np.array_split(losses, 5)]
        return {**scores, "steps": step, "seconds": statistics.median(seconds), "training losses": fifths}


def scale_apart(optimizer: Optimizers, model: Transformer, arm: Arm) -> None:
    """Give word vectors, vectors and the head's matrix, which AdamW trains, groups of their own with their rates."""
    names = {parameter: name for name, parameter in model.named_parameters()}

    def factor(parameter: nn.Parameter) -> float:
        if parameter.dim() == 1:
            return arm.vectors
        return arm.words if "embed" in names[parameter] else arm.head

    for one in optimizer.each:
        if not isinstance(one, torch.optim.AdamW):
            continue
        whole, one.param_groups = one.param_groups, []
        for group in whole:
            for parameter in group["params"]:
                apart = {**group, "params": [parameter], "scale": group["scale"] * factor(parameter)}
                one.add_param_group(apart)


def main(names: list[str]) -> None:
    """Run these arms, or all that have not been run; one line of JSON each."""
    written = WORK / "arms.jsonl"
    WORK.mkdir(parents=True, exist_ok=True)
    known = [json.loads(line)["name"] for line in written.read_text().splitlines()] if written.exists() else []
    trial = Trial()
    for name in names or [name for name in ARMS if name not in known]:
        row = {"name": name, **made_on(), **trial.run(ARMS[name])}
        with written.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{name}: held out {row['loss']:.3f}, {row['seconds']:.3f} s of processor a step")


if __name__ == "__main__":
    main(sys.argv[1:])
