"""The blocked cross-entropy against torch's own, loss and gradients, in float64 and in bfloat16."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from glassformer.base.errors import ShapeError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.scoring import cross_entropy as module
from glassformer.scoring.cross_entropy import block_rows, blocked_cross_entropy
from tests.refusals import refused

# Sums of a few thousand float64 numbers near 1, in another order.
ORDER = 1e-12


def given(*, rows: int = 23, width: int = 6, vocabulary: int = 17) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """States, table, bias and labels, some of them IGNORED."""
    torch.manual_seed(3)
    states, table, bias = torch.randn(rows, width), torch.randn(vocabulary, width), torch.randn(vocabulary)
    labels = torch.randint(vocabulary, (rows,))
    labels[::5] = IGNORED
    return states.double(), table.double(), bias.double(), labels


def learned(loss: Tensor, *leaves: Tensor) -> list[Tensor]:
    """The gradients of a loss that is scaled, as a step divides it by its count."""
    return list(torch.autograd.grad(loss / 7, leaves))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize(("scores", "in_parts"), [(17, 1), (100, 40), (10_000, 100), (10_000, 10_000)])
def test_loss_and_gradients_are_torchs(
    smoothing: float, scores: int, in_parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", scores * 8)
    monkeypatch.setattr(module, "_PART_SCORES", in_parts)
    states, table, bias, labels = given()
    leaves = [each.clone().requires_grad_() for each in (states, table, bias)]
    assert block_rows(23, 17, 8) == {17: 1, 100: 6, 10_000: 23}[scores]
    mine = blocked_cross_entropy(leaves[0], leaves[1], leaves[2], labels, smoothing=smoothing)
    scores_of_all = leaves[0] @ leaves[1].T + leaves[2]
    theirs = F.cross_entropy(scores_of_all, labels, ignore_index=IGNORED, reduction="sum", label_smoothing=smoothing)
    assert mine.item() == pytest.approx(theirs.item(), abs=ORDER)
    for one, other in zip(learned(mine, *leaves), learned(theirs, *leaves), strict=True):
        assert (one - other).abs().max() < ORDER


def test_the_right_answer_has_what_the_others_leave() -> None:
    """Equation 14 of Szegedy et al.: the cross-entropy with q = (1 − ε)·δ + ε/V."""
    states, table, bias, labels = given()
    asked = labels != IGNORED
    log_probabilities = (states @ table.T + bias)[asked].log_softmax(dim=-1)
    share = torch.full_like(log_probabilities, 0.1 / 17)
    share[torch.arange(len(share)), labels[asked]] += 0.9
    loss = blocked_cross_entropy(states, table, bias, labels, smoothing=0.1)
    assert loss.item() == pytest.approx(-(share * log_probabilities).sum().item(), abs=ORDER)


@pytest.mark.parametrize("never", [(16,), (0, 5)])
def test_a_token_that_no_answer_has_is_no_target_of_the_smoothing(never: tuple[int, ...]) -> None:
    """Its probability is as in the softmax, and the loss does not depend on how small it is made by its bias."""
    states, table, bias, labels = given()
    labels = labels.where(torch.isin(labels, torch.tensor(never)).logical_not(), 3)
    leaves = [each.clone().requires_grad_() for each in (states, table, bias)]
    mine = blocked_cross_entropy(leaves[0], leaves[1], leaves[2], labels, smoothing=0.1, never=never)
    logarithms = (leaves[0] @ leaves[1].T + leaves[2]).log_softmax(dim=1)[labels != IGNORED]
    possible = [token for token in range(17) if token not in never]
    right = logarithms.gather(1, labels[labels != IGNORED][:, None]).sum()
    theirs = -0.9 * right - 0.1 * logarithms[:, possible].mean(dim=1).sum()
    assert mine.item() == pytest.approx(theirs.item(), abs=ORDER)
    for one, other in zip(learned(mine, *leaves), learned(theirs, *leaves), strict=True):
        assert (one - other).abs().max() < ORDER
    excluded = [bias.index_fill(0, torch.tensor(never), least) for least in (-1e4, -1e6)]
    low, lower = (
        blocked_cross_entropy(states, table, each, labels, smoothing=0.1, never=never).item() for each in excluded
    )
    assert low == lower


def test_without_a_bias_and_with_a_frozen_table() -> None:
    states, table, _, labels = given()
    leaf = states.clone().requires_grad_()
    mine = blocked_cross_entropy(leaf, table, None, labels)
    theirs = F.cross_entropy(leaf @ table.T, labels, ignore_index=IGNORED, reduction="sum")
    assert (learned(mine, leaf)[0] - learned(theirs, leaf)[0]).abs().max() < ORDER


def test_in_bfloat16_it_is_as_near_as_bfloat16() -> None:
    states, table, bias, labels = given(rows=64, width=16)
    leaves = [each.float().requires_grad_() for each in (states, table, bias)]
    exact = [each.clone().requires_grad_() for each in (states, table, bias)]
    with torch.autocast("cpu", torch.bfloat16):
        mine = blocked_cross_entropy(leaves[0], leaves[1], leaves[2], labels, smoothing=0.1)
    theirs = blocked_cross_entropy(exact[0], exact[1], exact[2], labels, smoothing=0.1)
    assert mine.dtype == torch.float32
    assert mine.item() == pytest.approx(theirs.item(), rel=1e-2)  # eight bits of each factor
    for one, other in zip(learned(mine, *leaves), learned(theirs, *exact), strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() < 1e-2 * other.norm()


def test_the_scores_of_all_tokens_are_never_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1 << 18)
    states, table, bias, labels = given(rows=1024, width=8, vocabulary=2048)
    leaves = [each.float().requires_grad_() for each in (states, table, bias)]
    with torch.profiler.profile(profile_memory=True, activities=[torch.profiler.ProfilerActivity.CPU]) as profiled:
        blocked_cross_entropy(leaves[0], leaves[1], leaves[2], labels, smoothing=0.1).backward()
    largest = max(event.self_cpu_memory_usage for event in profiled.events())
    assert 0 < largest < 1024 * 2048  # an eighth of what the scores of all tokens take in float32


def test_no_label_costs_nothing() -> None:
    states, table, bias, labels = given()
    leaf = states.clone().requires_grad_()
    loss = blocked_cross_entropy(leaf, table, bias, torch.full_like(labels, IGNORED), smoothing=0.1)
    assert loss.item() == 0
    assert learned(loss, leaf)[0].abs().max() == 0


def test_shapes_that_do_not_fit_are_refused() -> None:
    states, table, bias, labels = given()
    with refused(ShapeError, got=("[23, 6]", "[22]")):
        blocked_cross_entropy(states, table, bias, labels[:-1])
