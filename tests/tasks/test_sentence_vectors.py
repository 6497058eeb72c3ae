"""Sentence vectors of a teacher with other tokens and another width, learned with masked words from plain text."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.base.errors import ConfigError
from glassformer.cli.__main__ import main
from glassformer.models.inputs import Batch, Inputs
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.saved.recipe import resolve
from glassformer.tasks.sentence_vectors import VECTORS, SentenceVectorsFeed
from glassformer.training.loop import fit
from glassformer.training.progress import NoProgress
from tests.contracts.tasks import TASKS
from tests.refusals import refused
from tests.run.heads import TEXTS, model_for

ROW = next(row for row in TASKS if row.name == "masked-lm")


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    """An encoder of width 24 with a tokenizer of its own."""
    return model_for("masked-lm", {}, width=24, heads=3).save(tmp_path / "teacher")


def recipe(teacher: Path, folder: Path, **distil: Any) -> dict[str, Any]:
    made = ROW.recipe(folder)
    made["data"]["files"] = [str(text := folder / "text.txt")]
    sentences = [f"{' '.join(TEXTS[number % 2].split()[: 5 + number % 5])}." for number in range(60)]
    paragraphs = [" ".join(sentences[start : start + 6]) for start in range(0, 60, 6)]
    text.write_text("\n\n".join(f"{number} {each}" for number, each in enumerate(paragraphs)))
    return {**made, "distil": {"teacher": str(teacher), "vectors": 3.0, "sentences": 8, **distil}}


def prepared(teacher: Path, folder: Path) -> tuple[Prepared, SentenceVectorsFeed]:
    made = prepare_run(resolve(recipe(teacher, folder)), folder / "run", NoProgress())
    assert isinstance(made.feed, SentenceVectorsFeed)
    return made, made.feed


def sentences_of(made: Prepared, batch: Batch) -> list[str]:
    given = batch.decoder_inputs
    assert given is not None
    assert given.ids is not None
    assert given.real is not None
    return [made.tokenizer.decode(row[real].tolist()) for row, real in zip(given.ids, given.real, strict=True)]


def number_of(batch: Batch) -> int:
    """The sentences of a batch without those that fill it."""
    assert batch.present is not None
    return int(batch.present[VECTORS])


def test_an_epoch_has_each_sentence_once_and_all_of_them_count_the_same(teacher: Path, tmp_path: Path) -> None:
    made, feed = prepared(teacher, tmp_path)
    steps = len(feed._sentences)
    for parts in (1, 3):
        numbers, counts, seen = 0, 0.0, list[str]()
        for step in range(steps):
            for part in range(parts):
                batch = feed.batch(step, part, parts)
                numbers += number_of(batch)
                counts += batch.counts[VECTORS]
                seen += sentences_of(made, batch)[: number_of(batch)]
        assert numbers == len(feed._rows_of) < steps * 8
        assert counts == pytest.approx(numbers)
        assert sorted(seen) == sorted(
            made.tokenizer.decode(feed._rows_of.rows(np.array([row])).ids[0].tolist()) for row in range(numbers)
        )


def test_dropout_of_a_sentence_is_the_same_however_a_step_is_cut(teacher: Path, tmp_path: Path) -> None:
    given = recipe(teacher, tmp_path)
    given["model"] = given.get("model", {}) | {"settings": {"dropout": 0.3}}
    made = prepare_run(resolve(given), tmp_path / "run", NoProgress())
    model, seed = made.module.double().train(), torch.tensor(7)

    def loss(parts: int) -> float:
        batches = [made.feed.batch(1, part, parts).with_dropout_key(seed) for part in range(parts)]
        return sum(float(made.feed.losses(model, each)[VECTORS].detach()) for each in batches)

    assert loss(1) == pytest.approx(loss(2), rel=1e-12)
    assert loss(1) == pytest.approx(loss(3), rel=1e-12)
    dropped = loss(1)
    model.eval()
    assert abs(dropped - loss(1)) > 1e-3


def test_passages_are_joined_sentences_of_one_document(teacher: Path, tmp_path: Path) -> None:
    made = prepare_run(resolve(recipe(teacher, tmp_path, joined=0.5)), tmp_path / "run", NoProgress())
    assert isinstance(made.feed, SentenceVectorsFeed)
    rows, store = made.feed._rows_of, made.feed._rows_of.store
    documents = np.searchsorted(store.offsets, rows._starts, side="right")
    assert (rows._ends <= store.offsets[documents]).all()
    assert np.isin(rows._starts, store.sentences).all()
    joined = np.diff(np.searchsorted(store.sentences, np.append(rows._starts, len(store))))
    assert len(store.sentences) == joined.sum()
    assert {1, 2, 3} <= set(joined.tolist())


def test_words_may_be_masked_in_passages_too(teacher: Path, tmp_path: Path) -> None:
    given = recipe(teacher, tmp_path)
    given["data"] |= {"passages": True}
    made = prepare_run(resolve(given), tmp_path / "run", NoProgress())
    assert made.feed.weights.keys() == {"masked_words", VECTORS}
    found = made.feed.losses(made.module.eval(), made.feed.batch(0))
    assert found.keys() == made.feed.weights.keys()
    assert all(float(loss.detach()) > 0 for loss in found.values())


def test_each_sentence_has_the_vector_that_the_teacher_embeds(teacher: Path, tmp_path: Path) -> None:
    made, feed = prepared(teacher, tmp_path)
    model, seen = gf.load(teacher), set[str]()
    for step in range(6):
        batch = feed.batch(step)
        texts, count = sentences_of(made, batch), number_of(batch)
        seen |= set(texts)
        # Of float32, in batches of other lengths.
        assert np.abs(model.embed(texts[:count], pooling="mean") - batch.labels[VECTORS][:count].numpy()).max() < 1e-5
        assert not batch.labels[VECTORS][count:].any()
        again = feed.batch(step)
        assert torch.equal(again.labels[VECTORS], batch.labels[VECTORS])
    assert len(seen) > 8


def test_the_losses_are_those_of_the_task_and_one_minus_the_cosine(teacher: Path, tmp_path: Path) -> None:
    made, feed = prepared(teacher, tmp_path)
    module, batch = made.module.double().eval(), feed.batch(0)
    with torch.no_grad():
        found = feed.losses(module, batch)
        alone = made.task.losses(module, batch)["masked_words"]
    assert found.keys() == feed.weights.keys() == {"masked_words", VECTORS}
    assert feed.weights[VECTORS] == 3.0
    assert module.sentence_head is not None
    head = module.sentence_head.output
    assert head is not None
    total = 0.0
    for row, text in enumerate(sentences_of(made, batch)[: number_of(batch)]):
        ids = torch.tensor([made.tokenizer.encode(text).ids])
        with torch.no_grad():
            mine = head(module(Inputs(ids=ids), heads=()).states[0].mean(dim=0))
        its = batch.labels[VECTORS][row].double()
        total += 1 - float(mine @ its / (mine.norm() * its.norm()))
    assert float(found[VECTORS]) == pytest.approx(total, abs=1e-9)
    assert float(found["masked_words"]) == pytest.approx(float(alone), abs=1e-12)


def test_the_saved_model_is_an_encoder_that_predicts_masked_words(teacher: Path, tmp_path: Path) -> None:
    settings = recipe(teacher, tmp_path)
    model = gf.train(settings, out=tmp_path / "whole", progress=NoProgress())
    assert model.config.sentence_head is None
    assert model.task_name == "masked-lm"
    assert "teacher" not in model.metrics
    assert model.fill("Alice went to [MASK].").filled


def test_a_stopped_run_ends_as_one_that_was_not(teacher: Path, tmp_path: Path) -> None:
    ends = []
    for name, stop in (("whole", 0), ("cut", 3)):
        for resume in (False, True)[: 1 + bool(stop)]:
            made = prepare_run(resolve(recipe(teacher, tmp_path)), tmp_path / name, NoProgress())
            steps = fit(
                made.module, made.feed, made.recipe.train, out=tmp_path / name, held_out=made.held_out, resume=resume,
                log=lambda note: None,
            )  # fmt: skip
            for step in steps:
                if step.step == stop and not resume:
                    break
            steps.close()  # type: ignore[attr-defined]  # a generator
        ends.append(made.module.state_dict())
    assert all(torch.equal(tensor, ends[1][name]) for name, tensor in ends[0].items())


def test_distil_learns_from_an_encoder_of_no_task(teacher: Path, tmp_path: Path) -> None:
    recipe(teacher, tmp_path)
    model = gf.load(teacher)
    model.task = None
    bare = model.save(tmp_path / "bare")
    options = ["--steps", "2", "--size", "tiny", "--vocabulary", "90", "--length", "24", "--batch", "4", "--quiet"]
    out = tmp_path / "student"
    assert main(["distil", str(bare), str(tmp_path / "text.txt"), *options, "--out", str(out)]) == 0
    assert gf.load(out).task_name == "masked-lm"


def test_what_cannot_be_learned_is_refused(teacher: Path, tmp_path: Path) -> None:
    settings = recipe(teacher, tmp_path)
    with refused(ConfigError, wanted="running text"):
        table = next(row for row in TASKS if row.name == "classify").recipe(tmp_path)
        gf.train({**table, "distil": settings["distil"]}, out=tmp_path / "a", progress=NoProgress())
    with refused(ConfigError, wanted="soft, cosine and layers"):
        resolve(recipe(teacher, tmp_path, soft=1.0))
