"""AdamW, BERT's variant of it, Muon, and averages of weights."""

import math
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from glassformer.base.errors import TrainingError
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import Log
from glassformer.runtime.processes import ALONE, Processes
from glassformer.training import adapters
from glassformer.training.settings import TrainSection, TuneSection
from glassformer.training.tune import Stages, parameter_groups, summary, trained


class Muon(torch.optim.Muon):
    """torch's Muon with its Newton–Schulz steps in `products`, which torch always computes in bfloat16. In bfloat16 the
    weights are those of torch's to the bit. Where a processor has no bfloat16 products, these take four times as long
    as float32's (decisions/2026-11-22-arms-of-masked-words.md). Of several processes each does these steps for its
    share of the matrices; all have the whole momentum.
    """

    def __init__(
        self,
        groups: list[dict[str, Any]],
        *,
        rate: float,
        momentum: float,
        newton_schulz_steps: int,
        products: torch.dtype,
        processes: Processes = ALONE,
    ) -> None:
        super().__init__(groups, lr=rate, momentum=momentum, ns_steps=newton_schulz_steps)
        self.products, self.processes = products, processes

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Change the matrices [R, C] once, by the gradients that they have; `closure` may compute these first."""
        with torch.enable_grad():
            loss = None if closure is None else closure()
        each = [(matrix, group) for group in self.param_groups for matrix in group["params"] if matrix.grad is not None]
        count, number = self.processes.count, self.processes.number
        if count > 1:  # matrices of one size at a time, one for each process
            each.sort(key=lambda pair: pair[0].numel(), reverse=True)
        for place in range(0, len(each), count):
            some = each[place : place + count]
            ahead = [self.processes.whole(self._ahead(matrix, group["momentum"])) for matrix, group in some]  # [R, C]
            mine = None
            if number < len(some):
                group = some[number][1]
                mine = newton_schulz(ahead[number], group["ns_steps"], group["ns_coefficients"], group["eps"])  # [R, C]
            for (matrix, group), turned in zip(some, self.processes.gathered(mine, ahead), strict=True):
                rate, (rows, columns) = float(group["lr"]), matrix.shape
                matrix.mul_(1 - rate * group["weight_decay"])
                turned = self.processes.part(turned, matrix)
                matrix.add_(turned, alpha=-rate * math.sqrt(max(1, rows / columns)))
        return loss

    def _ahead(self, matrix: Tensor, momentum: float) -> Tensor:
        """Nesterov's gradient of a matrix [R, C], after its momentum has been changed."""
        assert matrix.grad is not None
        buffer: Tensor = self.state[matrix]["momentum_buffer"]  # [R, C]
        buffer.lerp_(matrix.grad, 1 - momentum)
        return matrix.grad.lerp(buffer, momentum).to(self.products)  # [R, C]


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
# Parameters that a message names.
_NAMED = 3


@dataclass(frozen=True)
class Optimizers:
    """One or two optimizers that together step every trained parameter once."""

    each: tuple[torch.optim.Optimizer, ...]

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [group for one in self.each for group in one.param_groups]

    def step(self) -> None:
        for one in self.each:
            one.step()

    def zero_grad(self) -> None:
        for one in self.each:
            one.zero_grad()


