"""One arm: trained, judged on books that were kept aside, and fine-tuned for two other tasks.

R rows · A places of a row, masked words among them · P pairs · E examples · W width
"""

from __future__ import annotations

import statistics
from functools import cache
from itertools import product
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import glassformer as gf
from experiments import books, results
from experiments.encoder import sets
from experiments.encoder.plan import RANDOM, write_lines
from experiments.pretraining import plan
from experiments.pretraining.plan import ARMS, LENGTH, WORK
from experiments.translation.plan import read_json, write_json
from glassformer.data.batches.corrupt import IGNORED, MaskingSection
from glassformer.data.batches.pairs import SentencePairs
from glassformer.data.stores.corpus import prepare
from glassformer.tasks.words.corpus import MaskedRows
from glassformer.tasks.words.masked_words import answered

FACTS, HELD_OUT, PREDICTED, RATES = "facts.json", "held-out.npz", "predictions.jsonl", "rates.json"
# Rows and pairs of the held-out books, drawn once for all arms.
WORD_ROWS, PAIRS, SEED = 2048, 4000, 2026


def folder_of(name: str) -> Path:
    """Where an arm keeps its run, its answers on the held-out books, and its fine-tuned models' predictions."""
    return WORK / name


def predictions_of(name: str, task: str, way: str, seed: int) -> Path:
    """What an arm, used in this way with this seed, predicts."""
    return folder_of(name) / (f"{task}-{seed}" if way == plan.TUNED else f"{task}-{way}") / PREDICTED


def run(name: str, minutes: float | None, seeds: int) -> None:
    """Train, judge and fine-tune an arm, or what is missing of this; random weights are fine-tuned alone."""
    if name != RANDOM:
        pretrain(name, minutes)
    for seed, task in product(range(seeds), plan.TASKS):
        tune(name, task, seed)
    for task in plan.TASKS if seeds else ():
        probe(name, task)


def pretrain(name: str, minutes: float | None) -> None:
    """The steps of an arm, and its answers on the held-out books; nothing where these are there."""
    arm, folder = ARMS[name], folder_of(name)
    planned = plan.planned(minutes)
    if (folder / FACTS).exists():
        return
    out, clock = folder / "model", plan.Clock()
    resumed = (out / "recipe.toml").exists()
    steps = int(planned["steps"])
    if resumed:
        model = gf.train(out=out, resume=True, progress=clock)
    else:
        model = gf.train(plan.recipe(arm, steps), out=out, progress=clock)
    np.savez(folder / HELD_OUT, **judged(model, arm))
    facts = {
        **planned,
        # Of one thread. Unknown where the run was stopped in between.
        "processor_seconds": None if resumed else sum(clock.seconds),
        "parameters": sum(each.numel() for each in model.module.parameters()),
        **results.made_on(),
    }
    write_json(folder / FACTS, facts)


def judged(model: gf.Model, arm: plan.Arm) -> dict[str, Any]:
    """On the held-out books: of each row [R] how many masked words there are and how many are right, the same places
    for all arms, all of them [MASK]; and of pairs as the arm learns them [P] the label and the answer.
    """
    tokenizer = model.tokenizer
    store = prepare(books.sections()["books"], tokenizer, WORK / "cache").stores["train"]

    def rows(section: MaskingSection, *, wrong: float, swapped: bool) -> MaskedRows:
        pairs = SentencePairs.prepare(store, tokenizer, LENGTH, seed=SEED, unrelated=wrong, swapped=swapped)
        return MaskedRows(pairs, tokenizer, section, seed=SEED, labels={"next_sentence": pairs.labels})

    right, count = [], []
    all_masks = MaskingSection(mask=1.0, random=0.0, keep=0.0)
    words = rows(all_masks, wrong=0.0, swapped=True)
    for batch, output in answered(model.module, words, heads=("head",), limit=WORD_ROWS):
        assert output.logits is not None
        labels = batch.labels["masked_words"].reshape(len(batch.labels["next_sentence"]), -1)  # [R, A]
        found = output.logits.argmax(-1).cpu().reshape(labels.shape)  # [R, A]
        right.append(((found == labels) & (labels != IGNORED)).sum(1))  # [R]
        count.append((labels != IGNORED).sum(1))  # [R]
    values: dict[str, Any] = {"words_right": torch.cat(right).numpy(), "words": torch.cat(count).numpy()}
    if arm.pairs:
        pairs = rows(arm.section, wrong=arm.wrong, swapped=arm.negatives == "swapped")
        kinds, answers = [], []
        for batch, output in answered(model.module, pairs, heads=("sentence_head",), limit=PAIRS):
            assert output.sentence_logits is not None
            kinds.append(batch.labels["next_sentence"])  # [P]
            answers.append(output.sentence_logits.argmax(-1).cpu())  # [P]
        values |= {"labels": torch.cat(kinds).numpy(), "answers": torch.cat(answers).numpy()}
    return values


