"""Word dropout of taggers: which tokens become [MASK], and that only training sees it.

B rows · S tokens of a row
"""

import dataclasses
import math

import pytest
import torch
from torch import Tensor

from glassformer.models.inputs import Batch
from glassformer.models.transformer import build
from glassformer.tasks.labels.tag.settings import TagSection
from glassformer.tasks.labels.tag.task import Tag
from glassformer.tasks.rows import Row, collate
from glassformer.text.tokenizer import Tokenizer
from tests.contracts.families import ROWS

BERT = next(row for row in ROWS if row.name == "bert")
LABELS = ("O", "B-a", "I-a")
SENTENCES = (["she", "likes", "summer"], ["summer", "better", "she", "she", "likes"], ["likes"])


def tagger(tokenizer: Tokenizer, rate: float) -> Tag:
    return Tag(TagSection(labels=LABELS, word_dropout=rate), tokenizer, length=12)


def rows_of(task: Tag) -> list[Row]:
    examples = [task.example({"words": words, "tags": ["O"] * len(words)}, "") for words in SENTENCES]
    return [row for example in examples for row in task.rows(example)]


def batch_of(task: Tag, rows: list[Row], first: int = 0) -> Batch:
    pad = task.tokenizer.pad_id
    assert pad is not None
    batch = collate(rows, pad_id=pad, axes=task.axes)
    batch = dataclasses.replace(batch, row_ids=batch.row_ids + first)
    return batch.with_dropout_key(torch.tensor(7, dtype=torch.int32))


def ids_of(batch: Batch) -> Tensor:
    assert batch.inputs.ids is not None
    return batch.inputs.ids


def test_whole_words_are_dropped_at_the_rate_and_special_tokens_never(tokenizer: Tokenizer) -> None:
    task, mask, rate = tagger(tokenizer, 0.3), tokenizer.mask_id, 0.3
    assert mask is not None
    batch = batch_of(task, rows_of(task) * 400)
    dropped = task._dropped(batch, mask)  # [B, S]
    words = dropped_words = 0
    for ids, seen, labels in zip(ids_of(batch).tolist(), dropped.tolist(), batch.labels["tag"].tolist(), strict=True):
        begins = [place for place, label in enumerate(labels) if label >= 0]
        end = max(place for place, id_ in enumerate(ids) if id_ not in tokenizer.special_ids) + 1
        assert seen[: begins[0]] == ids[: begins[0]]
        assert seen[end:] == ids[end:]
        for start, stop in zip(begins, [*begins[1:], end], strict=True):
            words += 1
            dropped_words += seen[start:stop] == [mask] * (stop - start)
            assert seen[start:stop] in ([mask] * (stop - start), ids[start:stop])
    # Five standard deviations of a share of so many words.
    assert abs(dropped_words / words - rate) < 5 * math.sqrt(rate * (1 - rate) / words)


def test_the_choice_for_a_row_depends_on_no_other_row(tokenizer: Tokenizer) -> None:
    task, mask = tagger(tokenizer, 0.5), tokenizer.mask_id
    assert mask is not None
    rows = rows_of(task)
    together = task._dropped(batch_of(task, rows), mask)
    for place, row in enumerate(rows):
        alone = task._dropped(batch_of(task, [row], first=place), mask)[0]
        assert together[place, : len(alone)].tolist() == alone.tolist()


@pytest.mark.parametrize("training", [False, True])
def test_a_loss_in_training_is_that_of_the_remaining_words(tokenizer: Tokenizer, training: bool) -> None:
    task, mask = tagger(tokenizer, 0.5), tokenizer.mask_id
    assert mask is not None
    config = task.model(BERT.config(vocabulary=tokenizer.vocabulary_size))
    model = build(config, seed=3).double().train(training)
    batch = batch_of(task, rows_of(task))
    ids = task._dropped(batch, mask) if training else ids_of(batch)
    assert training == bool((ids != ids_of(batch)).any())
    seen = dataclasses.replace(batch, inputs=dataclasses.replace(batch.inputs, ids=ids))
    expected = tagger(tokenizer, 0.0).losses(model, seen)["tag"]
    assert torch.equal(task.losses(model, batch)["tag"], expected)
