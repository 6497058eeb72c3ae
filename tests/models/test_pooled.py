"""The vector of a text from its states, wherever its padding is: against NumPy on the states without padding."""

import numpy as np
import pytest
import torch

from glassformer.models.heads import VECTORS

REAL = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 1, 0, 1, 0]], dtype=torch.bool)


@pytest.mark.parametrize("pooling", VECTORS)
def test_padding_has_no_part_in_the_vector_of_a_text(pooling: str) -> None:
    states = torch.randn(4, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    states[~REAL] += 5  # would be the largest
    found = VECTORS[pooling](states, REAL).numpy()
    for row, real, vector in zip(states.numpy(), REAL.numpy(), found, strict=True):
        own = row[real]
        wanted = {"mean": own.mean(axis=0), "mean_pooler": own.mean(axis=0), "max": own.max(axis=0)}.get(
            pooling, own[0]
        )
        np.testing.assert_allclose(vector, wanted, rtol=1e-14)
    whole = VECTORS[pooling](states, torch.ones_like(REAL))
    torch.testing.assert_close(VECTORS[pooling](states, None), whole, rtol=1e-14, atol=0)
