"""What goes in may come as ids or vectors; what is shared is one tensor.

B sentences · S tokens · W width
"""

from dataclasses import replace

import pytest
import torch

from glassformer.base.errors import ShapeError
from glassformer.models.families import slides
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from tests.contracts.families import FAMILIES, ROWS, Row
from tests.refusals import refused

ROUNDING = 1e-12
"""float64; a cache changes the shapes of the products and with them the order of their sums."""


def named(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)


def vectors_for(model: Transformer, inputs: Inputs) -> Inputs:
    stack = model.encoder if model.encoder is not None else model.decoder
    assert stack is not None
    assert inputs.ids is not None
    return replace(inputs, ids=None, vectors=stack.embed.word.weight[inputs.ids])


@pytest.mark.parametrize("row", FAMILIES, ids=str)
def test_ids_or_their_vectors_give_the_same(row: Row) -> None:
    model = row.model()
    inputs, decoder_inputs = row.batch()
    by_ids, by_vectors = model(inputs, decoder_inputs), model(vectors_for(model, inputs), decoder_inputs)
    assert torch.equal(by_ids.states, by_vectors.states)


def test_positions_may_be_given() -> None:
    model = named("bert").model()
    inputs, _ = named("bert").batch(padding="none")
    given = replace(inputs, positions=torch.arange(inputs.shape[1])[None])
    assert torch.equal(model(inputs).states, model(given).states)
    moved = replace(inputs, positions=torch.arange(inputs.shape[1])[None] + 1)
    assert not torch.equal(model(inputs).states, model(moved).states)


def test_only_the_chosen_places_are_scored() -> None:
    model = named("bert").model()
    inputs, _ = named("bert").batch()
    everywhere = model(inputs).logits
    places = torch.tensor([3, 0, 12, 12])
    assert everywhere is not None
    chosen = model(inputs, scored_at=places).logits
    torch.testing.assert_close(chosen, everywhere.flatten(0, 1)[places], rtol=0, atol=ROUNDING)


def parameters(model: Transformer) -> list[str]:
    return [name for name, _ in model.named_parameters()]


@pytest.mark.parametrize("name", ["vaswani2017", "marian", "bart", "t5"])
def test_one_table_serves_encoder_decoder_and_output(name: str) -> None:
    model = named(name).model()
    assert model.encoder is not None
    assert model.decoder is not None
    assert model.head is not None
    assert model.decoder.embed.word is model.encoder.embed.word
    assert model.word_table is model.encoder.embed.word.weight
    assert model.head.weight is None
    assert [name for name in parameters(model) if "embed.word" in name] == ["encoder.embed.word.weight"]


def test_a_tied_table_learns_from_both_its_uses() -> None:
    """Its gradient is that of the look-up plus that of the output: twice as much as either alone."""
    row = named("gpt2")
    inputs, _ = row.batch(padding="none")
    tied, untied = row.model(), named("gpt2, untied").model()
    assert untied.head is not None
    assert untied.head.weight is not None
    untied.load_state_dict({**tied.state_dict(), "head.weight": tied.word_table})
    for model in (tied, untied):
        logits = model(inputs).logits
        assert logits is not None
        logits.logsumexp(dim=-1).sum().backward()
    of_look_up, of_output = untied.word_table.grad, untied.head.weight.grad
    assert of_look_up is not None
    assert of_output is not None
    torch.testing.assert_close(tied.word_table.grad, of_look_up + of_output, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize(
    ("inputs", "wanted", "got"),
    [
        (Inputs(), ("ids", "vectors"), "neither"),
        (
            Inputs(ids=torch.zeros(2, 3, dtype=torch.long), real=torch.ones(2, 4, dtype=torch.bool)),
            ("inputs.real", "[2, 3]"),
            "[2, 4]",
        ),
        (
            Inputs(ids=torch.zeros(2, 3, dtype=torch.long), segments=torch.zeros(3, 3)),
            ("inputs.segments", "[2, 3]"),
            "[3, 3]",
        ),
        (
            Inputs(ids=torch.zeros(2, 3, dtype=torch.long), masked_words=torch.ones(1, 3) > 0),
            ("inputs.masked_words", "[2, 3]"),
            "[1, 3]",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_refused(inputs: Inputs, wanted: tuple[str, ...], got: str) -> None:
    with refused(ShapeError, wanted=wanted, got=got):
        inputs.check()


@pytest.mark.parametrize("may_look", ["own", "shared"])
def test_a_mask_of_ones_own_counts_the_tokens_in_the_cache(may_look: str) -> None:
    model, ids = named("gpt2").model(), torch.randint(3, 23, (2, 5))
    mask = torch.rand(2 if may_look == "own" else 1, 5, 5) < 0.5
    whole = model(Inputs(ids=ids, may_look=mask)).states
    cache = model.new_cache()
    first = model(Inputs(ids=ids[:, :3], may_look=mask[:, :3, :3]), cache=cache).states
    with refused(ShapeError, wanted=("may_look", "[2 or 1, 2, 5]"), got="2, 2]"):
        model(Inputs(ids=ids[:, 3:], may_look=mask[:, 3:, 3:]), cache=cache)
    rest = model(Inputs(ids=ids[:, 3:], may_look=mask[:, 3:]), cache=cache).states
    torch.testing.assert_close(torch.cat((first, rest), dim=1), whole, rtol=0, atol=ROUNDING)


def test_ids_and_segments_beyond_the_tables_are_refused() -> None:
    inputs = Inputs(ids=torch.tensor([[3, 99]]), segments=torch.tensor([[0, 1]]))
    inputs.check_numbers(vocabulary=100, segments=2)
    with refused(ShapeError, wanted=("inputs.ids", "0", "22"), got="99"):
        inputs.check_numbers(vocabulary=23, segments=2)
    with refused(ShapeError, wanted=("inputs.segments", "0"), got="1"):
        inputs.check_numbers(vocabulary=100, segments=1)
    with refused(ShapeError, wanted=("inputs.ids", "0", "22"), got="-1"):
        Inputs(ids=torch.tensor([[-1]])).check_numbers(vocabulary=23, segments=0)


def test_a_text_longer_than_the_model_numbers_is_refused() -> None:
    with refused(ShapeError, wanted="16", got="17", do="max_length"):
        named("bert").model()(Inputs(ids=torch.zeros(1, 17, dtype=torch.long)))


def test_a_model_of_two_stacks_asks_for_its_target() -> None:
    with refused(ShapeError, wanted="decoder_inputs"):
        named("bart").model()(Inputs(ids=torch.zeros(1, 3, dtype=torch.long)))


def test_inputs_move_together() -> None:
    inputs, _ = named("slides").batch()
    moved = inputs.to("meta")
    assert moved.ids is not None
    assert moved.masked_words is not None
    assert {moved.ids.device.type, moved.masked_words.device.type, moved.device.type} == {"meta"}


@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 4), (3, 5, 4), (3, 4, 1), (1, 4, 5)])
def test_a_mask_of_another_shape_is_refused_by_the_model(shape: tuple[int, ...]) -> None:
    model = build(slides())
    inputs = Inputs(ids=torch.zeros(3, 4, dtype=torch.long), may_look=torch.ones(shape, dtype=torch.bool))
    with refused(ShapeError, wanted=("may_look", "[3 or 1, 4, 4]"), got=str(list(shape))):
        model(inputs)
