"""One arm of the tables of transfer: trained, asked, and written to docs/results/transfer-sst2.json or -words.json.

    python -m experiments.transfer head                # one of ARMS; --seed 1
    python -m experiments.transfer words student       # or: words layers; masked words, from the package's `english`
    python -m experiments.transfer scores              # the scores again, from what was predicted

Each arm is one process and resumable: the same command goes on where it was stopped, and does nothing when it is done.
The student's teacher is the arm `all` of the same seed, which it trains first where that is not done.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import glassformer as gf
from experiments import results
from experiments.encoder.measures import measure
from experiments.encoder.plan import Plan, encoder_folder, read_lines, write_lines
from experiments.encoder.sets import Record, sst2

WORK = Path("runs/transfer")
ROWS, EPOCHS, BATCH, LENGTH = 2000, 2, 32, 128
STUDENT_LAYERS = 3
# The usual rates of each way, chosen before anything was measured and not searched.
RATE, LARGE_RATE = 1e-4, 1e-3
LOWER = ["encoder.embed.*", *(f"encoder.blocks.{block}.*" for block in range(3))]
EVERY_LAYER = ["*.query", "*.key", "*.value", "*.output", "*.hidden"]
PLAN = Plan("classify", epochs=EPOCHS, learning_rate=RATE)


@dataclass(frozen=True)
class Arm:
    """What differs: settings of the recipe, and whether it is a student, which begins with layers of the teacher."""

    told: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    rate: float = RATE
    student: bool = False


ARMS: dict[str, Arm] = {
    "head": Arm("the head alone", {"tune.freeze": ["all-but-head"]}, LARGE_RATE),
    "upper": Arm("the upper three blocks and the head", {"tune.freeze": LOWER}),
    "gradually": Arm("one block more after another", {"tune.freeze": ["gradually"]}),
    "all": Arm("everything"),
    "decay": Arm("everything, layer decay 0.8", {"tune.layer_decay": 0.8}),
    "adapters": Arm("adapters of rank 8 at query and value", {"tune.adapters.rank": 8}, LARGE_RATE),
    "adapters-all": Arm(
        "adapters of rank 8 at all layers", {"tune.adapters.rank": 8, "tune.adapters.layers": EVERY_LAYER}, LARGE_RATE
    ),
    "student": Arm("a student of 3 layers, taught by `everything`", student=True),
    "layers": Arm("the same 3 layers, from the labels alone", {"distil.soft": 0.0, "distil.cosine": 0.0}, student=True),
}  # fmt: skip
PREDICTED, FACTS = "predictions.jsonl", "facts.json"


def folder_of(arm: str, seed: int) -> Path:
    """Where an arm keeps its run and what it predicted."""
    return WORK / f"{arm}-{seed}"


def rows() -> tuple[list[Record], list[Record]]:
    """The first 2,000 rows of the training part, and the development part."""
    found = sst2()
    return found.train[:ROWS], found.test


def run(name: str, seed: int) -> None:
    """Train an arm and write what it predicts; nothing where that is there."""
    arm, folder = ARMS[name], folder_of(name, seed)
    if (folder / PREDICTED).exists():
        return
    train, test = rows()
    out, teacher = folder / "model", folder_of("all", seed) / "model"
    if arm.student and not (folder_of("all", seed) / PREDICTED).exists():
        run("all", seed)
    resumed = (out / "recipe.toml").exists()
    changes: dict[str, Any] = {
        "data.files": [str(write_lines(WORK / "train.jsonl", train))],
        "data.validation": 0.0,
        "data.length": LENGTH,
        "train.epochs": EPOCHS,
        "train.batch": BATCH,
        "train.learning_rate": arm.rate,
        "train.compile": "off",
        "train.seed": seed,
        **arm.settings,
        **(
            {"distil.teacher": str(teacher), "distil.layers": STUDENT_LAYERS}
            if arm.student
            else {"model.start": str(encoder_folder())}
        ),
    }
    began = time.process_time()
    model = gf.train(out=out, resume=True) if resumed else gf.train("classify", out=out, set=changes)
    seconds = time.process_time() - began
    facts = {
        # Of one thread: what else runs on the machine does not count. Unknown where the run was stopped in between.
        "processor_seconds": None if resumed else seconds,
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "steps": model.metrics["steps"],
        "trained_parameters": model.metrics.get("trained_parameters", count(model)),
        "parameters": count(model),
        "changed": None if arm.student else changed(model),
        **results.made_on(),
    }
    began = time.process_time()
    answers = model.classify([record["text"] for record in test])
    facts["processor_seconds_of_answers"] = time.process_time() - began
    (folder / FACTS).write_text(json.dumps(facts, indent=2), encoding="utf-8")
    write_lines(
        folder / PREDICTED,
        ({"id": record["id"], "predicted": each.label} for record, each in zip(test, answers, strict=True)),
    )


def count(model: gf.Model) -> int:
    """The parameters of a model."""
    return sum(each.numel() for each in model.module.parameters())


def changed(model: gf.Model) -> int:
    """How many numbers of the encoder are not those that it began with."""
    start = gf.load(encoder_folder(), device="cpu").module.state_dict()
    return sum(
        int((tensor != start[name]).sum())
        for name, tensor in model.module.state_dict().items()
        if name.startswith("encoder.") and name in start
    )


def scores() -> dict[str, Any]:
    """The scores of every arm that has predicted, over its seeds, and against everything tuned."""
    _, test = rows()
    arms: dict[str, dict[str, Any]] = {}
    measures = {}
    for name, arm in ARMS.items():
        found = {seed: folder_of(name, seed) for seed in range(10) if (folder_of(name, seed) / PREDICTED).exists()}
        if not found:
            continue
        predicted = [[line["predicted"] for line in read_lines(folder / PREDICTED)] for folder in found.values()]
        measures[name] = measure(PLAN, test, predicted)
        each = [measure(PLAN, test, [one]).values()["accuracy"] for one in predicted]
        accuracy = measures[name].intervals()["accuracy"]
        arms[name] = {
            "told": arm.told,
            "command": f"python -m experiments.transfer {name}",
            "rate": arm.rate,
            "seeds": list(found),
            "accuracy": accuracy._asdict(),
            "of_seeds": each,
            "deviation": statistics.stdev(each) if len(each) > 1 else None,
            "facts": [json.loads((folder / FACTS).read_text(encoding="utf-8")) for folder in found.values()],
        }
    against = {
        f"{one} against {two}": measures[one].compared(measures[two])["accuracy"]._asdict()
        for one, two in (*((name, "all") for name in ARMS if name != "all"), ("student", "layers"))
        if one in measures and two in measures and len(arms[one]["seeds"]) == len(arms[two]["seeds"])
    }
    return {"rows": ROWS, "epochs": EPOCHS, "batch": BATCH, "tested_on": len(test), "arms": arms, "against": against}


# --------------------------------------------------------------------------- masked words

WORDS, STEPS = {"student": {}, "layers": {"distil.soft": 0.0, "distil.cosine": 0.0}}, 300


def words(name: str) -> None:
    """Three layers of `english`, taught by it or by masked words alone; judged on held-out documents of its text."""
    folder = WORK / f"words-{name}"
    if (folder / FACTS).exists():
        return
    changes: dict[str, Any] = {
        "data.files": [str(results.data_directory() / "text_books")],
        "distil.teacher": "english",
        "distil.layers": STUDENT_LAYERS,
        "model": {},
        "tokenizer": {},
        "train.steps": STEPS,
        "train.minutes": None,
        "train.compile": "off",
        "train.batch": BATCH,
        **WORDS[name],
    }
    out = folder / "model"
    began = time.process_time()
    resumed = (out / "recipe.toml").exists()
    model = gf.train(out=out, resume=True) if resumed else gf.train("masked-lm-mini", out=out, set=changes)
    facts = {
        "processor_seconds": None if resumed else time.process_time() - began,
        "parameters": count(model),
        "scores": {key: model.metrics["scores"][key] for key in ("loss", "accuracy", "targets")},
        "teacher": model.metrics["teacher"],
        **results.made_on(),
    }
    (folder / FACTS).write_text(json.dumps(facts, indent=2), encoding="utf-8")


def word_scores() -> dict[str, Any]:
    """Both ways, where they have been run."""
    found = {name: WORK / f"words-{name}" / FACTS for name in WORDS}
    return {
        "steps": STEPS,
        "arms": {name: json.loads(path.read_text(encoding="utf-8")) for name, path in found.items() if path.exists()},
    }


def main() -> None:
    """One command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arm", choices=[*ARMS, "words", "scores"])
    parser.add_argument("way", nargs="?", choices=list(WORDS), help="of words")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if (given.arm == "words") != (given.way is not None):
        parser.error("words needs a way; the others none")
    torch.set_num_threads(1)  # so that the processor's seconds are those of one core
    if given.arm == "words":
        words(given.way)
    elif given.arm != "scores":
        run(given.arm, given.seed)
    command = "python -m experiments.transfer scores"
    if (found := scores())["arms"]:
        print(results.write("transfer-sst2", command, found), file=sys.stderr)
    if (found := word_scores())["arms"]:
        print(results.write("transfer-words", command, found), file=sys.stderr)


if __name__ == "__main__":
    main()
