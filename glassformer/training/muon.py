"""Muon (Jordan et al. 2024), in the precision in which the machine multiplies fastest.

R rows · C columns of a matrix · M the smaller, N the larger of the two
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class Muon(torch.optim.Muon):
    """torch's Muon with its Newton–Schulz steps in `products`, which torch always computes in bfloat16.

    In bfloat16 the weights are those of torch's to the bit. Where a processor has no bfloat16 products, these take four
    times as long as float32's (decisions/2026-11-22-arms-of-masked-words.md).
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
