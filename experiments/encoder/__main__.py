"""One row of the encoder's tables: trained, asked, scored, and written to docs/results/encoder-SET.json.

    python -m experiments.encoder sst2 ours       # or: peer, random, majority, tf-idf, crf; --seed 1
    python -m experiments.encoder sst2 scores     # the scores again, from what was predicted

A seed above 0 whose run with seed 0 is not here has a file of its own, encoder-SET-seed-N.json.
Each row is resumable: the same command goes on where it was stopped, and does nothing when it is done.
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments import results
from experiments.encoder import counted
from experiments.encoder.measures import measure, verdict
from experiments.encoder.plan import PLAIN, PLANS, RANDOM, WORK, Plan, read_lines, run_folder, write_lines
from experiments.encoder.sets import SETS, Record, Splits

PEER, OURS, SCORES = "peer", "ours", "scores"
# The peer of a number learns (number − mean) / deviation, as ours does; its own way is the number as it is.
SCALED = "peer-scaled"
PREDICTED, FACTS = "predictions.jsonl", "facts.json"


def run(name: str, side: str, seed: int) -> None:
    """Train one side with one seed and write what it predicts for the test records; nothing where that is there."""
    plan, folder = PLANS[name], run_folder(name, side, seed)
    if (folder / PREDICTED).exists():
        return
    splits = SETS[name]()
    folder.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {}
    if side == SCALED:
        numbers = np.array([record["label"] for record in splits.train])
        mean, deviation = float(numbers.mean()), float(numbers.std())
        train = [{**record, "label": (record["label"] - mean) / deviation} for record in splits.train]
        scaled, facts = _peer(plan, splits._replace(train=train), folder, seed)
        found = [mean + deviation * number for number in scaled]
    elif side == PEER:
        found, facts = _peer(plan, splits, folder, seed)
    elif side in counted.KNOWN[plan.kind]:
        found = counted.predict(plan, side, splits.train, splits.test)
    else:
        found, facts = _ours(name, plan, splits, folder, seed, side)
    facts = {**facts, **results.made_on()}
    (folder / FACTS).write_text(json.dumps(facts, indent=2), encoding="utf-8")
    write_lines(
        folder / PREDICTED,
        ({"id": record["id"], "predicted": each} for record, each in zip(splits.test, found, strict=True)),
    )


def _peer(plan: Plan, splits: Splits, folder: Path, seed: int) -> tuple[list[Any], dict[str, Any]]:
    import transformers

    from experiments.encoder.peer import Peer

    start = None if plan.start is None else run_folder(plan.start, PEER, seed) / "model"
    peer = Peer(plan, splits.train, seed=seed, start=start)
    seconds = peer.train(splits.train, folder / "run")
    peer.model.save_pretrained(folder / "model")
    if splits.validation:
        peer.choose_threshold(splits.validation)
    return peer.predict(splits.test), {"seconds": seconds, "transformers": transformers.__version__}


def _ours(
    name: str, plan: Plan, splits: Splits, folder: Path, seed: int, side: str
) -> tuple[list[Any], dict[str, Any]]:
    from experiments.encoder import ours

    start = None if plan.start is None else run_folder(plan.start, side, seed) / "model"
    files = files_of(name, plan, splits, WORK / name)
    out = run_folder(name, OURS, seed) if side == PLAIN else folder
    model = ours.train(plan, files, out / "model", seed=seed, side=side, start=start)
    metrics = model.metrics or {}
    return ours.predict(plan, model, splits.test, side=side), {
        "seconds": metrics.get("seconds"),
        "steps": metrics.get("steps"),
    }


def files_of(name: str, plan: Plan, splits: Splits, folder: Path) -> dict[str, Any]:
    """The training records as a file that our side reads, with the names of its columns."""
    files: dict[str, Any] = {"files": [str(write_lines(folder / "train.jsonl", splits.train))]}
    if splits.validation:
        files["validation_files"] = [str(write_lines(folder / "validation.jsonl", splits.validation))]
    if "pair" in splits.train[0]:
        files["pair"] = "pair"
    if plan.kind == "several":
        files["label"] = "labels"
    return files


def scores(name: str, seeds: Sequence[int] = range(10)) -> dict[str, Any]:
    """The scores of every side that has predicted, over its seeds, and of ours against the peer's."""
    plan, test = PLANS[name], SETS[name]().test
    sides: dict[str, dict[str, Any]] = {}
    measures = {}
    for side in (OURS, *plan.variants, RANDOM, PEER, SCALED, *counted.KNOWN[plan.kind]):
        found = {
            seed: run_folder(name, side, seed) for seed in seeds if (run_folder(name, side, seed) / PREDICTED).exists()
        }
        if not found:
            continue
        predicted = [[line["predicted"] for line in read_lines(folder / PREDICTED)] for folder in found.values()]
        measures[side] = measure(plan, test, predicted)
        each = [measure(plan, test, [one]).values() for one in predicted]
        sides[side] = {
            "command": f"python -m experiments.encoder {name} {side}",
            "seeds": list(found),
            "scores": {
                score: {
                    "value": value.value,
                    "low": value.low,
                    "high": value.high,
                    "of_seeds": [one[score] for one in each],
                    "deviation": statistics.stdev(one[score] for one in each) if len(each) > 1 else None,
                }
                for score, value in measures[side].intervals().items()
            },
            "facts": [json.loads((folder / FACTS).read_text(encoding="utf-8")) for folder in found.values()],
        }
    against = {
        f"{one} against {two}": {
            score: {**difference._asdict(), "verdict": verdict(difference)}
            for score, difference in measures[one].compared(measures[two]).items()
        }
        for one, two in (
            (OURS, PEER),
            (OURS, SCALED),
            *((variant, PEER) for variant in plan.variants),
            (OURS, RANDOM),
            (OURS, counted.TFIDF),
        )
        if one in measures and two in measures
    }
    settings = {
        key: getattr(plan, key)
        for key in ("kind", "epochs", "learning_rate", "batch", "length", "positive", "start", "grouped")
    }
    return {
        "settings": settings,
        "tested_on": len(test),
        "sides": sides,
        "against": against,
        **_errors(name, plan, test),
    }


