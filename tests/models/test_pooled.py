"""The vector of a text from its states, wherever its padding is: against NumPy on the states without padding."""

import numpy as np
import pytest
import torch

from glassformer.config import SentenceHeadConfig
from glassformer.models.heads import VECTORS, SentenceHead
from glassformer.models.inputs import Inputs

REAL = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 0, 0, 1, 1], [0, 1, 0, 1, 0]], dtype=torch.bool)


@pytest.mark.parametrize("pooling", VECTORS)
def test_padding_has_no_part_in_the_vector_of_a_text(pooling: str) -> None:
    states = torch.randn(4, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    states[~REAL] += 5  # would be the largest
    found = VECTORS[pooling](states, REAL).numpy()
    for row, real, vector in zip(states.numpy(), REAL.numpy(), found, strict=True):
        own = row[real]
        wanted = {"first": own[0], "mean": own.mean(axis=0), "max": own.max(axis=0)}[pooling]
        np.testing.assert_allclose(vector, wanted, rtol=1e-14)
    whole = VECTORS[pooling](states, torch.ones_like(REAL))
    torch.testing.assert_close(VECTORS[pooling](states, None), whole, rtol=1e-14, atol=0)


@pytest.mark.parametrize("second", [None, torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1], [1, 0, 0, 1, 0], [0] * 5])])
def test_a_pair_is_compared_by_means_difference_and_product(second: torch.Tensor | None) -> None:
    """A text without tokens has the mean 0: of no segments all tokens are the first one's."""
    states = torch.randn(4, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    head = SentenceHead(SentenceHeadConfig(labels=2, pooling="pair"), 3).double()
    found = head.pooled(states, REAL, second)
    segments = torch.zeros(4, 5) if second is None else second
    for row, real, of, vector in zip(states.numpy(), REAL.numpy(), segments.numpy(), found.numpy(), strict=True):
        u, v = (row[real & (of == each)].sum(axis=0) / max((real & (of == each)).sum(), 1) for each in (0, 1))
        np.testing.assert_allclose(vector, np.concatenate([u, v, abs(u - v), u * v]), rtol=1e-14)
    logits = head(states, Inputs(vectors=states, real=REAL, segments=second))
    assert head.output is not None
    torch.testing.assert_close(logits, found @ head.output.weight.T + head.output.bias, rtol=1e-14, atol=0)
