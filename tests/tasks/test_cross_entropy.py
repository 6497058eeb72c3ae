"""The loss against torch's own, which chains log_softmax and a choice."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.data.corrupt import IGNORED
from glassformer.tasks.cross_entropy import cross_entropy


def example(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Logits of 7 places over 11 pieces, and labels: two places are not asked about, one twice the same piece."""
    logits = 4 * torch.randn(7, 11, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    labels = torch.tensor([0, IGNORED, 10, 4, 4, IGNORED, 7])
    return logits.to(dtype).requires_grad_(), labels


def test_the_loss_and_its_gradient_are_torchs() -> None:
    logits, labels = example()
    (gradient,) = torch.autograd.grad(3 * cross_entropy(logits, labels), logits)
    expected = F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")
    (expected_gradient,) = torch.autograd.grad(3 * expected, logits)
    assert torch.equal(cross_entropy(logits, labels), expected)
    assert (gradient - expected_gradient).abs().max() < 2e-15  # one subtraction is rounded at another place


def test_the_gradient_is_the_slope() -> None:
    logits, labels = example()
    assert torch.autograd.gradcheck(lambda given: cross_entropy(given, labels), (logits,))


def test_by_hand() -> None:
    """Even scores for four pieces: ln 4, and each gradient 1/4, less 1 at the right piece."""
    logits = torch.zeros(1, 4, dtype=torch.float64, requires_grad=True)
    loss = cross_entropy(logits, torch.tensor([2]))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == pytest.approx(math.log(4), abs=1e-15)
    assert torch.equal(gradient, torch.tensor([[0.25, 0.25, -0.75, 0.25]], dtype=torch.float64))


def test_nothing_asked_is_no_loss() -> None:
    logits, _ = example()
    loss = cross_entropy(logits, torch.full((7,), IGNORED))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == 0.0
    assert not gradient.any()


def test_bfloat16_is_summed_in_float32() -> None:
    logits, labels = example(torch.bfloat16)
    loss = cross_entropy(logits, labels)
    (gradient,) = torch.autograd.grad(loss, logits)
    wide = logits.detach().float().requires_grad_()
    expected = F.cross_entropy(wide, labels, ignore_index=IGNORED, reduction="sum")
    (expected_gradient,) = torch.autograd.grad(expected, wide)
    assert loss.dtype == torch.float32
    assert torch.equal(loss, expected)
    assert gradient.dtype == torch.bfloat16
    assert torch.equal(gradient, expected_gradient.bfloat16())


@pytest.mark.parametrize("large", [1e4, math.inf])
def test_scores_far_apart_stay_finite(large: float) -> None:
    logits = torch.tensor([[0.0, -large, 1.0]], dtype=torch.float64, requires_grad=True)
    loss = cross_entropy(logits, torch.tensor([2]))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == pytest.approx(math.log1p(math.exp(-1)), abs=1e-15)
    assert gradient[0, 1] == 0.0
    assert torch.isfinite(gradient).all()


def test_a_second_derivative_is_refused_and_not_wrong() -> None:
    logits, labels = example()
    loss = cross_entropy(logits, labels)
    (gradient,) = torch.autograd.grad(loss, logits, create_graph=True)
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(gradient.square().sum(), logits)
