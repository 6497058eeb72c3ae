"""One layer of attention forward and back in bf16: the formula against torch's fused kernel, at several lengths.

`python -m bench.formula_or_kernel` writes docs/results/bench-formula-or-kernel.json. It is what the number LARGEST_HELD
in glassformer/parts/attention.py rests on: up to so many keys a training step in bf16 on a processor walks the formula.
Both are compiled, in turn, on 4,096 tokens with padding, heads of 64, no dropout (the kernel knows none), with BERT's
fill (-10000 is added) and with minus infinity.

B sentences · S tokens · W width
"""

from __future__ import annotations

import itertools
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

from experiments import results
from glassformer.config import FillConfig
from glassformer.models.families.blocks import attention_of
from glassformer.parts import attention
from glassformer.parts.attention import Attention
from glassformer.parts.context import Context

TOKENS, HEAD = 4096, 64
LENGTHS, WIDTHS = (64, 128, 256, 512, 1024, 2048), (256, 768)
FILLS = {"-10000": FillConfig(rule="add", value=-10000.0), "-inf": FillConfig()}
TURNS, STEPS = 7, 3


def step_of(width: int, length: int, fill: FillConfig, *, formula: bool) -> Callable[[], None]:
    """A compiled forward and backward pass that goes the way asked for."""
    generator = torch.Generator().manual_seed(0)
    module = Attention(attention_of(width, width // HEAD, fill=fill), width).train()
    x = torch.randn(TOKENS // length, length, width, generator=generator).requires_grad_()  # [B, S, W]
    real = torch.ones(TOKENS // length, length, dtype=torch.int32)  # [B, S]
    real[0, -1] = 0

    def loss(x: Tensor, real: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return module(x, Context(masks={None: (real != 0)[:, None, None, :]})).float().square().sum()

    compiled = torch.compile(loss, fullgraph=True, dynamic=False)
    usual = attention.formula_is_faster

    def step() -> None:
        # Asked when the step is traced, which is at its first call.
        attention.formula_is_faster = lambda query, key: formula
        try:
            compiled(x, real).backward()
        finally:
            attention.formula_is_faster = usual

    return step


def seconds(step: Callable[[], None]) -> float:
    """The mean of a few steps."""
    started = time.perf_counter()
    for _ in range(STEPS):
        step()
    return (time.perf_counter() - started) / STEPS


def compare(width: int, length: int, fill: FillConfig) -> dict[str, float]:
    """Milliseconds of both, and how many times as long the kernel takes: medians of alternating turns."""
    torch._dynamo.reset()
    formula, kernel = (step_of(width, length, fill, formula=way) for way in (True, False))
    for step in (formula, kernel, formula, kernel):
        step()
    turns = [(seconds(formula), seconds(kernel)) for _ in range(TURNS)]
    return {
        "formula": 1e3 * statistics.median(one for one, _ in turns),
        "kernel": 1e3 * statistics.median(other for _, other in turns),
        "times": statistics.median(other / one for one, other in turns),
    }


def run() -> dict[str, object]:
    """Every width and length."""
    measured: dict[str, dict[str, dict[str, float]]] = {}
    for width, length, fill in itertools.product(WIDTHS, LENGTHS, FILLS):
        case = f"width {width}, {fill}"
        found = measured.setdefault(case, {})[str(length)] = compare(width, length, FILLS[fill])
        print(f"{case}, {length} tokens: the kernel takes {found['times']:.2f} times", file=sys.stderr, flush=True)
    return {"milliseconds": measured, "largest_held": attention.LARGEST_HELD}


if __name__ == "__main__":
    print(results.write("bench-formula-or-kernel", "python -m bench.formula_or_kernel", run()))
