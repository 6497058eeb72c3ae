"""AdamW, BERT's variant of it, Muon, and averages of weights."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.training.settings import TrainSection, TuneSection
from glassformer.training.tune import parameter_groups, trained


class Muon(torch.optim.Muon):
    """torch's Muon with its Newton–Schulz steps in `products`, which torch always computes in bfloat16. In bfloat16 the
    weights are those of torch's to the bit. Where a processor has no bfloat16 products, these take four times as long
    as float32's (decisions/2026-11-22-arms-of-masked-words.md).
    """

    def __init__(
        self,
        groups: list[dict[str, Any]],
        *,
        rate: float,
        momentum: float,
        newton_schulz_steps: int,
        products: torch.dtype,
    ) -> None:
        super().__init__(groups, lr=rate, momentum=momentum, ns_steps=newton_schulz_steps)
        self.products = products

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Change the matrices [R, C] once, by the gradients that they have; `closure` may compute these first."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        for group in self.param_groups:
            rate, momentum = float(group["lr"]), group["momentum"]
            for matrix in (each for each in group["params"] if each.grad is not None):
                buffer = self.state[matrix]["momentum_buffer"]  # [R, C]
                buffer.lerp_(matrix.grad, 1 - momentum)
                ahead = matrix.grad.lerp(buffer, momentum).to(self.products)  # [R, C], Nesterov's
                turned = newton_schulz(ahead, group["ns_steps"], group["ns_coefficients"], group["eps"])  # [R, C]
                rows, columns = matrix.shape
                matrix.mul_(1 - rate * group["weight_decay"])
                matrix.add_(turned, alpha=-rate * math.sqrt(max(1, rows / columns)))
        return loss


def newton_schulz(matrix: Tensor, steps: int, coefficients: tuple[float, float, float], epsilon: float) -> Tensor:
    """[R, C] towards the nearest matrix with orthogonal rows or columns: after each step all singular values are nearer
    to 1, or near it. x becomes a·x + (b·G + c·G²) x, where G = x xᵀ.
    """
    a, b, c = coefficients
    rows, columns = matrix.shape
    x = matrix.T if rows > columns else matrix  # [M, N]
    x = x / x.norm().clamp(min=epsilon)
    for _ in range(steps):
        gram = x @ x.T  # [M, M]
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if rows > columns else x  # [R, C]


# Adam divides by 1 - beta^step. At this step, the largest integer that float32 counts to, both divisors are 1.
NO_BIAS_CORRECTION_STEP = 2.0**24


@dataclass(frozen=True)
class Optimizers:
    """One or two optimizers that together step every trained parameter once."""

    each: tuple[torch.optim.Optimizer, ...]

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [group for one in self.each for group in one.param_groups]

    def state_of(self, parameter: nn.Parameter) -> dict[str, Tensor]:
        """What the optimizer of a parameter keeps for it; {} where none steps it."""
        return next((one.state[parameter] for one in self.each if parameter in one.state), {})

    def step(self) -> None:
        for one in self.each:
            one.step()

    def zero_grad(self, *, set_to_none: bool = True) -> None:
        for one in self.each:
            one.zero_grad(set_to_none=set_to_none)


def build_optimizer(
    model: nn.Module, settings: TrainSection, *, tune: TuneSection | None = None, products: torch.dtype = torch.float32
) -> Optimizers:
    """The optimizer of the settings for all parameters that have a gradient now, with all its state allocated, so that
    it can be saved and restored at any time. `products` is the type in which the machine computes matrix products:
    Muon's are computed in it.

    `adamw` is AdamW (Loshchilov & Hutter 2019). `bert-adam` leaves out the bias correction, as google-research/bert
    does: its step count starts where the correction is 1. `muon` orthogonalizes the momentum of the matrices inside the
    blocks (Jordan et al. 2024) and leaves tables, heads and vectors to AdamW.
    """
    groups = parameter_groups(model, settings, tune)
    matrices = [group for group in groups if group["matrices"]]
    others = [group for group in groups if not group["matrices"]]
    each: list[torch.optim.Optimizer] = []
    if others:
        each.append(_adamw(others, settings))
    if matrices:
        each.append(_muon(matrices, settings, products))
    return Optimizers(tuple(each))


def _adamw(groups: list[dict[str, Any]], settings: TrainSection) -> torch.optim.AdamW:
    optimizer = torch.optim.AdamW(
        groups, lr=settings.rate, betas=(settings.beta1, settings.beta2), eps=settings.epsilon, fused=True
    )
    first = NO_BIAS_CORRECTION_STEP if settings.optimizer == "bert-adam" else 0.0
    for parameter in (parameter for group in groups for parameter in group["params"]):
        optimizer.state[parameter] = {
            "step": torch.tensor(first, dtype=torch.float32, device=parameter.device),
            "exp_avg": torch.zeros_like(parameter, memory_format=torch.preserve_format),
            "exp_avg_sq": torch.zeros_like(parameter, memory_format=torch.preserve_format),
        }
    return optimizer


def _muon(groups: list[dict[str, Any]], settings: TrainSection, products: torch.dtype) -> Muon:
    optimizer = Muon(
        groups,
        rate=settings.matrix_learning_rate,
        momentum=settings.momentum,
        newton_schulz_steps=settings.newton_schulz_steps,
        products=products,
    )
    for parameter in (parameter for group in groups for parameter in group["params"]):
        buffer = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        optimizer.state[parameter] = {"momentum_buffer": buffer}
    return optimizer


def optimizer_tensors(model: nn.Module, optimizer: Optimizers) -> dict[str, Tensor]:
    """The optimizer's state by parameter name: `exp_avg.encoder.embed.word.weight` and so on."""
    return {
        f"{kind}.{name}": value
        for name, parameter in model.named_parameters()
        for kind, value in optimizer.state_of(parameter).items()
    }


class MovingAverage:
    """The exponential moving average of the weights: average = decay · average + (1 - decay) · weights. In the first
    steps the decay is smaller, so that the random initial weights soon have no influence.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.tensors = {name: parameter.detach().clone() for name, parameter in trained(model).items()}

    def update(self, model: nn.Module, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        for name, average in self.tensors.items():
            average.lerp_(model.get_parameter(name).detach(), 1 - decay)

    def copy_to(self, model: nn.Module) -> None:
        with torch.no_grad():
            for name, average in self.tensors.items():
                model.get_parameter(name).copy_(average)

    @contextmanager
    def in_place(self, model: nn.Module) -> Iterator[None]:
        """Inside, the model's weights are the average."""
        self._exchange(model)
        try:
            yield
        finally:
            self._exchange(model)

    def _exchange(self, model: nn.Module) -> None:
        for name, average in self.tensors.items():
            parameter = model.get_parameter(name)
            parameter.data, self.tensors[name] = average, parameter.data
