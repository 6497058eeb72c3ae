"""The slides' encoder: masked words leak nowhere, zeroing has an order, and order needs positions.

B sentences · S tokens · W width
"""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Tensor

from glassformer.bundled.texts import slides as texts
from glassformer.config import ModelConfig
from glassformer.models.families import slides
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from tests.contracts.families import random_weights
from tests.taps import record_taps

WEIGHTS = "encoder.blocks.0.self_attention.weights"


def sentences() -> Inputs:
    """The three sentences as numbers of their fifteen words, with their four masked words."""
    story = texts()
    number = {word: place for place, word in enumerate(story.vocabulary)}
    return Inputs(
        ids=torch.tensor([[number[word] for word in sentence.words] for sentence in story.sentences]),
        masked_words=torch.tensor(
            [[place in sentence.masked_words for place in range(5)] for sentence in story.sentences]
        ),
    )


def model(config: ModelConfig, *, seed: int = 0) -> Transformer:
    return random_weights(Transformer(config), seed=seed).double().eval()


def answers(module: Transformer, inputs: Inputs) -> Tensor:
    logits = module(inputs).logits
    assert logits is not None
    return logits.detach()


def exchanged(inputs: Inputs) -> Inputs:
    """Other words where words are masked: no model that does not see them can tell."""
    assert inputs.ids is not None
    assert inputs.masked_words is not None
    return replace(inputs, ids=torch.where(inputs.masked_words, (inputs.ids + 7) % 15, inputs.ids))


@pytest.mark.parametrize("zero", ["word", "sum"])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("extras", [False, True])
def test_a_masked_word_changes_no_output_by_one_bit(zero: Literal["word", "sum"], layers: int, extras: bool) -> None:
    module = model(
        slides(zero=zero, layers=layers, norm=extras, scaled=extras, biases=extras, feed_forward_residual=extras)
    )
    assert torch.equal(answers(module, sentences()), answers(module, exchanged(sentences())))


def test_masked_words_leak_when_nothing_is_hidden() -> None:
    module = model(slides(hide=False))
    difference = (answers(module, sentences()) - answers(module, exchanged(sentences()))).abs()
    assert float(difference.amax(dim=-1).min()) > 1e-6, "each place of each sentence should differ"


def test_leaving_its_vector_in_place_leaks_through_the_residual() -> None:
    """The slides' own warning: masked as a key only, a word still reaches its own place by being added back."""
    config = slides()
    assert config.encoder is not None
    embed = config.encoder.embed.model_copy(update={"masked_words": "token"})
    module = model(config.model_copy(update={"encoder": config.encoder.model_copy(update={"embed": embed})}))
    inputs = sentences()
    difference = (answers(module, inputs) - answers(module, exchanged(inputs))).abs().amax(dim=-1)  # [B, S]
    assert inputs.masked_words is not None
    assert bool((difference[inputs.masked_words] > 1e-6).all())
    assert bool((difference[~inputs.masked_words] == 0).all())


def test_zeroing_the_vector_alone_leaks_nothing_either_but_the_key_is_still_weighed() -> None:
    """Why the slides mask the scores as well: a zeroed word leaks nothing, yet takes its share of the weights."""
    config = slides()
    assert config.encoder is not None
    module = model(config.model_copy(update={"encoder": config.encoder.model_copy(update={"hide_masked": False})}))
    inputs = sentences()
    assert torch.equal(answers(module, inputs), answers(module, exchanged(inputs)))
    with record_taps(module) as seen:
        module(inputs)
    assert float(seen[WEIGHTS][0, :, 0, 1:3].detach().min()) > 0


@pytest.mark.parametrize("seed", range(3))
def test_zeroing_after_the_position_makes_neighbours_twins(seed: int) -> None:
    """C-2: likes and the are then the same zero vector with the same uniform weights: one answer for two words."""
    inputs = sentences()
    module = model(slides(zero="sum"), seed=seed)
    with record_taps(module) as seen:
        logits = answers(module, inputs)
    likes, the = logits[0, 1], logits[0, 2]
    assert torch.equal(likes, the)
    third = torch.tensor([1 / 3, 0, 0, 1 / 3, 1 / 3], dtype=torch.float64)
    for row in (1, 2):
        torch.testing.assert_close(seen[WEIGHTS][0, :, row], third.expand(2, -1), rtol=0, atol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_zeroing_the_word_before_the_position_keeps_neighbours_apart(seed: int) -> None:
    logits = answers(model(slides(zero="word"), seed=seed), sentences())
    assert float((logits[0, 1] - logits[0, 2]).abs().max()) > 1e-3


ORDER = torch.tensor([3, 0, 4, 1, 2])


def shuffled(inputs: Inputs) -> Inputs:
    assert inputs.ids is not None
    assert inputs.masked_words is not None
    return Inputs(ids=inputs.ids[:, ORDER], masked_words=inputs.masked_words[:, ORDER])


def test_without_positions_outputs_move_with_their_words() -> None:
    """C-1: attention is equivariant, f(Px) = P f(x); what stays the same is only a sum over all words."""
    module = model(slides(positions="none", layers=2))
    plain, moved = answers(module, sentences()), answers(module, shuffled(sentences()))
    # Sums over the keys run in another order: the last digits of float64 may differ.
    torch.testing.assert_close(moved, plain[:, ORDER], rtol=0, atol=1e-12)
    torch.testing.assert_close(moved.sum(dim=1), plain.sum(dim=1), rtol=0, atol=1e-12)
    assert float((moved - plain).abs().max()) > 1e-3, "equivariant is not invariant"


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_with_positions_order_matters(positions: Literal["sinusoidal", "learned"]) -> None:
    module = model(slides(positions=positions, layers=2))
    plain, moved = answers(module, sentences()), answers(module, shuffled(sentences()))
    assert float((moved - plain[:, ORDER]).abs().max()) > 1e-3
