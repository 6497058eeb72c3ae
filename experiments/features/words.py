"""X-11: six strategies for the vector of a word and a learned mix, under two heads; the encoder stays as it is.

Each head of each seed is kept with what it predicted; a command that was stopped goes on after those.

E sentences · N words of all sentences of a part · W width of a layer · F numbers of a vector
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from experiments.encoder import sets
from experiments.encoder.measures import measure
from experiments.encoder.plan import PLANS
from experiments.encoder.sets import Record
from experiments.features.heads import BATCH, EPOCHS, LINEAR, RECURRENT, learn, likeliest
from glassformer.features.strategies import SIX, resolve
from glassformer.scoring.score import Measure

Name = Literal["wnut17", "pos"]
Made = Callable[[str, Callable[[], dict[str, Any]]], Path]

# The score of each set, and how many of its sentences are learned from: as many as wnut17 has.
SETS: dict[Name, str] = {"wnut17": "entity F1", "pos": "accuracy"}
LEARNED = 3394
POOLING = "first"
MIX, CLAIMED = "mix", "concat-last-4"
STRATEGIES = (*SIX, MIX)
HEADS = (LINEAR, RECURRENT)
SEEDS = (0, 1, 2)
# Tried on the development part with the first seed. A linear head has the best one of its own strategy; the BiLSTM, for
# the time that it takes, that of one strategy.
RATES = {LINEAR: (1e-3, 3e-3, 1e-2, 3e-2), RECURRENT: (1e-3, 3e-3)}
CHOSEN_FOR = {LINEAR: None, RECURRENT: "last"}


class Part(NamedTuple):
    """The sentences of a part and the vectors of their words, [N, F]."""

    records: Sequence[Record]
    vectors: Tensor

    @property
    def lengths(self) -> list[int]:
        """The words of each sentence, [E]."""
        return [len(record["words"]) for record in self.records]


class Vectors(NamedTuple):
    """What one strategy makes of a set, each number brought to mean 0 and deviation 1 over the words learned from;
    `mixed`: how many layers stand side by side because their mix is learned, else 0.
    """

    parts: dict[str, Part]
    mixed: int


class Tagged(NamedTuple):
    """The tags predicted for each sentence, and the shares of the layers where a mix was learned."""

    tags: list[list[str]]
    shares: list[float] | None


@dataclass(frozen=True)
class Bench:
    """One set, its sentences by part, and the file with the layers of its words."""

    name: Name
    folder: Path
    records: Mapping[str, Sequence[Record]]
    layers: Path

    @property
    def tags(self) -> list[str]:
        """All tags of the training part."""
        return sorted({tag for record in self.records["train"] for tag in record["tags"]})

    def vectors(self, strategy: str) -> Vectors:
        """The vectors of one strategy, from the layers that are kept."""
        with np.load(self.layers) as kept:
            blocks = sum(name.startswith("train.") for name in kept.files) - 1
            chosen = resolve(f"concat:0..{blocks}" if strategy == MIX else strategy, blocks)
            joined = {
                part: chosen.joined({layer: torch.from_numpy(kept[f"{part}.{layer}"]) for layer in chosen.layers})
                for part in self.records
            }  # [N, F] each
        mean, deviation = joined["train"].mean(dim=0), joined["train"].std(dim=0).clamp(min=1e-8)  # [F]
        parts = {part: Part(self.records[part], (of - mean) / deviation) for part, of in joined.items()}
        return Vectors(parts, blocks + 1 if strategy == MIX else 0)

    def tagged(self, head: str, vectors: Vectors, part: str, rate: float, seed: int) -> Tagged:
        """What a head predicts for a part, after it has learned from the training part."""
        train, asked, tags = vectors.parts["train"], vectors.parts[part], self.tags
        right = torch.tensor([tags.index(tag) for record in train.records for tag in record["tags"]])  # [N]
        fitted = learn(
            head, train.vectors, train.lengths, right, count=len(tags), rate=rate, seed=seed, mixed=vectors.mixed
        )
        found = likeliest(fitted, asked.vectors, asked.lengths).split(asked.lengths)
        shares = None if fitted.mixing is None else fitted.mixing.shares.softmax(dim=0).tolist()
        return Tagged([[tags[number] for number in sentence.tolist()] for sentence in found], shares)

    def score(self, part: str, tags: Sequence[Sequence[str]]) -> float:
        """That of the set."""
        return measure(PLANS[self.name], self.records[part], [tags]).values()[SETS[self.name]]

    def rate(self, head: str, strategy: str, vectors: Vectors) -> float:
        """The rate that is best on the development part; `vectors` are those of the strategy."""
        of = CHOSEN_FOR[head] or strategy
        scores = {}
        for rate in RATES[head]:
            path = _tried(self.folder, self.name, head, of, rate)
            if not path.exists():
                vectors = vectors if of == strategy else self.vectors(of)
                found = self.tagged(head, vectors, "dev", rate, SEEDS[0])
                _write(path, {"score": self.score("dev", found.tags)})
                print(f"{self.name} {head} {of}, rate {rate:g}: {_read(path)['score']:.4f} (development)", flush=True)
            scores[rate] = _read(path)["score"]
        return max(scores, key=scores.__getitem__)


def learned(name: Name, folder: Path, made: Made, encoder: Callable[[], Any]) -> None:
    """Every head of every strategy and seed, each kept in `folder` as soon as it has predicted."""
    found = sets.SETS[name]()
    records = {"train": found.train[:LEARNED], "dev": sets.development(name), "test": found.test}
    bench = Bench(name, folder, records, made(f"words-{name}", lambda: layers_of(encoder(), records)))
    for head in HEADS:
        for strategy in STRATEGIES:
            asked = [seed for seed in SEEDS if not _predicted(folder, name, head, strategy, seed).exists()]
            if asked:
                vectors = bench.vectors(strategy)
                rate = bench.rate(head, strategy, vectors)
            for seed in asked:
                began = time.process_time()
                tags, shares = bench.tagged(head, vectors, "test", rate, seed)
                seconds = time.process_time() - began
                kept = {"rate": rate, "processor_seconds": seconds, "shares": shares, "predicted": tags}
                _write(_predicted(folder, name, head, strategy, seed), kept)
                score = bench.score("test", tags)
                print(f"{name} {head} {strategy}, seed {seed}: {score:.4f}, {seconds:.0f} s", flush=True)


def layers_of(model: Any, records: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    """The vectors [N, W] of each layer, by `part.layer`, all in one pass: those of each word's first token."""
    from glassformer.features.embed import embed, vectors_of
    from glassformer.features.vectors import blocks_of

    names = [str(layer) for layer in range(blocks_of(model.module) + 1)]
    maker = vectors_of(model, names, [POOLING], words=True)
    found = {}
    for part, of in records.items():
        each = list(embed(model, maker, (({"words": record["words"]}, "") for record in of), fast=False))
        for layer in names:
            found[f"{part}.{layer}"] = np.concatenate([text.vectors[f"{layer}.{POOLING}"] for text in each])  # [N, W]
    return found


