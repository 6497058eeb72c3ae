"""The scores of all arms, from their answers alone.

R rows · P pairs · E examples
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from operator import eq
from typing import Any

import numpy as np

from experiments.encoder.measures import measure
from experiments.encoder.plan import RANDOM, read_lines
from experiments.pretraining import overfit, plan
from experiments.pretraining.arms import FACTS, HELD_OUT, folder_of, predictions_of, rate_of, records
from experiments.pretraining.plan import ARMS, WORK
from experiments.translation.plan import read_json
from glassformer.scoring.score import Interval, Measure

# One minus the other, each on the same examples.
COMPARED = (
    ("alone", RANDOM),
    ("next", "alone"),
    ("order", "alone"),
    ("order", "next"),
    ("alone", "alone-100"),
    ("next", "next-100"),
)


def scores() -> dict[str, Any]:
    """What has been measured so far. Of the seeds of the fine-tuning, as many as every arm has."""
    seeds = {way: {name: _seeds(name, way) for name in (RANDOM, *ARMS)} for way in plan.WAYS}
    common = {way: min((each for each in of.values() if each), default=0) for way, of in seeds.items()}
    measures = {
        way: {name: _measures(name, way, common[way]) for name, each in of.items() if each} for way, of in seeds.items()
    }
    arms = {name: _held_out(name) for name in ARMS if (folder_of(name) / FACTS).exists()}
    steps = read_json(WORK / plan.STEPS) if (WORK / plan.STEPS).exists() else {}
    minutes = f" --minutes {steps['minutes']:g}" if steps and steps["minutes"] != plan.MINUTES else ""
    if any(RANDOM in of for of in measures.values()):
        arms = {RANDOM: {"told": "random weights, fine-tuned alone", "masking": None}, **arms}
    for name, found in arms.items():
        found["command"] = f"python -m experiments.pretraining {name}" + minutes * (name != RANDOM)
        if common[plan.TUNED] and name in measures[plan.TUNED]:
            found["rates"] = {task: rate_of(name, task) for task in plan.TASKS}
        found["tasks"] = {
            way: {
                task: {**its.intervals()["accuracy"]._asdict(), **_of_seeds(name, task, way, common[way])}
                for task, its in of.get(name, {}).items()
            }
            for way, of in measures.items()
        }
    by_heart = WORK / "overfit" / overfit.FACTS
    return {
        **steps,
        "settings": {
            "length": plan.LENGTH,
            **plan.TRAINING,
            "rows": plan.ROWS,
            "fine_steps": plan.FINE_STEPS,
            "fine_rates": list(plan.FINE_RATES),
            "kept": plan.KEPT,
        },
        "seeds": common,
        "tested_on": {task: _of_labels(task) for task in plan.TASKS} if any(common.values()) else {},
        "arms": arms,
        "against": {way: _against(of) for way, of in measures.items()},
        "overfit": read_json(by_heart) if by_heart.exists() else None,
    }


def _against(measures: Mapping[str, Mapping[str, Measure]]) -> dict[str, Any]:
    """One arm minus another, where both are there."""
    return {
        f"{one} against {two}": {
            task: measures[one][task].compared(measures[two][task])["accuracy"]._asdict() for task in plan.TASKS
        }
        for one, two in COMPARED
        if one in measures and two in measures
    }


def _seeds(name: str, way: str) -> int:
    """With how many seeds, from 0 on, an arm has predicted for every task; nothing of a frozen one is drawn."""
    if way == plan.FROZEN:
        return int(all(predictions_of(name, task, way, 0).exists() for task in plan.TASKS))
    seed = 0
    while all(predictions_of(name, task, way, seed).exists() for task in plan.TASKS):
        seed += 1
    return seed


def _predicted(name: str, task: str, way: str, seed: int) -> list[Any]:
    return [line["predicted"] for line in read_lines(predictions_of(name, task, way, seed))]


def _measures(name: str, way: str, seeds: int) -> dict[str, Measure]:
    return {
        task: measure(its, records(task)[1], [_predicted(name, task, way, seed) for seed in range(seeds)])
        for task, its in plan.TASKS.items()
    }


def _of_seeds(name: str, task: str, way: str, seeds: int) -> dict[str, Any]:
    labels = [record["label"] for record in records(task)[1]]
    each = [statistics.mean(map(eq, _predicted(name, task, way, seed), labels)) for seed in range(seeds)]
    return {"of_seeds": each, "deviation": statistics.stdev(each) if len(each) > 1 else None}


def _of_labels(task: str) -> dict[str, Any]:
    """How many rows are tested on, and the share of them that has the most frequent label of the training rows."""
    train, test = ([record["label"] for record in part] for part in records(task))
    return {"rows": len(test), "chance": statistics.mean(label == statistics.mode(train) for label in test)}


def _held_out(name: str) -> dict[str, Any]:
    """What an arm answers on the books that were kept aside; an interval counts rows or pairs as they were drawn."""
    arm = ARMS[name]
    with np.load(folder_of(name) / HELD_OUT, allow_pickle=False) as found:
        values = {key: found[key] for key in found.files}
    return {
        "told": arm.told,
        "masking": arm.masking,
        "facts": read_json(folder_of(name) / FACTS),
        "words": {**words_of(values["words_right"], values["words"])._asdict(), "count": int(values["words"].sum())},
        "pairs": pairs_of(values["labels"], values["answers"]) if arm.pairs else None,
    }


def words_of(right: Any, count: Any) -> Interval:
    """The share of masked words that are right, from rows [R]."""
    counted = np.stack([right, count], axis=1).astype(np.float64)  # [R, 2]
    return Measure(counted, lambda sums: {"accuracy": sums[..., 0] / sums[..., 1]}).intervals()["accuracy"]


def pairs_of(labels: Any, answers: Any) -> dict[str, Any]:
    """Accuracy on pairs [P], chance (the share of their most frequent label), and the first minus the second."""
    frequent = int(np.bincount(labels, minlength=2).argmax())
    flags = np.stack([labels == answers, labels == frequent, np.ones_like(labels)], axis=1)  # [P, 3]
    found = Measure(
        flags.astype(np.float64),
        lambda sums: {
            "accuracy": sums[..., 0] / sums[..., 2],
            "above": (sums[..., 0] - sums[..., 1]) / sums[..., 2],
        },
    ).intervals()
    return {
        "count": len(labels),
        "accuracy": found["accuracy"]._asdict(),
        "chance": float((labels == frequent).mean()),
        "above": found["above"]._asdict(),
    }
