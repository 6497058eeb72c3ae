"""Optimizers against their formulas, written out in numpy."""

import numpy as np
import pytest
import torch
from torch import nn

from glassformer.models.transformer import Transformer
from glassformer.training.optimize import MovingAverage, build_optimizer, optimizer_tensors
from glassformer.training.settings import TuneSection
from glassformer.training.tune import parameter_groups, trained
from tests.training.toy import toy_model, toy_settings

STEPS, RATE, BETA1, BETA2, EPSILON, DECAY = 7, 0.01, 0.8, 0.95, 1e-6, 0.1


def run(optimizer_name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Start and end of a matrix and a bias, and the gradients they were given."""
    torch.manual_seed(0)
    layer = nn.Linear(5, 4).double()
    settings = toy_settings(
        optimizer=optimizer_name, learning_rate=RATE, beta1=BETA1, beta2=BETA2, epsilon=EPSILON, decay=DECAY
    )
    optimizer = build_optimizer(layer, settings)
    start = np.concatenate([layer.weight.detach().numpy(), layer.bias.detach().numpy()[:, None]], axis=1)
    gradients = np.random.default_rng(0).normal(size=(STEPS, 4, 6))
    for gradient in gradients:
        layer.weight.grad = torch.tensor(gradient[:, :5])
        layer.bias.grad = torch.tensor(gradient[:, 5])
        optimizer.step()
    end = np.concatenate([layer.weight.detach().numpy(), layer.bias.detach().numpy()[:, None]], axis=1)
    decays = np.array([DECAY] * 5 + [0.0])
    return start, end, gradients, decays


def test_adamw_is_its_formula() -> None:
    """Loshchilov & Hutter 2019, algorithm 2, with the moments' bias corrected."""
    weight, end, gradients, decays = run("adamw")
    mean, square = np.zeros_like(weight), np.zeros_like(weight)
    for step, gradient in enumerate(gradients, start=1):
        mean = BETA1 * mean + (1 - BETA1) * gradient
        square = BETA2 * square + (1 - BETA2) * gradient**2
        update = (mean / (1 - BETA1**step)) / (np.sqrt(square / (1 - BETA2**step)) + EPSILON)
        weight = weight - RATE * (update + decays * weight)
    assert np.abs(weight - end).max() < 1e-14  # a few roundings of numbers near 1


def test_bert_adam_is_its_formula() -> None:
    """google-research/bert `AdamWeightDecayOptimizer`: no correction of the moments' bias."""
    weight, end, gradients, decays = run("bert-adam")
    mean, square = np.zeros_like(weight), np.zeros_like(weight)
    for gradient in gradients:
        mean = BETA1 * mean + (1 - BETA1) * gradient
        square = BETA2 * square + (1 - BETA2) * gradient**2
        weight = weight - RATE * (mean / (np.sqrt(square) + EPSILON) + decays * weight)
    assert np.abs(weight - end).max() < 1e-14


def test_the_two_differ() -> None:
    assert np.abs(run("adamw")[1] - run("bert-adam")[1]).max() > 1e-3


# A step moves the numbers of a matrix by 0.03 times those of an orthogonal one, which are at most about 1. bfloat16 has
# eight bits: they are a few hundredths off. In float64 there are a few roundings of numbers near 1 in each product.
@pytest.mark.parametrize(("products", "tolerance"), [(torch.bfloat16, 0.05 * 3 * 0.03), (torch.float64, 1e-14)])
def test_muon_is_its_formula_at_the_matrices_of_the_blocks_and_adamw_elsewhere(
    products: torch.dtype, tolerance: float
) -> None:
    """Jordan et al. 2024: momentum, then five steps of Newton and Schulz towards the nearest orthogonal matrix."""
    rates = {"learning_rate": RATE, "matrix_learning_rate": 0.03, "momentum": 0.9, "decay": DECAY}
    muon, adamw = toy_model().double(), toy_model().double()
    by_muon = build_optimizer(muon, toy_settings(optimizer="muon", **rates), products=products)
    by_adamw = build_optimizer(adamw, toy_settings(**{"learning_rate": RATE, "decay": DECAY}))
    start = {name: parameter.detach().numpy() for name, parameter in muon.named_parameters()}
    buffers = {name: np.zeros_like(value) for name, value in start.items()}
    generator = torch.Generator().manual_seed(3)
    for _ in range(3):
        for (name, one), two in zip(muon.named_parameters(), adamw.parameters(), strict=True):
            one.grad = torch.randn(one.shape, generator=generator, dtype=torch.float64)
            two.grad = one.grad.clone()
            buffers[name] = 0.9 * buffers[name] + 0.1 * one.grad.numpy()
            if _in_a_block(name, one):
                nesterov = 0.1 * one.grad.numpy() + 0.9 * buffers[name]
                step = 0.03 * max(1.0, one.shape[0] / one.shape[1]) ** 0.5 * _newton_schulz(nesterov)
                start[name] = start[name] * (1 - 0.03 * DECAY) - step
        by_muon.step()
        by_adamw.step()
    others = dict(adamw.named_parameters())
    matrices = 0
    for name, parameter in muon.named_parameters():
        if _in_a_block(name, parameter):
            matrices += 1
            difference = np.abs(parameter.detach().numpy() - start[name]).max()
            assert difference < tolerance, name
        else:
            assert torch.equal(parameter, others[name]), name
    assert matrices == 2 * 6  # query, key, value, output; hidden, output of the feed-forward network


def test_muon_in_bfloat16_is_that_of_torch_to_the_bit() -> None:
    ours, theirs = toy_model(), toy_model()
    settings = toy_settings(optimizer="muon", matrix_learning_rate=0.03, momentum=0.9, decay=DECAY)
    optimizer = build_optimizer(ours, settings, products=torch.bfloat16)
    matrices = {name: each for name, each in theirs.named_parameters() if _in_a_block(name, each)}
    reference = torch.optim.Muon(matrices.values(), lr=0.03, momentum=0.9, weight_decay=DECAY)
    generator = torch.Generator().manual_seed(3)
    for _ in range(3):
        for name, one in ours.named_parameters():
            one.grad = torch.randn(one.shape, generator=generator)
            theirs.get_parameter(name).grad = one.grad.clone()
        optimizer.step()
        reference.step()
    for name, each in matrices.items():
        assert torch.equal(ours.get_parameter(name), each), name


def _in_a_block(name: str, parameter: torch.Tensor) -> bool:
    return ".blocks." in name and parameter.dim() == 2


def _newton_schulz(matrix: np.ndarray) -> np.ndarray:
    x = matrix / np.linalg.norm(matrix)
    x = x.T if x.shape[0] > x.shape[1] else x
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


def test_biases_and_norms_do_not_decay() -> None:
    model = toy_model()
    names = {parameter: name for name, parameter in model.named_parameters()}
    decaying, others = parameter_groups(model, toy_settings(decay=0.01))
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.01, 0.0)
    assert {names[p] for p in others["params"]} == {n for n in names.values() if n.endswith("bias") or "norm" in n}
    assert all(names[p].endswith("weight") for p in decaying["params"])
    assert len(decaying["params"]) + len(others["params"]) == len(names)


