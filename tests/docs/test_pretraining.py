"""X-14 and N-11: the arms in small, what is kept of them, and that the verdicts follow their rules."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glassformer as gf
from experiments import books, results
from experiments.encoder.plan import read_lines
from experiments.page import NOT_YET
from experiments.page import table as markdown
from experiments.pretraining import arms, overfit, plan, table
from experiments.pretraining.scores import pairs_of, scores, words_of
from experiments.translation.plan import read_json
from glassformer.data.batches.pairs import SentencePairs
from glassformer.data.settings import CorpusSection
from glassformer.data.stores.corpus import prepare

WORDS = ("fox", "dog", "river", "house", "lamp", "train", "garden", "letter", "window", "winter")


def book(path: Path, seed: int) -> str:
    """Six chapters of some sentences."""
    rng = random.Random(seed)

    def sentence() -> str:
        return "The {} sees the {} near the {}.".format(*rng.choices(WORDS, k=3))

    chapters = (" ".join(sentence() for _ in range(30)) for _ in range(6))
    path.write_text("\n\n".join(chapters) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Small books, small tables, few steps, in a folder of its own."""
    files = {name: tuple(book(tmp_path / f"{name}-{n}.txt", n) for n in range(3)) for name in ("train", "books")}
    found = {name: CorpusSection(files=paths, validation=0.0) for name, paths in files.items()}
    monkeypatch.setattr(books, "sections", lambda: found)
    pairs = [
        {"id": str(n), "text": f"the {WORDS[n % 9]} sees the lamp", "pair": "the fox sees it", "label": str(n % 2)}
        for n in range(12)
    ]
    monkeypatch.setattr(plan, "TASKS", {"mrpc": plan.TASKS["mrpc"]})
    monkeypatch.setattr(arms, "records", lambda task: (pairs, pairs))
    monkeypatch.setattr("experiments.pretraining.scores.records", arms.records)
    numbers = {"TIMED": 2, "FIRST": 1, "FINE_STEPS": 1, "KEPT": 4, "FINE_RATES": (3e-4, 1e-3)}
    for name, value in numbers.items():
        monkeypatch.setattr(plan, name, value)
    monkeypatch.setattr(overfit, "STEPS", 1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_arm_is_trained_judged_and_fine_tuned_once(small: Path) -> None:
    arms.run("order", 1e-9, 1)
    written = {path: path.stat().st_mtime_ns for path in (small / plan.WORK).rglob("*") if path.is_file()}
    arms.run("order", None, 1)
    assert written == {path: path.stat().st_mtime_ns for path in written}
    with pytest.raises(SystemExit):
        plan.planned(7)

    model = gf.load(plan.WORK / "order" / "model")
    assert model.task == plan.ARMS["order"].section
    store = prepare(books.sections()["train"], model.tokenizer, plan.WORK / "cache").stores["train"]
    swapped = SentencePairs.prepare(store, model.tokenizer, plan.LENGTH, seed=0, swapped=True)
    assert model.metrics["pair_counts"] == np.bincount(swapped.labels, minlength=2).tolist()

    found = scores()
    assert (found["steps"], found["seeds"], list(found["arms"])) == (1, {"tuned": 1, "frozen": 1}, ["order"])
    arm = found["arms"]["order"]
    assert arm["facts"]["steps"] == 1
    assert 0 < arm["pairs"]["chance"] < 1
    assert arm["words"]["count"] > 0
    tried = read_json(plan.WORK / "order" / "mrpc-rates.json")
    assert list(tried) == ["0.0003", "0.001"]
    assert arm["rates"] == {"mrpc": float(max(tried, key=lambda rate: (tried[rate], -float(rate))))}
    predicted = [line["predicted"] for line in read_lines(arms.predictions_of("order", "mrpc", "frozen", 0))]
    right = np.mean([one == row["label"] for one, row in zip(predicted, arms.records("mrpc")[1], strict=True)])
    assert arm["tasks"]["frozen"]["mrpc"]["value"] == pytest.approx(right)


def test_a_page_is_measured_with_the_masks_that_it_learned(small: Path) -> None:
    overfit.run()
    found = scores()["overfit"]
    assert found["pairs"] > 0
    assert 0.5 <= found["chance"] <= 1
    assert 0 <= found["masked_words"] <= 1


def test_chance_is_the_share_of_the_most_frequent_label() -> None:
    found = pairs_of(np.array([1, 1, 1, 0]), np.array([1, 0, 1, 0]))
    assert found["accuracy"]["value"] == pytest.approx(0.75)
    assert found["chance"] == pytest.approx(0.75)
    assert found["above"]["value"] == pytest.approx(0)
    assert words_of(np.array([1, 0]), np.array([1, 3])).value == pytest.approx(0.25)


def interval(low: float, high: float) -> dict[str, float]:
    return {"value": (low + high) / 2, "low": low, "high": high}


UP, NONE, DOWN = interval(0.01, 0.03), interval(-0.01, 0.02), interval(-0.04, -0.01)


Differences = dict[str, tuple[dict[str, float], dict[str, float]]]


def measured(tuned: Differences, frozen: Differences, above: Any = UP) -> dict[str, Any]:
    """A result with these differences on both sets, and pairs that are `above` chance."""
    tasks = dict.fromkeys(("sst2", "mrpc"), interval(0.6, 0.7))
    pairs = {"accuracy": interval(0.6, 0.7), "chance": 0.5, "above": above}
    arm = {"words": interval(0.2, 0.3), "pairs": pairs, "tasks": {"tuned": tasks, "frozen": {}}, "command": "command"}
    against = {
        way: {pair: dict(zip(("sst2", "mrpc"), each, strict=True)) for pair, each in its.items()}
        for way, its in (("tuned", tuned), ("frozen", frozen))
    }
    return {
        **{"minutes": 10, "steps": 100, "seconds": 0.1, "seeds": {"tuned": 1, "frozen": 1}, "overfit": None},
        **{"command": "command", "date": "2026-01-01", "machine": "a machine", "torch": "2"},
        "settings": {"length": 64, "batch": 32, "rows": 10, "fine_steps": 5, "fine_rates": [1e-3], "kept": 2},
        "tested_on": {"sst2": {"rows": 10, "chance": 0.5}},
        "arms": dict.fromkeys(("random", "alone", "next", "order"), arm),
        "against": against,
    }


def test_a_verdict_follows_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdict(row: dict[str, Any] | None) -> list[str]:
        monkeypatch.setattr(results, "read", lambda name: row)
        table.section(markdown)  # is written at each stage
        text = " ".join(" ".join(table.claims(markdown)).split())
        (found,) = re.findall(r"\*\*Verdict\*\*: (.+?)\.(?: Two layers|$)", text)
        return found.split("; ")

    assert verdict(None) == [f"**{NOT_YET}**"]
    useful, following, order, masking = verdict(measured({"alone against random": (UP, DOWN)}, {}))
    assert useful.endswith(f"**holds** fine-tuned, **{NOT_YET}** frozen")  # judged on SST-2
    assert all(NOT_YET in each for each in (following, order, masking))
    assert "**learned**" in following
    differences = {
        "alone against random": (NONE, UP),
        "next against alone": (NONE, UP),
        "order against alone": (DOWN, NONE),
        "alone against alone-100": (NONE, NONE),
        "next against next-100": (UP, DOWN),
    }
    useful, following, order, masking = verdict(measured(differences, differences, above=NONE))
    assert useful.endswith("**not shown**")
    assert "**not learned**" in following
    assert following.endswith("**helps**")
    assert order.endswith("**harms**")
    assert "**mixed**" in masking
    assert "1 of 4" in masking
