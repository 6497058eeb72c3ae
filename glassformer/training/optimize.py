"""AdamW, BERT's variant of it, and averages of weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from glassformer.training.settings import TrainSection
from glassformer.training.tune import parameter_groups, trained

# Adam divides by 1 - beta^step. At this step, the largest integer that float32 counts to, both divisors are 1.
NO_BIAS_CORRECTION_STEP = 2.0**24


def build_optimizer(model: nn.Module, settings: TrainSection) -> torch.optim.AdamW:
    """AdamW (Loshchilov & Hutter 2019) with all its state allocated, so that it can be saved and restored at any time.

    `bert-adam` leaves out the bias correction, as google-research/bert does: its step count starts where the correction
    is 1.
    """
    optimizer = torch.optim.AdamW(
        parameter_groups(model, settings),
        lr=settings.learning_rate,
        betas=(settings.beta1, settings.beta2),
        eps=settings.epsilon,
        fused=True,
    )
    first = NO_BIAS_CORRECTION_STEP if settings.optimizer == "bert-adam" else 0.0
    for parameter in trained(model).values():
        optimizer.state[parameter] = {
            "step": torch.tensor(first, dtype=torch.float32, device=parameter.device),
            "exp_avg": torch.zeros_like(parameter, memory_format=torch.preserve_format),
            "exp_avg_sq": torch.zeros_like(parameter, memory_format=torch.preserve_format),
        }
    return optimizer


def optimizer_tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's state by parameter name: `exp_avg.encoder.embed.word.weight` and so on."""
    return {
        f"{kind}.{name}": value
        for name, parameter in trained(model).items()
        for kind, value in optimizer.state[parameter].items()
    }


class MovingAverage:
    """The exponential moving average of the weights: average = decay · average + (1 - decay) · weights.

    In the first steps the decay is smaller, so that the random initial weights soon have no influence.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.tensors = {name: parameter.detach().clone() for name, parameter in trained(model).items()}

    def update(self, model: nn.Module, step: int) -> None:
        """Add the weights after `step` steps."""
        decay = min(self.decay, (1 + step) / (10 + step))
        for name, parameter in trained(model).items():
            self.tensors[name].lerp_(parameter.detach(), 1 - decay)

    def copy_to(self, model: nn.Module) -> None:
        """Copy the average into the model's weights."""
        with torch.no_grad():
            for name, parameter in trained(model).items():
                parameter.copy_(self.tensors[name])

    @contextmanager
    def in_place(self, model: nn.Module) -> Iterator[None]:
        """Inside, the model's weights are the average."""
        self._exchange(model)
        try:
            yield
        finally:
            self._exchange(model)

    def _exchange(self, model: nn.Module) -> None:
        for name, parameter in trained(model).items():
            parameter.data, self.tensors[name] = self.tensors[name], parameter.data