def _errors(name: str, plan: Plan, test: list[Record]) -> dict[str, Any]:
    """Of a set with a positive label, the rows that ours with the first seed takes for the other label."""
    path = run_folder(name, OURS, 0) / PREDICTED
    if name != "sms_spam" or not path.exists():
        return {}
    return {
        "errors": [
            {"text": record["text"], "label": record["label"], "predicted": line["predicted"]}
            for record, line in zip(test, read_lines(path), strict=True)
            if record["label"] != line["predicted"]
        ]
    }


def main() -> None:
    """One command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=list(PLANS))
    parser.add_argument("side", help=f"{OURS}, {PEER}, {RANDOM}, a variant, or {SCORES}")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    plan = PLANS[given.set]
    scaled = (SCALED,) if plan.kind == "regress" else ()
    known = (OURS, PEER, *scaled, RANDOM, SCORES, *plan.variants, *counted.KNOWN[plan.kind])
    if given.side not in known:
        parser.error(f"{given.side} is none of {', '.join(known)}")
    started = time.monotonic()
    if given.side != SCORES:
        run(given.set, given.side, given.seed)
    apart = given.seed and not list((WORK / given.set).glob(f"*-0/{PREDICTED}"))
    seeds, file = ((given.seed,), f"-seed-{given.seed}") if apart else (range(10), "")
    command = f"python -m experiments.encoder {given.set} scores{f' --seed {given.seed}' if apart else ''}"
    path = results.write(f"encoder-{given.set}{file}", command, scores(given.set, seeds))
    print(f"{path}: {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
