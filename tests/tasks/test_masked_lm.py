"""Masked words: what a batch is a function of, what the loss and the scores are."""

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, TokenizerError
from glassformer.data.batches.pack import BucketedRows, Frame, PackedRows
from glassformer.data.readers.read import Document
from glassformer.data.stores.store import TokenStore
from glassformer.models.families import bert
from glassformer.models.inputs import Output
from glassformer.models.transformer import Transformer, build
from glassformer.tasks import task as tasks
from glassformer.tasks.feed import TaskFeed
from glassformer.tasks.words.corpus import MaskedRows
from glassformer.tasks.words.masked_lm.task import MaskedLM, MaskedLMSection
from glassformer.text.special import NONE
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import Kind, train_tokenizer
from glassformer.training.loop import fit
from glassformer.training.settings import TrainSection
from tests.data.made import build_store

MakeFeed = Callable[..., TaskFeed]


def feed_of(rows: Any, tokenizer: Tokenizer, *, batch: int = 6, seed: int = 0, **settings: Any) -> TaskFeed:
    """Masked words over these rows; settings of the masks by keyword."""
    section = MaskedLMSection(**settings)
    masked = MaskedRows(rows, tokenizer, section, seed=seed, document_mask=getattr(rows, "document_mask", False))
    return TaskFeed(MaskedLM(section, masked.unigram()), masked, batch=batch, seed=seed)


def masks_of(rows: Any, tokenizer: Tokenizer, **settings: Any) -> MaskedRows:
    return MaskedRows(
        rows, tokenizer, MaskedLMSection(**settings), seed=0, document_mask=getattr(rows, "document_mask", False)
    )


@pytest.fixture
def make(rows: PackedRows, tokenizer: Tokenizer) -> MakeFeed:
    """A feed over the rows; settings of the masks by keyword."""
    return partial(feed_of, rows, tokenizer)


@pytest.fixture
def model(tokenizer: Tokenizer) -> Transformer:
    """Fresh weights, large enough for the loss to depend on everything."""
    config = bert(
        vocabulary=tokenizer.vocabulary_size, layers=1, width=16, heads=2, feed_forward=16, max_length=24, dropout=0.3
    )
    return build(config.model_copy(update={"initial": config.initial.model_copy(update={"deviation": 0.3})})).double()


