"""One step of training reaches every matrix, and recomputing a block instead of remembering it changes nothing."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.parts.dropout import DropoutKey
from tests.contracts.families import FAMILIES, ROWS, Row


def loss_of(model: Transformer, inputs: Inputs, decoder_inputs: Inputs | None) -> Tensor:
    """Something that needs every head the model has."""
    output = model(inputs, decoder_inputs)
    total = torch.zeros((), dtype=torch.float64)
    for logits in (output.logits, output.sentence_logits):
        if logits is not None:
            flat = logits.flatten(0, -2)
            total = total + F.cross_entropy(flat, torch.arange(len(flat)) % flat.shape[-1])
    return total


def gradients_of(model: Transformer) -> dict[str, Tensor]:
    return {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_matrix_has_a_gradient_and_moves(row: Row) -> None:
    model = row.model().train()
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    loss_of(model, *row.batch()).backward()
    optimizer.step()
    matrices = {name: parameter for name, parameter in model.named_parameters() if parameter.dim() > 1}
    assert matrices
    for name, parameter in matrices.items():
        assert parameter.grad is not None, name
        assert float(parameter.grad.abs().max()) > 0, name
        assert not torch.equal(parameter.detach(), before[name]), name


@pytest.mark.sampled(6)
@pytest.mark.parametrize("row", FAMILIES, ids=str)
def test_recomputing_blocks_gives_the_same_gradients(row: Row) -> None:
    """With dropout on: the second run of a block must drop what the first dropped."""
    dropping = row.with_dropout()
    inputs, decoder_inputs = dropping.batch()
    dropout_key = DropoutKey(torch.tensor(11, dtype=torch.int32), torch.arange(inputs.shape[0], dtype=torch.int32))
    inputs = Inputs(**{**vars(inputs), "dropout_key": dropout_key})
    gradients = []
    for recompute in (False, True):
        model = dropping.model().train()
        for stack in (model.encoder, model.decoder):
            if stack is not None:
                stack.recompute = recompute
        loss_of(model, inputs, decoder_inputs).backward()
        gradients.append(gradients_of(model))
    assert gradients[0].keys() == gradients[1].keys()
    for name, plain in gradients[0].items():
        assert torch.equal(plain, gradients[1][name]), name
    still = row.model().train()
    loss_of(still, inputs, decoder_inputs).backward()
    moved = [not torch.equal(plain, gradients_of(still)[name]) for name, plain in gradients[0].items()]
    assert any(moved), "dropout was never on: this test could not have failed"
