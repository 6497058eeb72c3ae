"""Where every word in reach is masked, a sentence still looks at no padding, no other document and no future.

B sentences · S tokens
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.api.trace import trace
from glassformer.config import AttentionConfig, BlockConfig, FillConfig, ModelConfig, StackConfig
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from tests.contracts.families import TINY, Padding, Row, cut, dropout_key, every_stack, real_of, real_tokens
from tests.contracts.test_parity_padding import TOLERANCE, compare

LENGTHS = (7, 4, 6)
Change = Callable[[ModelConfig], ModelConfig]


def hiding(rule: str, value: float | str, *, hide: bool = True, **attention: Any) -> Change:
    """Every stack hides its masked words as keys, by this fill."""
    fill = FillConfig.model_validate({"rule": rule, "value": value})

    def body(config: AttentionConfig) -> AttentionConfig:
        return config.model_copy(update={"fill": fill, **attention})

    def block(config: BlockConfig) -> BlockConfig:
        sublayer = config.self_attention
        return config.model_copy(update={"self_attention": sublayer.model_copy(update={"body": body(sublayer.body)})})

    @every_stack
    def change(config: StackConfig) -> StackConfig:
        blocks = tuple(block(one) for one in config.blocks)
        return config.model_copy(update={"blocks": blocks, "hide_masked": hide})

    return change


ROWS = (
    Row("slides", "slides"),
    Row("slides, zeroed after the position", "slides", {"zero": "sum"}),
    Row("slides, two layers, a weak fill", "slides", {"layers": 2, "norm": True, "fill": -3.0}),
    Row("slides, minus infinity", "slides", change=hiding("set", "-inf")),
    *(
        Row(f"bert, {rule} {value}", "bert", change=hiding(rule, value))
        for rule in ("set", "add")
        for value in (-1000.0, "lowest")
    ),
    Row("modernbert, add", "modernbert", change=hiding("add", -1000.0)),
    Row("modernbert, window", "modernbert", change=hiding("set", -1000.0, window=1)),
    Row("gpt2, set", "gpt2", change=hiding("set", -1000.0)),
    Row("gpt2, add, window", "gpt2", change=hiding("add", -1000.0, window=2)),
    Row("llama, add", "llama", change=hiding("add", -1000.0)),
    Row("t5, set", "t5", change=hiding("set", -1000.0)),
)
CAUSAL = tuple(row for row in ROWS if row.config().encoder is None)
ONE_TEXT = tuple(row for row in ROWS if row.family != "t5")


def batch(row: Row, padding: Padding) -> list[Inputs]:
    """Three sentences, and three targets where there are two stacks; all words of all but the last are hidden."""
    config, generator = row.config(), torch.Generator().manual_seed(1)
    sides = []
    for stack in (config.encoder, config.decoder):
        if stack is not None:
            ids = torch.randint(3, stack.embed.vocabulary, (3, max(LENGTHS)), generator=generator)  # [B, S]
            masked_words = torch.ones_like(ids, dtype=torch.bool)
            masked_words[2, 3] = False
            sides.append(Inputs(ids=ids, masked_words=masked_words, real=real_tokens(LENGTHS, padding)))
    return sides


@pytest.mark.sampled(12)
@pytest.mark.parametrize("padding", ["right", "left", "uneven"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_lock_and_among_others(row: Row, padding: Padding) -> None:
    model, sides = row.model(), batch(row, padding)
    together = model(*sides)
    for sentence in range(3):
        compare(together, model(*(cut(side, sentence) for side in sides)), sentence, real_of(sides[-1])[sentence])


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_stands_in_the_padding_is_nobodys_to_see(row: Row) -> None:
    model, sides = row.model(), batch(row, "uneven")
    real = sides[-1].real
    assert real is not None
    others = [replace(side, ids=torch.where(real, of(side), 1)) for side in sides]
    assert torch.equal(model(*sides).states[real], model(*others).states[real])


@pytest.mark.parametrize("row", [row.with_dropout() for row in ROWS], ids=str)
def test_training_alone_and_among_others(row: Row) -> None:
    """The gradients of a batch are the sums of those of its sentences."""
    model, sides = row.model().train(), batch(row, "right")
    together = model(*(replace(side, dropout_key=dropout_key(0, 3)) for side in sides))
    assert sides[-1].real is not None
    slopes = gradients(model, together.states[sides[-1].real])
    summed = {name: torch.zeros_like(slope) for name, slope in slopes.items()}
    for sentence in range(3):
        alone = model(*(replace(cut(side, sentence), dropout_key=dropout_key(sentence, 1)) for side in sides))
        compare(together, alone, sentence, real_of(sides[-1])[sentence])
        for name, slope in gradients(model, alone.states).items():
            summed[name] += slope
    for name, slope in slopes.items():
        # Sums of some hundred products of either sign, some 1e-14 each.
        torch.testing.assert_close(slope, summed[name], rtol=1e-11, atol=1e-11, msg=name)


def gradients(model: Transformer, states: Tensor) -> dict[str, Tensor]:
    """Of a loss that every state enters; 0 where a parameter has no part in the states."""
    model.zero_grad()
    states.square().sum().backward()
    slopes = {
        name: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone()
        for name, parameter in model.named_parameters()
    }
    assert all(bool(slope.isfinite().all()) for slope in slopes.values())
    return slopes


@pytest.mark.parametrize("row", ONE_TEXT, ids=str)
def test_packed_documents_are_as_alone(row: Row) -> None:
    """Three documents in one row, and padding after them as a document of its own."""
    lengths, model = (3, 1, 2), row.model()
    numbers = torch.tensor([[0, 0, 0, 1, 2, 2, 3, 3]])
    real = numbers < 3
    places = torch.tensor([[0, 1, 2, 0, 0, 1, 0, 0]])
    ids = torch.randint(3, 15, (1, 8), generator=torch.Generator().manual_seed(2))
    masked = torch.ones_like(real)
    packed = Inputs(ids=ids, documents=numbers, real=real, positions=places, masked_words=masked)
    states = model(packed).states
    assert bool(states.isfinite().all())
    for number, part in enumerate(states[:, :6].split(lengths, dim=1)):
        here = numbers[0] == number
        alone = model(Inputs(ids=ids[:, here], masked_words=masked[:, here]))
        torch.testing.assert_close(part, alone.states, rtol=0, atol=TOLERANCE)
    gradients(model, states)


@pytest.mark.parametrize("row", CAUSAL, ids=str)
def test_with_and_without_a_cache(row: Row) -> None:
    """And nobody sees what is still to come: each token is as it would be were it the last."""
    model, (side,) = row.model(), batch(row, "none")
    ids, masked_words = of(side), side.masked_words
    assert masked_words is not None
    whole, cache, found = model(side).states, model.new_cache(), []
    for start, stop in ((0, 3), (3, 4), (4, 7)):
        found.append(
            model(Inputs(ids=ids[:, start:stop], masked_words=masked_words[:, start:stop]), cache=cache).states
        )
        last = model(Inputs(ids=ids[:, :stop], masked_words=masked_words[:, :stop])).states
        torch.testing.assert_close(last, whole[:, :stop], rtol=0, atol=TOLERANCE)
    torch.testing.assert_close(torch.cat(found, dim=1), whole, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("padding", ["right", "left"])
@pytest.mark.parametrize("value", [-1000.0, -10000.0, "lowest", "-inf"])
@pytest.mark.parametrize("rule", ["set", "add"])
def test_a_mask_of_ones_own_that_leaves_a_row_without_a_key(rule: str, value: float | str, padding: Padding) -> None:
    row = Row("bert", "bert", change=hiding(rule, value, hide=False))
    model, (side,) = row.model(), batch(row, padding)
    mask = torch.ones(3, 7, 7, dtype=torch.bool)
    mask[:, 3] = False
    side = replace(side, may_look=mask)
    together = model(side)
    for sentence in range(3):
        compare(together, model(cut(side, sentence)), sentence, real_of(side)[sentence])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("padding", ["none", "right", "left", "uneven"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_formulas_hold_and_looking_changes_nothing(row: Row, padding: Padding) -> None:
    found = trace(row.model(), *batch(row, padding))
    assert found.verify().holds, str(found.verify())
    assert found.honesty.holds, str(found.honesty)


# --------------------------------------------------------------------------- anything that can be chosen

FAMILIES: Mapping[str, Mapping[str, Any]] = {
    "slides": {"scaled": True, "norm": True, "layers": 2},
    "bert": {},
    "modernbert": {},
    "gpt2": {},
    "llama": {},
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_chosen_and_whatever_is_hidden(seed: int) -> None:
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    family = rng.choice(list(FAMILIES))
    own_mask = rng.random() < 0.4
    change = hiding(
        rng.choice(("set", "add")),
        rng.choice((-2.0, -1000.0, -10000.0, "lowest")),
        hide=not own_mask or rng.random() < 0.5,
        window=rng.choice((None, None, 1, 3)),
    )
    row = Row(f"{family} {seed}", family, {**TINY[family], **FAMILIES[family]}, change)
    real = real_tokens(LENGTHS, rng.choice(("none", "right", "left", "uneven")))
    masked_words = torch.rand(3, 7, generator=generator) < rng.choice((0.5, 0.9, 1.0))
    documents = torch.randint(0, 2, (3, 7), generator=generator).cumsum(dim=1) if rng.random() < 0.4 else None
    mask = torch.rand(3, 7, 7, generator=generator) < 0.3 if own_mask else None
    ids = torch.randint(3, 15, (3, 7), generator=generator)
    side = Inputs(ids=ids, real=real, masked_words=masked_words, documents=documents, may_look=mask)
    model = row.model(seed=seed)
    together = model(side)
    for sentence in range(3):
        compare(together, model(cut(side, sentence)), sentence, real_of(side)[sentence])
    found = trace(model, side)
    assert found.verify().holds, str(found.verify())
    assert found.honesty.holds, str(found.honesty)


def of(side: Inputs) -> Tensor:
    assert side.ids is not None
    return side.ids