def asked(task: TaskFeed, step: int, part: int = 0, parts: int = 1) -> list[tuple[int, int, int, int]]:
    """What a batch asks: (row within the step, token, what stands there, what is to be found)."""
    batch = task.batch(step, part, parts)
    assert batch.inputs.ids is not None
    assert batch.scored_at is not None
    length = batch.inputs.ids.shape[1]
    return [
        (int(batch.row_ids[place // length]), place % length, int(batch.inputs.ids.flatten()[place]), label)
        for place, label in zip(batch.scored_at.flatten().tolist(), batch.labels["masked_words"].tolist(), strict=True)
        if label >= 0
    ]


def test_a_batch_is_a_function_of_data_seed_and_step(make: MakeFeed) -> None:
    one, two, other = make(), make(), make(seed=1)
    for step in (0, 3, 50):
        assert dict(one.batch(step).tensors()).keys() == dict(two.batch(step).tensors()).keys()
        for (_, mine), (_, same) in zip(one.batch(step).tensors(), two.batch(step).tensors(), strict=True):
            assert torch.equal(mine, same)
    assert asked(one, 3) != asked(other, 3)
    assert asked(one, 3) != asked(one, 4)


@pytest.mark.parametrize("parts", [2, 3, 4, 6])
def test_parts_ask_what_the_whole_asks(make: MakeFeed, parts: int) -> None:
    task = make()
    whole = task.batch(2)
    cut = [task.batch(2, part, parts) for part in range(parts)]
    assert [question for part in range(parts) for question in asked(task, 2, part, parts)] == asked(task, 2)
    assert sum(batch.counts["masked_words"] for batch in cut) == whole.counts["masked_words"] == len(asked(task, 2))
    assert sum(batch.tokens for batch in cut) == whole.tokens
    assert torch.cat([batch.row_ids[batch.weights > 0] for batch in cut]).tolist() == list(range(6))


def test_more_parts_than_rows_are_refused(make: MakeFeed) -> None:
    with pytest.raises(ConfigError) as raised:
        make().batch(0, 0, 7)
    assert raised.value.got == "6 examples for 7 parts"


@pytest.mark.parametrize("settings", [{}, {"whole_words": True}, {"max_predictions": 2}, {"rate": 0.5}, {"rate": 0.01}])
def test_all_batches_have_one_shape(make: MakeFeed, settings: dict[str, Any]) -> None:
    task = make(**settings)
    shapes = {tuple((name, value.shape) for name, value in task.batch(step).tensors()) for step in range(30)}
    assert len(shapes) == 1
    counts = {task.batch(step).counts["masked_words"] for step in range(30)}
    places = task.batch(0).scored_at
    assert places is not None
    assert max(counts) <= places.numel()


@pytest.mark.long
def test_each_row_comes_once_in_an_epoch_with_masks_of_its_own(rows: PackedRows, tokenizer: Tokenizer) -> None:
    task = feed_of(rows, tokenizer, batch=1)
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


def _originals(task: TaskFeed, step: int) -> list[int]:
    ids = task.batch(step).inputs.ids
    assert ids is not None
    restored = ids[0].clone()
    for _, place, _, label in asked(task, step):
        restored[place] = label
    return restored.tolist()


def test_static_masks_repeat(rows: PackedRows, tokenizer: Tokenizer) -> None:
    task = feed_of(rows, tokenizer, batch=len(rows), static=True, duplicates=2)

    def masks(epoch: int) -> set[tuple[tuple[int, ...], ...]]:
        by_row: dict[int, list[tuple[int, ...]]] = {}
        for row, *question in asked(task, epoch):
            by_row.setdefault(row, []).append(tuple(question))
        return {tuple(questions) for questions in by_row.values()}

    assert masks(0) == masks(2) != masks(1)


def test_the_loss_is_the_sum_over_masked_places(make: MakeFeed, model: Transformer) -> None:
    task, model = make(), model.eval()
    batch = task.batch(1)
    logits = model(replace(batch.inputs, dropout_key=None)).logits
    assert logits is not None
    expected = -sum(
        float(logits.detach()[row, place].log_softmax(-1)[label]) for row, place, _, label in asked(task, 1)
    )

    def loss(model: Transformer) -> Tensor:
        return task.losses(model, batch)["masked_words"]

    assert float(loss(model).detach()) == pytest.approx(expected, abs=1e-10)  # 40 sums of size 4
    assert loss(model).dtype == torch.float64
    assert loss(model.float()).dtype == torch.float32
    assert loss(model.bfloat16()).dtype == torch.float32


def test_scores_are_means_over_all_rows_and_no_batch_matters(
    make: MakeFeed, model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.train()
    by_size = []
    for size in (1, 4, 100):
        monkeypatch.setattr(tasks, "_ROWS", size)
        by_size.append(make().evaluate(model))
    assert model.training
    assert by_size[2] == make().evaluate(model)
    for scores in by_size[1:]:
        assert scores == pytest.approx(by_size[0], rel=1e-12)
    scores = by_size[0]
    assert scores["perplexity"] == pytest.approx(math.exp(scores["loss"]))
    assert 0 <= scores["accuracy"] <= 1
    some = []
    for size in (2, 7):
        monkeypatch.setattr(tasks, "_ROWS", size)
        some.append(make().evaluate(model, limit=7))
    assert some[0]["targets"] < scores["targets"]
    assert some[0]["loss"] != pytest.approx(scores["loss"])


def test_a_perfect_model_scores_perfectly(make: MakeFeed) -> None:
    """Reads the answers from the task itself, so that what is counted as right is right."""
    task = make(mask=0.0, random=0.0, keep=1.0)

    class Knows(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, inputs: Any, scored_at: Tensor, heads: Any) -> Any:
            logits = torch.nn.functional.one_hot(inputs.ids.flatten()[scored_at.flatten()], 64).double() * 50
            return Output(states=logits, logits=logits)

    scores = task.evaluate(Knows())  # type: ignore[arg-type]  # in place of a Transformer
    assert scores["accuracy"] == 1.0
    assert scores["loss"] < 1e-15
    assert scores["perplexity"] == 1.0


def test_baselines_are_measured_at_the_same_places(
    make: MakeFeed, model: Transformer, store: TokenStore, tokenizer: Tokenizer
) -> None:
    task = make()
    scores = task.evaluate(model)
    assert scores.keys() == {
        *("loss", "perplexity", "accuracy", "targets", "unigram_loss", "unigram_perplexity", "unigram_accuracy")
    }
    baseline = make(rate=0.99, max_predictions=24).evaluate(model)
    assert baseline["unigram_loss"] == pytest.approx(task.baseline_loss, rel=0.02)  # nearly all places of the same text
    most = int(np.bincount(store.ids).max())
    assert baseline["unigram_accuracy"] == pytest.approx(most / len(store), abs=0.01)


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("whole_words", [True, False])
@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "words"])
def test_special_tokens_are_never_asked_wherever_they_stand(
    kind: Kind, whole_words: bool, pack: bool, texts: list[str], tmp_path: Path
) -> None:
    """Neither those of the frame, nor those written in the text, nor the one for words that are not known."""
    tokenizer = train_tokenizer(kind, texts, vocabulary=300 if kind == "bpe" else 64)
    written = " ".join(["she likes [MASK] \u2603", *tokenizer.special])
    documents = (Document(f"{text} {written} {text}", f"document {place}") for place, text in enumerate(texts))
    store = build_store(documents, tokenizer, tmp_path / "store")
    frame = Frame.encoder(tokenizer)
    rows = PackedRows(store, 24, frame=frame, document_mask=True) if pack else BucketedRows(store, 24, frame=frame)
    masked_words = masks_of(rows, tokenizer, rate=0.6, whole_words=whole_words)
    numbers = np.arange(len(masked_words))
    batch = rows.rows(numbers)
    in_the_text = np.isin(batch.ids, sorted(tokenizer.special_ids)) & ~batch.special
    assert set(batch.ids[in_the_text].tolist()) == tokenizer.special_ids  # all of them stand there
    found = masked_words.batch(numbers, np.zeros_like(numbers), shape=batch.ids.shape)
    assert found.scored_at is not None
    asked = np.zeros(batch.ids.shape, np.bool_)
    asked.ravel()[found.scored_at.flatten().numpy()[found.labels["masked_words"].numpy() >= 0]] = True
    assert not (asked & in_the_text).any()
    assert asked.sum() > 0.5 * (~batch.special & ~in_the_text).sum()
    unigram = masked_words.unigram()
    assert not unigram.counts[sorted(tokenizer.special_ids)].any()
    assert unigram.counts.sum() == len(store) - in_the_text.sum()


def test_without_document_mask_no_document_mask_is_given(
    store: TokenStore, tokenizer: Tokenizer, rows: PackedRows
) -> None:
    open_rows = PackedRows(store, 24, frame=Frame.encoder(tokenizer), document_mask=False)
    for cut, document_mask in ((rows, True), (open_rows, False)):
        task = feed_of(cut, tokenizer, batch=2)
        assert (task.batch(0).inputs.documents is not None) is document_mask


def test_rows_of_many_lengths_come_in_few_shapes(store: TokenStore, tokenizer: Tokenizer, model: Transformer) -> None:
    rows = BucketedRows(store, 24, frame=Frame.encoder(tokenizer))
    task = feed_of(rows, tokenizer, batch=4)
    steps = range(round(task.steps_per_epoch))
    shapes = {tuple((name, value.shape) for name, value in task.batch(step).tensors()) for step in steps}
    assert 1 < len(shapes) == task.shapes <= 12  # the last batch of each length is filled up
    assert sum(task.batch(step).tokens for step in steps) == len(store) + 2 * len(rows)
    assert sum(int(task.batch(step).weights.sum()) for step in steps) == len(rows)
    assert task.evaluate(model)["targets"] > 0


@pytest.mark.long
@pytest.mark.parametrize("accumulate", [3, 6, 8])
def test_a_small_last_batch_is_cut_into_parts_too(
    store: TokenStore, tokenizer: Tokenizer, model: Transformer, tmp_path: Path, accumulate: int
) -> None:
    """The last batch of a length may have fewer rows than a step has parts: still the same weights, in float64."""
    rows = BucketedRows(store, 24, frame=Frame.encoder(tokenizer))
    task = feed_of(rows, tokenizer, batch=8)
    steps = round(task.steps_per_epoch)
    sizes = [int(task.batch(step).weights.sum()) for step in range(steps)]
    assert sum(sizes) == len(rows)
    assert min(sizes) < 8
    assert accumulate == 3 or min(sizes) < accumulate
    trained = []
    for parts in (1, accumulate):
        settings = TrainSection(
            steps=steps, batch=8, accumulate=parts, precision="float64", compile="off", epsilon=1e-6
        )
        mine = copy.deepcopy(model)
        found = list(fit(mine, task, settings, out=tmp_path / str(parts), log=lambda message: None))
        assert [step.step for step in found] == list(range(1, steps + 1))
        trained.append({name: parameter.detach() for name, parameter in mine.named_parameters()})
    whole, cut = trained
    assert max(float((whole[name] - cut[name]).abs().max()) for name in whole) < 1e-11  # sums in another order


def test_a_tokenizer_without_a_mask_is_refused(rows: PackedRows) -> None:
    maskless = train_tokenizer("bpe", ["some text to learn from"], vocabulary=300, special=NONE)
    with pytest.raises(TokenizerError) as raised:
        masks_of(rows, maskless)
    assert str(maskless.vocabulary_size) in raised.value.got


def test_fingerprints_tell_tasks_apart(make: MakeFeed) -> None:
    assert make().fingerprint == make().fingerprint
    assert len({make(**chosen).fingerprint for chosen in ({}, {"rate": 0.3}, {"whole_words": True})}) == 3


def test_fingerprints_tell_how_the_text_is_cut(store: TokenStore, tokenizer: Tokenizer) -> None:
    frame = Frame.encoder(tokenizer)
    cuts = [PackedRows(store, 24, frame=frame, document_mask=document_mask) for document_mask in (True, False)]
    named = {masks_of(rows, tokenizer).fingerprint for rows in cuts}
    named.add(masks_of(BucketedRows(store, 24, frame=frame), tokenizer).fingerprint)
    assert len(named) == 3
