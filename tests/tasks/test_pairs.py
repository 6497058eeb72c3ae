"""The texts of a pair are compared: what the last layer reads, when that is chosen, and what is refused.

F numbers that enter the last layer
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.base.errors import ConfigError, DataError
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.saved.recipe import resolve
from glassformer.tasks.labels.choose.settings import ChooseSection
from glassformer.tasks.labels.choose.task import Choose
from glassformer.tasks.rows import collate
from glassformer.training.progress import NoProgress
from tests.refusals import refused
from tests.run.heads import TEXTS, model_for

WORDS = sorted({word.strip(".,") for text in TEXTS for word in text.split()})
FAST = {"train.compile": "off", "train.threads": 1, "train.precision": "float32", "data.length": 32}


def table(folder: Path, count: int) -> Path:
    """Pairs whose label says whether both texts have the same words."""
    rng = np.random.default_rng(3)
    path = folder / "pairs.jsonl"
    with path.open("w") as file:
        for number in range(count):
            one = " ".join(rng.choice(WORDS, 4))
            other = one if number % 2 else " ".join(rng.choice(WORDS, 4))
            file.write(json.dumps({"text": one, "pair": other, "label": ("other", "same")[number % 2]}) + "\n")
    return path


def prepared(folder: Path, changes: dict[str, Any], *, count: int = 300, task: str = "classify") -> Prepared:
    given = {"data.files": [str(table(folder, count))], "data.pair": "pair", **FAST, **changes}
    return prepare_run(
        resolve(task, {name: of for name, of in given.items() if of is not None}), folder / "run", NoProgress()
    )


@pytest.mark.long
@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_the_probe_finds_that_two_texts_are_equal(family: str, tmp_path: Path) -> None:
    """A family without segments gets two, whose vectors are zero."""
    start = model_for("masked-lm", {}, family, width=24).save(tmp_path / "start")
    made = prepared(tmp_path, {"model.start": str(start)})
    assert made.probe is not None
    assert made.task.section.model_dump()["pooling"] == "pair"
    assert made.probe.losses["pair"] < 0.7 * min(made.probe.losses[each] for each in ("first", "mean"))
    embed = made.module.config.output_stack.embed
    assert embed.segments == 2
    if family == "modernbert":
        assert not made.module.get_parameter("encoder.embed.segment.weight").any()
    batch = made.feed.batch(0)
    logits = made.module.eval()(batch.inputs).sentence_logits
    assert made.module.sentence_head is not None
    states = made.module(batch.inputs).states
    assert batch.inputs.segments is not None
    vectors = []
    for row, real, of in zip(states, _real(batch.inputs), batch.inputs.segments, strict=True):
        u, v = (row[real & (of == side)].mean(dim=0) for side in (0, 1))  # [W]
        vectors.append(torch.cat([u, v, (u - v).abs(), u * v]))  # [F]
    expected = torch.stack(vectors) @ made.probe.weight.T + made.probe.bias
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-4)  # float32, sums of some hundred products


def _real(inputs: gf.Inputs) -> torch.Tensor:
    assert inputs.ids is not None
    return torch.ones_like(inputs.ids, dtype=torch.bool) if inputs.real is None else inputs.real


@pytest.mark.parametrize(
    ("changes", "pooling"),
    [({}, "pair"), ({"task.pooling": "mean"}, "mean"), ({"data.pair": None}, None)],
)
def test_without_a_start_model_pairs_are_compared(changes: dict[str, Any], pooling: str | None, tmp_path: Path) -> None:
    sizes = {"model.family": "modernbert", "model.size": "tiny", "tokenizer.vocabulary": 120, "train.epochs": 1}
    made = prepared(tmp_path, {**sizes, **changes}, count=40)
    assert made.task.section.model_dump()["pooling"] == pooling
    assert made.module.config.sentence_head is not None
    assert made.module.config.sentence_head.pooling == (pooling or "pooler")


def test_a_model_of_pairs_from_training_to_answers_and_exports(tmp_path: Path) -> None:
    start = model_for("masked-lm", {}, "modernbert", width=24).save(tmp_path / "start")
    changes = {"data.files": [str(table(tmp_path, 300))], "data.pair": "pair", "model.start": str(start), **FAST}
    model = gf.train("classify", set={**changes, "train.steps": 20}, out=tmp_path / "run", progress=NoProgress())
    same, other = model.classify([TEXTS[0], TEXTS[0]], [TEXTS[0], TEXTS[1]])
    assert (same.label, other.label) == ("same", "other")
    assert "`pair`" in model.card
    with refused(DataError, got="one text"):
        model.classify(TEXTS[0])
    with refused(ConfigError, got="pair", do="pooler"):
        model.export(tmp_path / "theirs", "huggingface")
    found = model.trace(TEXTS[0], pair=TEXTS[1])
    assert found["sentence_head.pair"].shape == (1, 4 * 24)
    assert found.verify().holds
    again = gf.load(tmp_path / "run")
    assert again.classify(TEXTS[0], TEXTS[1]).probabilities == pytest.approx(other.probabilities, rel=1e-5)


def test_single_texts_cannot_be_compared(tmp_path: Path) -> None:
    with refused(ConfigError, got="single texts", do="--pair-column"):
        prepared(tmp_path, {"data.pair": None, "task.pooling": "pair", "train.epochs": 1}, count=40)


def test_a_candidate_is_compared_with_its_text(tmp_path: Path) -> None:
    """From the settings to rows whose segments tell the text from its candidate."""
    model = model_for("choose", ChooseSection(pooling="pair").model_dump(), "modernbert")
    found = model.choose(TEXTS[0], [TEXTS[1], TEXTS[0]])
    task = Choose(ChooseSection(pooling="pair"), model.tokenizer, length=64, segments=False)
    rows = list(task.rows(task.example({"text": TEXTS[0], "choices": [TEXTS[1], TEXTS[0]]}, "")))
    assert all(row.segments is not None and set(row.segments) == {0, 1} for row in rows)
    scores = model.module(collate(rows, pad_id=0).inputs).sentence_logits  # [2, 1]
    expected = scores[:, 0].log_softmax(dim=0).tolist()
    assert found.log_probabilities == pytest.approx(expected, abs=1e-5)  # float32
