"""The loss against torch's own; compiled, where it has a gradient of its own, as well."""

import math
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.errors import ShapeError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.scoring.cross_entropy import cross_entropy
from tests.refusals import refused

Loss = Callable[[Tensor, Tensor], Tensor]


def example(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Logits of 7 places over 11 tokens, and labels: two places are not asked about, one twice the same token."""
    logits = 4 * torch.randn(7, 11, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    labels = torch.tensor([0, IGNORED, 10, 4, 4, IGNORED, 7])
    return logits.to(dtype).requires_grad_(), labels


@pytest.fixture(params=["eager", "compiled"])
def loss_of(request: pytest.FixtureRequest) -> Iterator[Loss]:
    """Both ways; compiled means traced and differentiated as for a compiler, then run by torch."""
    torch._dynamo.reset()
    if request.param == "eager":
        yield cross_entropy
    else:
        yield torch.compile(cross_entropy, backend="aot_eager", fullgraph=True, dynamic=False)
    torch._dynamo.reset()


def test_the_loss_and_its_gradient_are_torchs(loss_of: Loss) -> None:
    logits, labels = example()
    loss = loss_of(logits, labels)
    (gradient,) = torch.autograd.grad(3 * loss, logits)
    expected = F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")
    (expected_gradient,) = torch.autograd.grad(3 * expected, logits)
    assert abs((loss - expected).item()) < 1e-14  # of a sum of five, added up in another order
    assert (gradient - expected_gradient).abs().max() < 2e-15  # one subtraction is rounded at another place


def test_rows_of_sentences_are_rows(loss_of: Loss) -> None:
    """Logits [B, S, V] with labels [B, S]: also where S = V, which would broadcast."""
    logits = torch.randn(2, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
    labels = torch.tensor([[0, 1, 2, 3, 4], [4, IGNORED, 2, 2, 0]])
    loss = loss_of(logits, labels)
    expected = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=IGNORED, reduction="sum")
    assert abs((loss - expected).item()) < 1e-14
    (mine,), (its,) = torch.autograd.grad(loss, logits), torch.autograd.grad(expected, logits)
    assert (mine - its).abs().max() < 1e-15


@pytest.mark.parametrize("labels", [[1], [[1, 2, 3]], [[1], [2], [3]]])
def test_labels_that_do_not_fit_are_refused(labels: list[object]) -> None:
    with refused(ShapeError, got=("[3, 4]", str(list(torch.tensor(labels).shape)))):
        cross_entropy(torch.zeros(3, 4), torch.tensor(labels))


def test_by_hand(loss_of: Loss) -> None:
    """Even scores for four tokens: ln 4, and each gradient 1/4, less 1 at the right token."""
    logits = torch.zeros(1, 4, dtype=torch.float64, requires_grad=True)
    loss = loss_of(logits, torch.tensor([2]))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == pytest.approx(math.log(4), abs=1e-15)
    assert torch.equal(gradient, torch.tensor([[0.25, 0.25, -0.75, 0.25]], dtype=torch.float64))


def test_nothing_asked_is_no_loss(loss_of: Loss) -> None:
    logits, _ = example()
    loss = loss_of(logits, torch.full((7,), IGNORED))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == 0.0
    assert not gradient.any()


def test_bfloat16_is_summed_in_float32(loss_of: Loss) -> None:
    logits, labels = example(torch.bfloat16)
    loss = loss_of(logits, labels)
    (gradient,) = torch.autograd.grad(loss, logits)
    wide = logits.detach().float().requires_grad_()
    expected = F.cross_entropy(wide, labels, ignore_index=IGNORED, reduction="sum")
    (expected_gradient,) = torch.autograd.grad(expected, wide)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)  # float32, added up in another order
    assert gradient.dtype == torch.bfloat16
    assert (gradient.float() - expected_gradient).abs().max() <= 2**-9  # half a step of bfloat16 below 1


@pytest.mark.parametrize("large", [1e4, math.inf])
def test_scores_far_apart_stay_finite(loss_of: Loss, large: float) -> None:
    logits = torch.tensor([[0.0, -large, 1.0]], dtype=torch.float64, requires_grad=True)
    loss = loss_of(logits, torch.tensor([2]))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert loss.item() == pytest.approx(math.log1p(math.exp(-1)), abs=1e-15)
    assert gradient[0, 1] == 0.0
    assert torch.isfinite(gradient).all()


def test_twice_differentiable_and_functional() -> None:
    logits, labels = example()
    assert torch.autograd.gradgradcheck(lambda given: cross_entropy(given, labels), (logits,))
    gradient = torch.func.grad(lambda given: cross_entropy(given, labels))(logits.detach())
    assert torch.equal(gradient, torch.autograd.grad(cross_entropy(logits, labels), logits)[0])