def scored(name: Name, folder: Path) -> dict[str, Any] | None:
    """The scores of every strategy whose seeds are all there, and how it stands to others; None where there is none."""
    test = sets.SETS[name]().test
    heads = {head: found for head in HEADS if (found := _scored(name, head, folder, test))}
    if not heads:
        return None
    return {
        "pooling": POOLING,
        "score": SETS[name],
        "learned_from": LEARNED,
        "tested_on": len(test),
        "epochs": EPOCHS,
        "batch": BATCH,
        "seeds": list(SEEDS),
        "heads": heads,
    }


def _scored(name: Name, head: str, folder: Path, test: Sequence[Record]) -> dict[str, Any] | None:
    score, measures, strategies = SETS[name], dict[str, Measure](), dict[str, dict[str, Any]]()
    for strategy in STRATEGIES:
        paths = [_predicted(folder, name, head, strategy, seed) for seed in SEEDS]
        if not all(path.exists() for path in paths):
            continue
        runs = [_read(path) for path in paths]
        measures[strategy] = measure(PLANS[name], test, [run["predicted"] for run in runs])
        each = [measure(PLANS[name], test, [run["predicted"]]).values()[score] for run in runs]
        strategies[strategy] = {
            **measures[strategy].intervals()[score]._asdict(),
            "of_seeds": each,
            "deviation": statistics.stdev(each),
            "rate": runs[0]["rate"],
            "processor_seconds": statistics.mean(run["processor_seconds"] for run in runs),
            "shares": None if strategy != MIX else np.mean([run["shares"] for run in runs], axis=0).tolist(),
        }
    if not strategies:
        return None
    best = max(strategies, key=lambda of: strategies[of]["value"])
    return {
        "strategies": strategies,
        "rates": _rates(name, head, folder),
        "best": best,
        "best_minus": _minus(measures, best, score),
        "claimed_minus": _minus(measures, CLAIMED, score) if CLAIMED in measures else {},
    }


def _minus(measures: dict[str, Measure], one: str, score: str) -> dict[str, dict[str, float]]:
    """That strategy minus each of the others."""
    return {other: measures[one].compared(measures[other])[score]._asdict() for other in measures if other != one}


def _rates(name: Name, head: str, folder: Path) -> dict[str, dict[str, float]]:
    """The score on the development part by strategy and rate, of those that were tried."""
    found: dict[str, dict[str, float]] = {}
    for strategy in STRATEGIES:
        for rate in RATES[head]:
            if (path := _tried(folder, name, head, strategy, rate)).exists():
                found.setdefault(strategy, {})[f"{rate:g}"] = _read(path)["score"]
    return found


def _predicted(folder: Path, name: Name, head: str, strategy: str, seed: int) -> Path:
    return folder / f"words-{name}" / f"{head}-{strategy}-{seed}.json"


def _tried(folder: Path, name: Name, head: str, strategy: str, rate: float) -> Path:
    return folder / f"words-{name}" / f"{head}-{strategy}-rate-{rate:g}.json"


def _write(path: Path, found: dict[str, Any]) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(found), encoding="utf-8")
    partial.replace(path)


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
