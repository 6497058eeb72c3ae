"""A stack that begins again at any of its blocks gives the states of the whole run, to the bit."""

import pytest
import torch

from tests.contracts.families import ROWS, Row


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_run_from_any_block_ends_as_the_whole_run(row: Row) -> None:
    model, (inputs, own) = row.model(dtype=torch.float32), row.batch()
    stack = model.output_stack
    crossing = model.encoder is not None and model.decoder is not None
    with torch.no_grad():
        memory = model.encoder(inputs) if crossing and model.encoder is not None else None  # [B, K, W]
        side = own if own is not None and crossing else inputs
        real = inputs.real if crossing else None
        whole = stack(side, memory=memory, memory_real=real)  # [B, S, W]
        x, context = stack.enter(side, None, memory, real, None)
        for first in range(len(stack.blocks) + 1):
            assert torch.equal(stack.run_from(first, x, context), whole)
            if first < len(stack.blocks):
                assert not torch.equal(stack.run_from(first + 1, x, context), whole)
                x = stack.blocks[first](x, context)
