"""Padding and batch mates change nothing: each sentence answers as it does alone."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from glassformer.models.inputs import Inputs, Output
from tests.contracts.families import ROWS, Padding, Row, cut, dropout_key, real_of

# The same sums over other lengths, in float64.
TOLERANCE = 1e-12
PADDINGS: tuple[Padding, ...] = ("right", "left", "uneven")


@pytest.mark.sampled(24)
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_lock_and_among_others(row: Row, padding: Padding) -> None:
    model = row.model()
    inputs, decoder_inputs = row.batch(padding=padding)
    together = model(inputs, decoder_inputs)
    for sentence in range(3):
        alone = model(*(None if side is None else cut(side, sentence) for side in (inputs, decoder_inputs)))
        compare(together, alone, sentence, real_of(decoder_inputs or inputs)[sentence])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("row", [row.with_dropout() for row in ROWS], ids=str)
def test_lock_and_among_others_while_training(row: Row) -> None:
    """A row's dropout comes from its number and positions, so padding after it and batch mates change nothing."""
    model = row.model().train()
    sides = [
        None if side is None else replace(side, dropout_key=dropout_key(0, 3)) for side in row.batch(padding="right")
    ]
    together = model(*sides)
    answering = sides[1] or sides[0]
    assert answering is not None
    real = real_of(answering)
    for sentence in range(3):
        alone = (
            None if side is None else replace(cut(side, sentence), dropout_key=dropout_key(sentence, 1))
            for side in sides
        )
        compare(together, model(*alone), sentence, real[sentence])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_stands_in_the_padding_is_nobodys_to_see(row: Row) -> None:
    model = row.model()
    inputs, decoder_inputs = row.batch(padding="uneven")
    before = model(inputs, decoder_inputs)
    other = [None if side is None else scribbled(side) for side in (inputs, decoder_inputs)]
    after = model(*other)
    real = real_of(decoder_inputs or inputs)
    assert torch.equal(before.states[real], after.states[real])
    assert before.states.shape == after.states.shape


def scribbled(side: Inputs) -> Inputs:
    """Other tokens where there is padding."""
    assert side.ids is not None
    return replace(side, ids=torch.where(real_of(side), side.ids, 1))


def compare(together: Output, alone: Output, sentence: int, real: Tensor) -> None:
    torch.testing.assert_close(together.states[sentence, real], alone.states[0], rtol=0, atol=TOLERANCE)
    if together.logits is not None:
        assert alone.logits is not None
        torch.testing.assert_close(together.logits[sentence, real], alone.logits[0], rtol=0, atol=TOLERANCE)
    if together.sentence_logits is not None:
        assert alone.sentence_logits is not None
        torch.testing.assert_close(together.sentence_logits[sentence], alone.sentence_logits[0], rtol=0, atol=TOLERANCE)
