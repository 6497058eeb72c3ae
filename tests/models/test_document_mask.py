"""Documents packed into one row with a document mask compute exactly what each computes alone.

B sentences · S tokens · W width
"""

import pytest
import torch
from torch import Tensor

import glassformer
from glassformer.models.inputs import Inputs
from glassformer.models.stack import Stack
from tests.contracts.families import OF_ANY_LENGTH, ROWS, Row

LENGTHS = (4, 1, 6, 3)

ROUNDING = 1e-12
"""A longer row sums its zeros in another order: float64 differs in the last digits."""


def packed(documents: list[Tensor], *, positions: bool = True, document_mask: bool = True) -> Inputs:
    """All documents in one row; positions start again at each."""
    ids = torch.cat(documents)[None]
    places = torch.cat([torch.arange(len(document)) for document in documents])[None]
    numbers = torch.cat([torch.full((len(document),), k) for k, document in enumerate(documents)])[None]
    return Inputs(ids=ids, positions=places if positions else None, documents=numbers if document_mask else None)


def draw_documents(vocabulary: int) -> list[Tensor]:
    return [torch.randint(vocabulary, (length,)) for length in LENGTHS]


def first_stack(row: Row) -> tuple[Stack, list[Tensor]]:
    """The stack that reads the text, and documents for it."""
    model = row.model()
    stack = model.encoder if model.encoder is not None else model.decoder
    assert stack is not None
    return stack, draw_documents(stack.embed.word.weight.shape[0])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", OF_ANY_LENGTH, ids=str)
def test_each_packed_document_equals_its_lone_run(row: Row) -> None:
    """Learned, sinusoidal, rotary and relative positions, windows and causal stacks: walls hold in all of them."""
    stack, documents = first_stack(row)
    together = stack(packed(documents)).split(LENGTHS, dim=1)
    for document, states in zip(documents, together, strict=True):
        torch.testing.assert_close(states, stack(Inputs(ids=document[None])), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("row", [row for row in ROWS if row.name in ("marian", "bart", "t5", "vaswani2017")], ids=str)
def test_each_packed_pair_equals_its_lone_run(row: Row) -> None:
    """A token of the target looks at the source of its own pair alone."""
    model = row.model()
    sources, targets = draw_documents(model.word_table.shape[0]), draw_documents(model.word_table.shape[0])[::-1]
    together = model(packed(sources), packed(targets)).states.split(LENGTHS[::-1], dim=1)
    for source, target, states in zip(sources, targets, together, strict=True):
        alone = model(Inputs(ids=source[None]), Inputs(ids=target[None])).states
        torch.testing.assert_close(states, alone, rtol=0, atol=ROUNDING)


def test_a_packed_pair_is_explained_as_it_was_computed() -> None:
    model = next(row for row in ROWS if row.name == "marian").model()
    sources, targets = draw_documents(model.word_table.shape[0]), draw_documents(model.word_table.shape[0])
    found = glassformer.trace(model, packed(sources), packed(targets), dtype=torch.float64)
    assert found.verify().holds
    may_look = found["decoder.blocks.0.cross_attention.may_look"]
    assert int(may_look.sum()) == sum(length * length for length in LENGTHS)


@pytest.mark.parametrize("row", [row for row in ROWS if row.name in ("bert", "modernbert", "gpt2")], ids=str)
def test_without_document_mask_documents_would_look_at_each_other(row: Row) -> None:
    stack, documents = first_stack(row)
    together = stack(packed(documents, document_mask=False)).split(LENGTHS, dim=1)
    alone = stack(Inputs(ids=documents[2][None]))
    assert float((together[2] - alone).detach().abs().max()) > 1e-3


@pytest.mark.parametrize("row", [row for row in ROWS if row.name in ("bert", "gpt2", "vaswani2017")], ids=str)
def test_without_restarting_positions_would_be_others(row: Row) -> None:
    stack, documents = first_stack(row)
    together = stack(packed(documents, positions=False)).split(LENGTHS, dim=1)
    alone = stack(Inputs(ids=documents[2][None]))
    assert float((together[2] - alone).detach().abs().max()) > 1e-3


def test_document_mask_and_padding_in_the_same_row() -> None:
    row = next(row for row in ROWS if row.name == "bert")
    stack, documents = first_stack(row)
    plain = packed(documents)
    assert plain.ids is not None
    assert plain.positions is not None
    assert plain.documents is not None
    rest = torch.zeros(1, 2, dtype=torch.long)
    padded = Inputs(
        ids=torch.cat((plain.ids, rest), dim=1),
        positions=torch.cat((plain.positions, rest), dim=1),
        documents=torch.cat((plain.documents, rest - 1), dim=1),
        real=torch.arange(16)[None] < 14,
    )
    states = stack(padded)
    assert bool(states.isfinite().all())
    torch.testing.assert_close(states[:, :14], stack(plain), rtol=0, atol=ROUNDING)
