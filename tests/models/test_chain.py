"""Sequences of labels against the enumeration of all of them, in float64.

B sentences · S tokens · L labels
"""

import itertools
import math
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from glassformer.models import chain as chain_module
from glassformer.models.chain import Chain, log_probabilities, viterbi
from glassformer.models.crf import Crf
from glassformer.runtime.compiler import has_compiler

# Sums of at most some hundreds of float64 numbers near 1, in another order.
ORDER = 1e-10
ILLEGAL = float("-inf")


def drawn(labels: int, *, forbid: bool, seed: int = 0) -> Chain:
    """Random scores, a third of them forbidden."""
    rng = np.random.default_rng(seed)
    steps, first, last = (rng.normal(size=size) for size in ((labels, labels), labels, labels))
    if forbid:
        steps[rng.random(steps.shape) < 0.3] = ILLEGAL
        np.fill_diagonal(steps, 0.5)
        first[1], last[2] = ILLEGAL, ILLEGAL
    return Chain(steps, first, last)


def score(sequence: tuple[int, ...], logits: Any, chain: Chain) -> float:
    """The score of one sequence of labels, from the definition: logits [N, L]."""
    total = float(chain.first[sequence[0]] + chain.last[sequence[-1]])
    total += sum(float(chain.steps[one, two]) for one, two in itertools.pairwise(sequence))
    return total + sum(float(logits[token, label]) for token, label in enumerate(sequence))


def every(logits: Any, chain: Chain) -> dict[tuple[int, ...], float]:
    """All sequences of labels with their scores."""
    tokens, labels = logits.shape
    return {each: score(each, logits, chain) for each in itertools.product(range(labels), repeat=tokens)}


def log_sum(scores: list[float]) -> float:
    top = max(scores, default=ILLEGAL)
    return top if top == ILLEGAL else top + math.log(math.fsum(math.exp(each - top) for each in scores))


@pytest.mark.parametrize("forbid", [False, True])
def test_viterbi_finds_the_best_of_all_sequences(forbid: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain_module, "STRETCH", 3)
    chain, rng = drawn(4, forbid=forbid), np.random.default_rng(1)
    for tokens in (1, 2, 6, 7):
        logits = rng.normal(size=(tokens, 4))
        scores = every(logits, chain)
        assert tuple(viterbi(logits, chain).tolist()) == max(scores, key=scores.__getitem__)


# The parts of a sentence of five tokens: [start, end), their labels, and those that may not come next.
PARTS = (
    ((0, 1, (0,), (1,)), (1, 3, (0, 0), (2,)), (3, 5, (2, 1), ())),
    ((2, 5, (0, 2, 1), (0,)),),
    ((0, 1, (2,), ()), (4, 5, (0,), (1,))),
    tuple((token, token + 1, (1,), ()) for token in range(5)),
)