def test_each_layer_has_its_share_of_the_rate() -> None:
    """Clark et al. 2020: the heads have the whole rate, each layer below it `layer_decay` of the one above."""
    model = toy_model()
    names = {parameter: name for name, parameter in model.named_parameters()}
    scales = {
        names[parameter]: group["scale"]
        for group in parameter_groups(model, toy_settings(), TuneSection(layer_decay=0.5))
        for parameter in group["params"]
    }
    assert scales.keys() == set(names.values())
    expected = {"head.": 1.0, "encoder.blocks.1.": 0.5, "encoder.blocks.0.": 0.25, "encoder.embed.": 0.125}
    for name, scale in scales.items():
        assert scale == next(share for start, share in expected.items() if name.startswith(start)), name
    assert {group["scale"] for group in parameter_groups(model, toy_settings())} == {1.0}


def test_frozen_parameters_are_left_out() -> None:
    model = toy_model()
    model.requires_grad_(False)
    assert model.head is not None
    model.head.requires_grad_(True)
    assert all(name.startswith("head.") for name in trained(model))
    before = {name: parameter.clone() for name, parameter in model.named_parameters()}
    optimizer = build_optimizer(model, toy_settings())
    for parameter in trained(model).values():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    moved = {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}
    assert moved == set(trained(model))


def test_optimizer_state_is_named_after_its_parameters() -> None:
    model = toy_model()
    tensors = optimizer_tensors(model, build_optimizer(model, toy_settings()))
    assert len(tensors) == 3 * len(trained(model))
    assert tensors["exp_avg.encoder.embed.word.weight"].shape == model.word_table.shape


def test_moving_average_is_its_formula() -> None:
    model = toy_model().double()
    average = MovingAverage(model, 0.9)
    expected = {name: parameter.detach().numpy().copy() for name, parameter in model.named_parameters()}
    for step in range(1, 40):
        _shift(model, step)
        average.update(model, step)
        decay = min(0.9, (1 + step) / (10 + step))
        for name, parameter in model.named_parameters():
            expected[name] = decay * expected[name] + (1 - decay) * parameter.detach().numpy()
    for name, tensor in average.tensors.items():
        assert np.abs(tensor.numpy() - expected[name]).max() < 1e-13


def test_the_average_takes_the_models_place_and_leaves_it() -> None:
    model = toy_model()
    average = MovingAverage(model, 0.5)
    _shift(model, 1)
    trained_table, averaged = model.word_table.clone(), average.tensors["encoder.embed.word.weight"].clone()
    with average.in_place(model):
        assert torch.equal(model.word_table, averaged)
    assert torch.equal(model.word_table, trained_table)
    with pytest.raises(ZeroDivisionError), average.in_place(model):
        1 / 0  # noqa: B018
    assert torch.equal(model.word_table, trained_table)
    average.copy_to(model)
    assert torch.equal(model.word_table, averaged)


def _shift(model: Transformer, step: int) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * step)
