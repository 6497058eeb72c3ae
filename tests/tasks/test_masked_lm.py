"""Masked words: what a batch is a function of, what the loss and the scores are."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from glassformer.data.given import GivenMasks
from glassformer.tasks.hidden import DrawnMasks, StandingMasks
from torch import Tensor

from glassformer.data.buckets import BucketedRows, BucketOrder
from glassformer.data.pack import Frame, PackedRows
from glassformer.data.read import Document
from glassformer.data.store import TokenStore
from glassformer.demo.texts import slides as slides_texts
from glassformer.errors import ConfigError, DataError, TokenizerError
from glassformer.models.families import bert, slides
from glassformer.models.transformer import Transformer, build
from glassformer.tasks.masked_lm import MaskedLM, MaskedLMSection
from glassformer.tasks.score import Unigram
from glassformer.text.special import NONE
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import Kind, train_tokenizer
from glassformer.train.loop import fit
from glassformer.train.settings import TrainSection
from tests.data.made import build_store

MakeTask = Callable[..., MaskedLM]


@pytest.fixture
def make(rows: PackedRows, tokenizer: Tokenizer) -> MakeTask:
    """A task over the rows; settings of the masks by keyword."""

    def task(*, batch: int = 6, seed: int = 0, baselines: Any = (), **settings: Any) -> MaskedLM:
        hidden = DrawnMasks(rows, tokenizer, MaskedLMSection(**settings), seed=seed)
        return MaskedLM(hidden, batch=batch, seed=seed, baselines=baselines)

    return task


@pytest.fixture
def model(tokenizer: Tokenizer) -> Transformer:
    """Fresh weights, large enough for the loss to depend on everything."""
    config = bert(
        vocabulary=tokenizer.vocabulary_size, layers=1, width=16, heads=2, feed_forward=16, max_length=24, dropout=0.3
    )
    return build(config.model_copy(update={"initial": config.initial.model_copy(update={"deviation": 0.3})})).double()


def asked(task: MaskedLM, step: int, part: int = 0, parts: int = 1) -> list[tuple[int, int, int, int]]:
    """What a batch asks: (row within the step, piece, what stands there, what is to be found)."""
    batch = task.batch(step, part, parts)
    assert batch.inputs.ids is not None
    assert batch.places is not None
    length = batch.inputs.ids.shape[1]
    return [
        (int(batch.numbers[place // length]), place % length, int(batch.inputs.ids.flatten()[place]), label)
        for place, label in zip(batch.places.tolist(), batch.labels.tolist(), strict=True)
        if label >= 0
    ]


def test_a_batch_is_a_function_of_data_seed_and_step(make: MakeTask) -> None:
    one, two, other = make(), make(), make(seed=1)
    for step in (0, 3, 50):
        assert dict(one.batch(step).tensors()).keys() == dict(two.batch(step).tensors()).keys()
        for (_, mine), (_, same) in zip(one.batch(step).tensors(), two.batch(step).tensors(), strict=True):
            assert torch.equal(mine, same)
    assert asked(one, 3) != asked(other, 3)
    assert asked(one, 3) != asked(one, 4)


@pytest.mark.parametrize("parts", [2, 3, 4, 6])
def test_parts_ask_what_the_whole_asks(make: MakeTask, parts: int) -> None:
    task = make()
    whole = task.batch(2)
    cut = [task.batch(2, part, parts) for part in range(parts)]
    assert [question for part in range(parts) for question in asked(task, 2, part, parts)] == asked(task, 2)
    assert sum(batch.targets for batch in cut) == whole.targets == len(asked(task, 2))
    assert sum(batch.pieces for batch in cut) == whole.pieces
    assert torch.cat([batch.numbers for batch in cut]).tolist() == list(range(6))


def test_more_parts_than_rows_are_refused(make: MakeTask) -> None:
    with pytest.raises(ConfigError, match="each part of a step needs a row; got 6 rows for 7 parts"):
        make().batch(0, 0, 7)


@pytest.mark.parametrize("settings", [{}, {"whole_words": True}, {"max_predictions": 2}, {"rate": 0.5}, {"rate": 0.01}])
def test_all_batches_have_one_shape(make: MakeTask, settings: dict[str, Any]) -> None:
    task = make(**settings)
    shapes = {tuple((name, value.shape) for name, value in task.batch(step).tensors()) for step in range(30)}
    assert len(shapes) == 1
    counts = {task.batch(step).targets for step in range(30)}
    places = task.batch(0).places
    assert places is not None
    assert max(counts) <= len(places)


def test_each_row_comes_once_in_an_epoch_with_masks_of_its_own(rows: PackedRows, tokenizer: Tokenizer) -> None:
    task = MaskedLM(DrawnMasks(rows, tokenizer, MaskedLMSection(), seed=0), batch=1)
    assert task.steps_per_epoch == len(rows)

    def epoch(number: int) -> list[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]]:
        steps = range(number * len(rows), (number + 1) * len(rows))
        return [(tuple(_originals(task, step)), tuple(q[1:] for q in asked(task, step))) for step in steps]

    first, second = epoch(0), epoch(1)
    texts = sorted(tuple(row) for row in rows.rows(np.arange(len(rows))).ids.tolist())
    assert sorted(row for row, _ in first) == sorted(row for row, _ in second) == texts
    assert [row for row, _ in first] != [row for row, _ in second]
    masks = dict(first)
    changed = sum(masks[row] != questions for row, questions in second)
    assert changed > 0.9 * len(rows)


def _originals(task: MaskedLM, step: int) -> list[int]:
    ids = task.batch(step).inputs.ids
    assert ids is not None
    restored = ids[0].clone()
    for _, place, _, label in asked(task, step):
        restored[place] = label
    return restored.tolist()


def test_static_masks_repeat(rows: PackedRows, tokenizer: Tokenizer) -> None:
    task = MaskedLM(DrawnMasks(rows, tokenizer, MaskedLMSection(static=True, duplicates=2), seed=0), batch=len(rows))

    def masks(epoch: int) -> set[tuple[tuple[int, ...], ...]]:
        by_row: dict[int, list[tuple[int, ...]]] = {}
        for row, *question in asked(task, epoch):
            by_row.setdefault(row, []).append(tuple(question))
        return {tuple(questions) for questions in by_row.values()}

    assert masks(0) == masks(2) != masks(1)


def test_the_loss_is_the_sum_over_hidden_places(make: MakeTask, model: Transformer) -> None:
    task, model = make(), model.eval()
    batch = task.batch(1)
    logits = model(replace(batch.inputs, noise=None)).logits
    assert logits is not None
    expected = -sum(
        float(logits.detach()[row, place].log_softmax(-1)[label]) for row, place, _, label in asked(task, 1)
    )
    assert float(task.loss(model, batch).detach()) == pytest.approx(expected, abs=1e-10)  # 40 sums of size 4
    assert task.loss(model, batch).dtype == torch.float64
    assert task.loss(model.float(), batch).dtype == torch.float32
    assert task.loss(model.bfloat16(), batch).dtype == torch.float32


def test_scores_are_means_over_all_rows_and_no_batch_matters(make: MakeTask, model: Transformer) -> None:
    model.train()
    by_size = [make(batch=batch).evaluate(model) for batch in (1, 4, 100)]
    assert model.training
    assert by_size[0] == make(batch=1).evaluate(model)
    for scores in by_size[1:]:
        assert scores == pytest.approx(by_size[0], rel=1e-12)
    scores = by_size[0]
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert 0 <= scores["accuracy"] <= 1
    some = [make(batch=batch).evaluate(model, rows=7) for batch in (2, 7)]
    assert some[0] == pytest.approx(some[1], rel=1e-12)
    assert some[0]["targets"] < scores["targets"]
    assert some[0]["loss"] != pytest.approx(scores["loss"])


def test_a_perfect_model_scores_perfectly(make: MakeTask) -> None:
    """Reads the answers from the task itself, so that what is counted as right is right."""
    task = make(mask=0.0, random=0.0, keep=1.0)

    class Knows(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, inputs: Any, places: Tensor) -> Any:
            logits = torch.nn.functional.one_hot(inputs.ids.flatten()[places], 64).double() * 50

            class Answer:
                pass

            answer = Answer()
            answer.logits = logits  # type: ignore[attr-defined]
            return answer

    scores = task.evaluate(Knows())  # type: ignore[arg-type]
    assert scores["accuracy"] == 1.0
    assert scores["loss"] < 1e-15
    assert scores["perplexity"] == 1.0


def test_baselines_are_measured_at_the_same_places(
    make: MakeTask, model: Transformer, store: TokenStore, tokenizer: Tokenizer
) -> None:
    unigram = Unigram.count(store.ids, tokenizer.vocabulary_size)
    task = make(baselines=[unigram])
    scores = task.evaluate(model)
    assert scores.keys() == {
        *("loss", "perplexity", "accuracy", "targets", "unigram_loss", "unigram_perplexity", "unigram_accuracy")
    }
    blind = make(rate=0.99, max_predictions=24, baselines=[unigram]).evaluate(model)
    assert blind["unigram_loss"] == pytest.approx(task.blind_loss, rel=0.02)  # nearly all places of the same text
    most = int(np.bincount(store.ids).max())
    assert blind["unigram_accuracy"] == pytest.approx(most / len(store), abs=0.01)


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("whole_words", [True, False])
@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "words"])
def test_special_pieces_are_never_asked_wherever_they_stand(
    kind: Kind, whole_words: bool, pack: bool, texts: list[str], tmp_path: Path
) -> None:
    """Neither those of the frame, nor those written in the text, nor the one for words that are not known."""
    tokenizer = train_tokenizer(kind, texts, vocabulary=300 if kind == "bpe" else 64)
    written = " ".join(["she likes [MASK] \u2603", *tokenizer.special])
    documents = (Document(f"{text} {written} {text}", f"document {place}") for place, text in enumerate(texts))
    store = build_store(documents, tokenizer, tmp_path / "store")
    frame = Frame.encoder(tokenizer)
    rows = PackedRows(store, 24, frame=frame, walls=True) if pack else BucketedRows(store, 24, frame=frame)
    hidden = DrawnMasks(rows, tokenizer, MaskedLMSection(rate=0.6, whole_words=whole_words), seed=0)
    numbers = np.arange(len(hidden))
    batch, corrupted = hidden.rows(numbers, np.zeros_like(numbers))
    in_the_text = np.isin(batch.ids, sorted(tokenizer.special_ids)) & ~batch.special
    assert set(batch.ids[in_the_text].tolist()) == tokenizer.special_ids  # all of them stand there
    asked = corrupted.labels >= 0
    assert not (asked & in_the_text).any()
    assert asked.sum() > 0.5 * (~batch.special & ~in_the_text).sum()
    unigram = hidden.unigram()
    assert not unigram.counts[sorted(tokenizer.special_ids)].any()
    assert unigram.counts.sum() == len(store) - in_the_text.sum()


def test_without_walls_no_wall_is_given(store: TokenStore, tokenizer: Tokenizer, rows: PackedRows) -> None:
    open_rows = PackedRows(store, 24, frame=Frame.encoder(tokenizer), walls=False)
    for cut, walls in ((rows, True), (open_rows, False)):
        task = MaskedLM(DrawnMasks(cut, tokenizer, MaskedLMSection(), seed=0), batch=2)
        assert (task.batch(0).inputs.documents is not None) is walls


def test_rows_in_buckets(store: TokenStore, tokenizer: Tokenizer, model: Transformer) -> None:
    rows = BucketedRows(store, 24, frame=Frame.encoder(tokenizer))
    hidden = DrawnMasks(rows, tokenizer, MaskedLMSection(), seed=0)
    order = BucketOrder(rows, 4, fingerprint=hidden.fingerprint, seed=0)
    task = MaskedLM(hidden, batch=4, order=order)
    assert task.steps_per_epoch == len(order)
    shapes = {task.batch(step).inputs.shape[1] for step in range(len(order))}
    assert shapes <= {8, 16, 24}
    assert len(shapes) > 1
    pieces = sum(task.batch(step).pieces for step in range(len(order)))
    assert pieces == len(store) + 2 * len(rows)
    assert task.evaluate(model)["targets"] > 0


def test_a_small_last_batch_is_cut_into_as_many_parts_as_it_has_rows(
    store: TokenStore, tokenizer: Tokenizer, model: Transformer, tmp_path: Path
) -> None:
    """The last batch of a bucket may have fewer rows than a step has parts: still the same weights, in float64."""
    rows = BucketedRows(store, 24, frame=Frame.encoder(tokenizer))
    hidden = DrawnMasks(rows, tokenizer, MaskedLMSection(), seed=0)
    order = BucketOrder(rows, 8, fingerprint=hidden.fingerprint, seed=0)
    task = MaskedLM(hidden, batch=8, order=order)
    sizes = [task.rows(step) for step in range(len(order))]
    assert sum(sizes) == len(rows)
    assert min(sizes) < 6
    trained = []
    for accumulate in (1, 6):
        settings = TrainSection(
            steps=len(order), batch=8, accumulate=accumulate, precision="float64", compile="off", epsilon=1e-6
        )
        mine = copy.deepcopy(model)
        told = list(fit(mine, task, settings, out=tmp_path / str(accumulate), say=lambda message: None))
        assert [step.step for step in told] == list(range(1, len(order) + 1))
        trained.append({name: parameter.detach() for name, parameter in mine.named_parameters()})
    whole, cut = trained
    assert max(float((whole[name] - cut[name]).abs().max()) for name in whole) < 1e-11  # sums in another order


# --------------------------------------------------------------------------- masks that stand in the data


@pytest.fixture
def slide_task() -> tuple[MaskedLM, Tokenizer]:
    """The slides' three sentences in their vocabulary of fifteen words without special pieces."""
    texts = slides_texts()
    tokenizer = train_tokenizer(
        "words", [sentence.text for sentence in texts.sentences], vocabulary=15, lowercase=False, special=NONE
    )
    examples = [GivenMasks(sentence.masked, sentence.answers) for sentence in texts.sentences]
    return MaskedLM(StandingMasks(examples, tokenizer), batch=3), tokenizer