def encoder_of(name: str) -> Path:
    """The model of an arm, or the weights that all begin with."""
    return plan.start() if name == RANDOM else folder_of(name) / "model"


def tune(name: str, task: str, seed: int) -> None:
    """Fine-tune an arm's encoder, or the random weights, and write what it predicts; nothing where that is there."""
    path = predictions_of(name, task, plan.TUNED, seed)
    if path.exists():
        return
    train, test = records(task)
    keep(path, test, tuned(path.parent / "model", name, task, train, test, rate_of(name, task), seed))


def rate_of(name: str, task: str) -> float:
    """The learning rate that an arm is fine-tuned with: the best on rows kept aside, the smallest of equals."""
    path = folder_of(name) / f"{task}-{RATES}"
    right: dict[str, float] = read_json(path) if path.exists() else {}
    train, _ = records(task)
    train, kept = train[: -plan.KEPT], train[-plan.KEPT :]
    for rate in plan.FINE_RATES:
        if f"{rate:g}" not in right:
            predicted = tuned(folder_of(name) / "trials" / f"{task}-{rate:g}", name, task, train, kept, rate, seed=0)
            labels = [record["label"] for record in kept]
            right[f"{rate:g}"] = statistics.mean(map(eq, predicted, labels))
            write_json(path, right)
    return float(max(right, key=lambda rate: (right[rate], -float(rate))))


def tuned(
    out: Path, name: str, task: str, train: list[sets.Record], test: list[sets.Record], rate: float, seed: int
) -> list[str]:
    """Fine-tune an arm's encoder into the run `out`, which is resumed where it has begun; what it predicts."""
    if (out / "recipe.toml").exists():
        model = gf.train(out=out, resume=True)
    else:
        model = gf.train("classify", out=out, set=fine_settings(task, train, encoder_of(name), rate, seed))
    pairs = [record["pair"] for record in test] if "pair" in test[0] else None
    return [each.label for each in model.classify([record["text"] for record in test], pairs)]


def probe(name: str, task: str) -> None:
    """The frozen states of an arm's encoder under a logistic regression, and what that predicts; nothing where that is
    there.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    path = predictions_of(name, task, plan.FROZEN, 0)
    if path.exists():
        return
    model, (train, test) = gf.load(encoder_of(name), device="cpu"), records(task)
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    regression.fit(vectors(model, train), [record["label"] for record in train])
    keep(path, test, regression.predict(vectors(model, test)).tolist())


def vectors(model: gf.Model, rows: list[sets.Record]) -> npt.NDArray[np.float32]:
    """The mean of the last states of each text [E, W]; of a pair |u − v| and u · v of its two means [E, 2 W] (Conneau &
    Kiela 2018).
    """
    first: npt.NDArray[np.float32] = model.embed([row["text"] for row in rows])
    if "pair" not in rows[0]:
        return first
    second: npt.NDArray[np.float32] = model.embed([row["pair"] for row in rows])
    return np.concatenate([np.abs(first - second), first * second], axis=1)  # [E, 2 W]


def keep(path: Path, test: list[sets.Record], predicted: list[str]) -> None:
    """Write predictions as lines."""
    write_lines(path, ({"id": record["id"], "predicted": each} for record, each in zip(test, predicted, strict=True)))


def fine_settings(task: str, train: list[sets.Record], start: Path, rate: float, seed: int) -> dict[str, Any]:
    """What `train classify` is told."""
    its = plan.TASKS[task]
    return {
        "data.files": [str(write_lines(WORK / f"{task}-{len(train)}.jsonl", train))],
        **({"data.pair": "pair"} if "pair" in train[0] else {}),
        "data.validation": 0.0,
        "data.length": its.length,
        "model.start": str(start),
        "train.steps": plan.FINE_STEPS,
        "train.batch": its.batch,
        "train.learning_rate": rate,
        "train.compile": "off",
        "train.threads": 1,
        "train.seed": seed,
    }


@cache
def records(task: str) -> tuple[list[sets.Record], list[sets.Record]]:
    """The first 2,000 rows that are learned from, and those that are tested on."""
    found = sets.SETS[task]()
    return found.train[: plan.ROWS], found.test
