"""Sequences of labels against the enumeration of all of them, in float64.

B sentences · S tokens · L labels
"""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from glassformer.models.chain import Chain, Posterior, viterbi
from glassformer.models.crf import Crf
from glassformer.runtime.compiler import has_compiler

# Sums of at most some hundreds of float64 numbers near 1, in another order.
ORDER = 1e-10
ILLEGAL = float("-inf")


def drawn(labels: int, *, forbid: bool, seed: int = 0) -> Chain:
    """Random scores, a third of them forbidden."""
    torch.manual_seed(seed)
    steps, first, last = (torch.randn(*size, dtype=torch.float64) for size in ((labels, labels), (labels,), (labels,)))
    if forbid:
        steps = steps.where(torch.rand_like(steps) > 0.3, ILLEGAL).fill_diagonal_(0.5)
        first = first.index_fill(0, torch.tensor([1]), ILLEGAL)
        last = last.index_fill(0, torch.tensor([2]), ILLEGAL)
    return Chain(steps, first, last)


def score(sequence: tuple[int, ...], logits: Tensor, chain: Chain) -> float:
    """The score of one sequence of labels, from the definition: logits [N, L]."""
    total = float(chain.first[sequence[0]] + chain.last[sequence[-1]])
    total += sum(float(chain.steps[one, two]) for one, two in itertools.pairwise(sequence))
    return total + sum(float(logits[token, label]) for token, label in enumerate(sequence))


def every(logits: Tensor, chain: Chain) -> dict[tuple[int, ...], float]:
    """All sequences of labels with their scores."""
    tokens, labels = logits.shape
    return {each: score(each, logits, chain) for each in itertools.product(range(labels), repeat=tokens)}


def log_sum(scores: list[float]) -> float:
    top = max(scores, default=ILLEGAL)
    return top if top == ILLEGAL else top + math.log(math.fsum(math.exp(each - top) for each in scores))


@pytest.mark.parametrize("forbid", [False, True])
def test_viterbi_finds_the_best_of_all_sequences(forbid: bool) -> None:
    chain = drawn(4, forbid=forbid)
    logits = torch.randn(6, 7, 4, dtype=torch.float64)
    scored = torch.rand(6, 7) > 0.4
    scored[0], scored[1] = True, False
    found = viterbi(logits, scored, chain)
    for row, its, mine in zip(logits, scored, found, strict=True):
        assert (mine[~its] == 0).all()
        if its.any():
            scores = every(row[its], chain)
            assert tuple(mine[its].tolist()) == max(scores, key=scores.__getitem__)


@pytest.mark.parametrize("forbid", [False, True])
def test_a_part_of_a_sequence_is_as_likely_as_all_sequences_with_it(forbid: bool) -> None:
    chain = drawn(3, forbid=forbid, seed=3)
    logits = torch.randn(5, 3, dtype=torch.float64)
    scores = every(logits, chain)
    posterior, total = Posterior(logits, chain), log_sum(list(scores.values()))
    assert posterior.log_total == pytest.approx(total, abs=ORDER)
    for token, label in itertools.product(range(5), range(3)):
        with_it = log_sum([value for each, value in scores.items() if each[token] == label]) - total
        assert float(posterior.log_marginals()[token, label]) == pytest.approx(with_it, abs=ORDER)
    parts = ((0, (0,), (1,)), (1, (0, 0), (2,)), (3, (2, 1), ()), (2, (0, 2, 1), (0,)), (0, (2,), ()))
    for start, labels, never in parts:
        end = start + len(labels)
        chosen = [
            value
            for each, value in scores.items()
            if each[start:end] == labels and (end == 5 or each[end] not in never)
        ]
        assert posterior.log_probability(start, labels, never) == pytest.approx(log_sum(chosen) - total, abs=ORDER)


def crf_of(labels: int) -> Crf:
    crf = Crf(labels).double()
    torch.manual_seed(1)
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter, std=2.0)
    return crf


def test_the_likelihood_is_that_of_the_enumeration() -> None:
    crf = crf_of(4)
    logits = 3 * torch.randn(6, 6, 4, dtype=torch.float64)
    labels, scored = torch.randint(4, (6, 6)), torch.rand(6, 6) > 0.4
    scored[0], scored[1] = True, False
    found = crf.log_likelihood(logits, labels.where(scored, -100), scored).detach()
    assert float(found[1]) == 0
    for row in (0, 2, 3, 4, 5):
        own = logits[row, scored[row]]
        mine = score(tuple(labels[row, scored[row]].tolist()), own, crf.chain)
        assert float(found[row]) == pytest.approx(mine - log_sum(list(every(own, crf.chain).values())), abs=ORDER)


def test_its_gradient_is_that_of_small_differences() -> None:
    crf = crf_of(3)
    logits = torch.randn(4, 5, 3, dtype=torch.float64, requires_grad=True)
    labels, scored = torch.randint(3, (4, 5)), torch.rand(4, 5) > 0.3
    scored[0], scored[1] = True, False

    def likelihood(logits: Tensor, steps: Tensor, first: Tensor, last: Tensor) -> Tensor:
        own = {"steps": steps, "first": first, "last": last}
        return torch.func.functional_call(crf, own, (logits, labels, scored))

    crf.forward = crf.log_likelihood  # what functional_call calls
    parameters = tuple(each.detach().requires_grad_() for each in (crf.steps, crf.first, crf.last))
    assert torch.autograd.gradcheck(likelihood, (logits, *parameters))


def test_far_scores_stay_finite_in_float32() -> None:
    crf = Crf(3)
    logits = torch.tensor([[[500.0, -500.0, 0.0], [-500.0, 500.0, 0.0]]], requires_grad=True)
    found = crf.log_likelihood(logits, torch.tensor([[0, 0]]), torch.ones(1, 2, dtype=torch.bool))
    found.sum().backward()
    assert float(found.detach()) == -1000
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_compiled_the_likelihood_is_the_same() -> None:
    if not has_compiler(torch.device("cpu")):
        pytest.skip("there is no C++ compiler here")
    crf = crf_of(3)
    logits = torch.randn(4, 9, 3, dtype=torch.float64)
    labels, scored = torch.randint(3, (4, 9)), torch.rand(4, 9) > 0.3
    found = []
    compiled_one = torch.compile(crf.log_likelihood, backend="aot_eager", fullgraph=True, dynamic=False)
    for call in (crf.log_likelihood, compiled_one):
        own = logits.clone().requires_grad_()
        total = call(own, labels, scored)
        found.append((total.detach(), *torch.autograd.grad(total.sum(), (own, *crf.parameters()))))
    for eager, compiled in zip(*found, strict=True):
        assert (eager - compiled).abs().max() < ORDER