def test_the_slides_are_learned(slide_task: tuple[MaskedLM, Tokenizer], tmp_path: Path) -> None:
    """Four of four hidden words, with the words' vectors zeroed and the words themselves hidden as keys."""
    task, tokenizer = slide_task
    assert tokenizer.vocabulary_size == 15
    batch = task.batch(0)
    assert batch.targets == 4
    assert batch.inputs.hidden is not None
    assert int(batch.inputs.hidden.sum()) == 4
    model = build(slides())
    settings = TrainSection(
        steps=150, batch=3, learning_rate=0.03, decay=0.0, compile="off", precision="float32", schedule="constant"
    )
    list(fit(model, task, settings, out=tmp_path, say=lambda message: None))
    assert task.evaluate(model)["accuracy"] == 1.0


def test_standing_masks_are_the_same_in_each_epoch(slide_task: tuple[MaskedLM, Tokenizer]) -> None:
    task, tokenizer = slide_task
    for step in range(4):
        found = {tokenizer.piece(label) for *_, label in asked(task, step)}
        assert found == {"likes", "the", "cook", "often"}
    assert task.blind_loss == pytest.approx(math.log(15))


def test_standing_masks_need_examples(tokenizer: Tokenizer) -> None:
    with pytest.raises(DataError, match="at least one text"):
        StandingMasks([], tokenizer)


def test_a_tokenizer_without_a_mask_is_refused(rows: PackedRows) -> None:
    maskless = train_tokenizer("bpe", ["some text to learn from"], vocabulary=300, special=NONE)
    with pytest.raises(TokenizerError, match="masked words need a tokenizer with a mask"):
        DrawnMasks(rows, maskless, MaskedLMSection(), seed=0)


def test_fingerprints_tell_tasks_apart(make: MakeTask) -> None:
    assert make().fingerprint == make().fingerprint
    assert len({make(**chosen).fingerprint for chosen in ({}, {"rate": 0.3}, {"whole_words": True})}) == 3


def test_fingerprints_tell_how_the_text_is_cut(store: TokenStore, tokenizer: Tokenizer) -> None:
    frame = Frame.encoder(tokenizer)
    cuts = [PackedRows(store, 24, frame=frame, walls=walls) for walls in (True, False)]
    named = {DrawnMasks(rows, tokenizer, MaskedLMSection(), seed=0).fingerprint for rows in cuts}
    named.add(DrawnMasks(BucketedRows(store, 24, frame=frame), tokenizer, MaskedLMSection(), seed=0).fingerprint)
    assert len(named) == 3