def build_optimizer(
    model: nn.Module,
    settings: TrainSection,
    *,
    tune: TuneSection | None = None,
    products: torch.dtype = torch.float32,
    processes: Processes = ALONE,
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
        each.append(_muon(matrices, settings, products, processes))
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


def _muon(groups: list[dict[str, Any]], settings: TrainSection, products: torch.dtype, processes: Processes) -> Muon:
    optimizer = Muon(
        groups,
        rate=settings.matrix_learning_rate,
        momentum=settings.momentum,
        newton_schulz_steps=settings.newton_schulz_steps,
        products=products,
        processes=processes,
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
        for kind, value in next((one.state[parameter] for one in optimizer.each if parameter in one.state), {}).items()
    }


class MovingAverage:
    """The moving average of the weights; its decay is smaller at first, to forget the random start."""

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


@dataclass
class Tuned:
    """A model and its stage; `checked`: a step of this stage moved exactly what is trained."""

    model: Transformer
    tune: TuneSection
    stages: Stages
    log: Log
    stage: int = 0
    checked: bool = False

    @property
    def asked(self) -> bool:
        """Whether [tune] asks for something: what a step moves is checked then also where all are trained."""
        return self.tune != TuneSection()

    def begin(self, fraction: float) -> None:
        """Let what is trained after this share of the run have gradients, and nothing else."""
        self.stage = self.stages.at(fraction)
        self.stages.begin(self.model, self.stage)
        self.log(summary(self.model, self.stages, self.stage))

    def begin_if_due(self, fraction: float, step: int) -> bool:
        """Begin another stage where its part of the run has come, and say so; `step` steps are done."""
        if self.stages.at(fraction) == self.stage:
            return False
        self.stage, self.checked = self.stages.at(fraction), False
        self.stages.begin(self.model, self.stage)
        self.log(f"from step {step + 1:,} on: {summary(self.model, self.stages, self.stage)}")
        return True

    def step(self, optimizer: Optimizers, step: int) -> None:
        """Change the parameters once, after `step` steps. The first time in a stage, check that exactly those that are
        trained have moved, unless nothing was asked for. Raises TrainingError where a frozen one has.
        """
        now = self.stages.trained(self.stage)
        usual = not self.asked and len(now) == len(list(self.model.parameters()))
        before = None if self.checked or usual else BeforeStep.of(self.model)
        optimizer.step()
        self.checked = True
        if before is not None:
            self.log(before.check(self.model, now, step=step + 1))

    def finish(self, folder: Path | None) -> None:
        """Merge the adapters into the weights, save them to `folder` if given, and unfreeze everything."""
        if self.asked:
            self.model.requires_grad_(True)
        if self.tune.adapters is not None:
            if folder is not None:
                adapters.write(self.model, folder, self.tune.adapters)
            count = adapters.merge(self.model)
            self.log(
                f"{count} adapters are merged into their weights; their matrices are kept in {folder}/{adapters.FILE}"
            )


@dataclass(frozen=True)
class BeforeStep:
    """The parameters before a step, by name, and which of them it has a gradient for: any number but 0."""

    checksums: Mapping[str, int]
    with_gradient: Collection[str]

    @classmethod
    def of(cls, model: nn.Module) -> Self:
        """After the backward pass, before the step."""
        named = dict(model.named_parameters())
        has = {name for name, each in named.items() if each.grad is not None and bool(each.grad.any())}
        return cls({name: _checksum(each) for name, each in named.items()}, has)

    def check(self, model: nn.Module, trained: Collection[str], *, step: int) -> str:
        """What the step changed, as a sentence. Raises TrainingError where a frozen parameter has changed."""
        moved = {name for name, each in model.named_parameters() if _checksum(each) != self.checksums[name]}
        frozen = self.checksums.keys() - set(trained)
        if wrong := sorted(moved & frozen):
            raise TrainingError(
                f"frozen parameters must not change: step {step} changed one",
                got=_listed(wrong),
                do="train it too (tune.freeze), or report this fault",
            )
        still = sorted(set(trained) - moved)
        same = f"the other {len(frozen):,} are unchanged, bit for bit" if frozen else "and there are no others"
        if not still:
            return f"checked after step {step:,}: all {len(moved):,} trained tensors have moved, {same}"
        # The first of an adapter's two matrices gets a gradient as soon as the other one is no longer zero.
        waiting = [name for name in still if name.endswith(".adapter.down") and name not in self.with_gradient]
        without = [name for name in still if name not in self.with_gradient and name not in waiting]
        small = [name for name in still if name in self.with_gradient]
        sentence = f"checked after step {step:,}: {len(moved):,} of {len(trained):,} trained tensors have moved, {same}"
        if waiting:
            sentence += f"; {len(waiting):,} wait, as `down` of an adapter does while its `up` is zero"
        if without:
            sentence += f"; no gradient reaches {_listed(without)}: the loss does not depend on it"
        if small:
            sentence += f"; the step is too small to change {_listed(small)} at this learning rate"
        return sentence


def _checksum(parameter: Tensor) -> int:
    flat = parameter.detach().cpu().contiguous().flatten()
    return zlib.crc32(flat.view(torch.uint8).numpy().data) if flat.numel() else 0


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