@pytest.mark.parametrize("parts", PARTS, ids=str)
@pytest.mark.parametrize("scale", [1.0, 40.0, 1000.0])
@pytest.mark.parametrize("forbid", [False, True])
def test_a_part_of_a_sequence_is_as_likely_as_all_sequences_with_it(
    forbid: bool, scale: float, parts: tuple[tuple[int, int, Any, Any], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where probabilities are far below the smallest float64, and whatever the stretches are."""
    chain = drawn(3, forbid=forbid, seed=3)
    logits = scale * np.random.default_rng(4).normal(size=(5, 3))
    scores = every(logits, chain)
    total = log_sum(list(scores.values()))
    labels, never = np.zeros(5, np.int64), np.zeros((len(parts), 3), bool)
    right = []
    for row, (start, end, own, not_next) in zip(never, parts, strict=True):
        labels[start:end] = own
        row[list(not_next)] = True
        chosen = [
            value
            for each, value in scores.items()
            if each[start:end] == own and (end == 5 or each[end] not in not_next)
        ]
        right.append(log_sum(chosen) - total)
    starts, ends = (np.array([part[side] for part in parts]) for side in (0, 1))
    for stretch in (2, 5):
        monkeypatch.setattr(chain_module, "STRETCH", stretch)
        found = log_probabilities(logits, chain, labels, starts, ends, never)
        assert found == pytest.approx(right, abs=ORDER * scale)


@pytest.mark.long
def test_a_very_long_text_is_decoded_in_little_time_and_memory() -> None:
    """A million tokens took minutes in a loop over torch tensors, and a table of all of them three times."""
    rng, count, chain = np.random.default_rng(0), 60_000, drawn(5, forbid=True)
    logits = rng.normal(size=(count, 5)).astype(np.float32)
    begun = time.process_time()
    tracemalloc.start()
    labels = viterbi(logits, chain)
    ends = np.arange(2, count, 7)
    found = log_probabilities(logits, chain, labels, ends - 2, ends)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found < 1e-9).all()
    assert peak < 3 * logits.nbytes
    assert time.process_time() - begun < 10  # 2 s where nothing else runs; the loop took 20


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


@pytest.mark.parametrize("wrong", [0, 3])
@pytest.mark.parametrize("scale", [1.0, 40.0, 1000.0])
def test_float32_loses_no_digits_of_far_scores(scale: float, wrong: int) -> None:
    """Of a long sentence and its best labels, but for a few: score and sum are some 60,000 at the largest scale."""
    crf = crf_of(5).float()
    logits = scale * torch.randn(4, 64, 5)
    scored = torch.rand(4, 64) > 0.2
    scored[0] = True
    labels = torch.zeros(4, 64, dtype=torch.int64)
    for row, its, mine in zip(logits, scored, labels, strict=True):
        mine[its] = torch.from_numpy(viterbi(row[its].numpy(), crf.chain))
    labels[:, :wrong] = (labels[:, :wrong] + 1) % 5
    found = []
    for dtype in (torch.float32, torch.float64):
        own = logits.to(dtype).requires_grad_()
        each = crf.to(dtype).log_likelihood(own, labels, scored)
        found.append((each.detach(), torch.autograd.grad(each.sum(), own)[0]))
    (single, its_gradient), (double, gradient) = found
    # Two sums of 64 float32 numbers: of steps, about 6 each, and of losses, near 0 where all labels are right.
    assert (single - double).abs().max() <= 5e-5 + 1e-6 * double.abs().max()
    assert (its_gradient - gradient).abs().max() <= 1e-5


def test_far_scores_stay_finite_in_float32() -> None:
    crf = Crf(3)
    logits = torch.tensor([[[500.0, -500.0, 0.0], [-500.0, 500.0, 0.0]]], requires_grad=True)
    found = crf.log_likelihood(logits, torch.tensor([[0, 0]]), torch.ones(1, 2, dtype=torch.bool))
    found.sum().backward()
    assert float(found.detach()) == -1000
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_the_divergence_is_that_of_the_enumeration(temperature: float) -> None:
    student, teacher = crf_of(3), crf_of(3)
    with torch.no_grad():
        for parameter in teacher.parameters():
            parameter.copy_(torch.randn_like(parameter))
    logits, its = torch.randn(4, 5, 3, dtype=torch.float64, requires_grad=True), torch.randn(4, 5, 3).double()
    scored = torch.rand(4, 5) > 0.3
    scored[0], scored[1] = True, False
    found = student.divergence(logits, scored, teacher, its, temperature)
    assert float(found[1].detach()) == 0
    for row in (0, 2, 3):
        both = []
        for crf, own in ((teacher, its), (student, logits.detach())):
            scores = np.array(list(every(own[row, scored[row]], crf.chain).values())) / temperature
            both.append(scores - log_sum(scores.tolist()))
        right, mine = both
        assert float(found[row].detach()) == pytest.approx(float((np.exp(right) * (right - mine)).sum()), abs=ORDER)
    assert student.divergence(logits, scored, student, logits, temperature).detach().abs().max() < ORDER

    def of(logits: Tensor, steps: Tensor, first: Tensor, last: Tensor) -> Tensor:
        own = {"steps": steps, "first": first, "last": last}
        return torch.func.functional_call(student, own, (logits, scored, teacher, its, temperature))

    student.forward = student.divergence  # what functional_call calls
    parameters = tuple(each.detach().requires_grad_() for each in (student.steps, student.first, student.last))
    assert torch.autograd.gradcheck(of, (logits, *parameters))


def test_products_in_bfloat16_are_those_of_the_layers_alone() -> None:
    """A run with autocast: of a sum over all sequences, bfloat16 would leave two digits."""
    crf, logits = crf_of(9).float(), 3 * torch.randn(4, 40, 9)
    labels, scored = torch.randint(9, (4, 40)), torch.ones(4, 40, dtype=torch.bool)
    found = []
    for enabled in (False, True):
        own = logits.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            losses = crf.log_likelihood(own, labels, scored), crf.divergence(own, scored, crf_of(9), logits)
        found.append([*losses, *(torch.autograd.grad(each.sum(), own)[0] for each in losses)])
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))


@pytest.mark.long
@pytest.mark.parametrize("of", ["log_likelihood", "divergence"])
def test_compiled_the_likelihood_is_the_same(of: str) -> None:
    if not has_compiler(torch.device("cpu")):
        pytest.skip("there is no C++ compiler here")
    crf = crf_of(3)
    logits = torch.randn(4, 9, 3, dtype=torch.float64)
    labels, scored = torch.randint(3, (4, 9)), torch.rand(4, 9) > 0.3
    more: tuple[Any, ...] = (labels, scored) if of == "log_likelihood" else (scored, crf_of(3), torch.randn(4, 9, 3))
    found = []
    eager_one = getattr(crf, of)
    compiled_one = torch.compile(eager_one, backend="aot_eager", fullgraph=True, dynamic=False)
    for call in (eager_one, compiled_one):
        own = logits.clone().requires_grad_()
        total = call(own, *more)
        found.append((total.detach(), *torch.autograd.grad(total.sum(), (own, *crf.parameters()))))
    for eager, compiled in zip(*found, strict=True):
        assert (eager - compiled).abs().max() < ORDER
