"""What torch's compiler has to be told so that a training step is as fast as it can be.

B rows · S tokens
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor
from torch._functorch import config as functorch_config

from glassformer.models.inputs import Batch, Inputs

# Dropout's choices cost less to compute again in the backward pass than to keep: a sixth of a small model's step.
# The cache of graphs would not see that one of them was made with the decomposition below; that of kernels does.
# These are torch's own switches for it, not promised to stay: one that is gone is left alone.
_SWITCHES = {
    name: False
    for name in ("ban_recompute_used_far_apart", "ban_recompute_long_fusible_chains", "enable_autograd_cache")
    if hasattr(functorch_config, name)
}

# Each shape is compiled once, and torch gives up after 8 of them: a feed has up to 12, and evaluation has its own.
_MOST_SHAPES = 32


def has_compiler(device: torch.device) -> bool:
    """Whether torch.compile can build kernels here: Triton for a GPU, a C++ compiler for a CPU."""
    if device.type == "cuda":
        return importlib.util.find_spec("triton") is not None
    return any(shutil.which(name) for name in (os.environ.get("CXX", "g++"), "clang++", "cl"))


Losses = Callable[[Batch], dict[str, Tensor]]


def compiled(losses: Losses) -> Losses:
    """The same function of a batch, in one graph, built at the first batch of each shape."""

    def inside(batch: Batch) -> dict[str, Tensor]:
        return losses(_flags_back(batch))

    kernels = torch.compile(inside, backend=_build, fullgraph=True, dynamic=False)

    def call(batch: Batch) -> dict[str, Tensor]:
        # Numbers that differ from batch to batch stay outside: a graph would be built anew for each of them.
        without_numbers = replace(_flags_as_numbers(batch), counts={}, tokens=0)
        with functorch_config.patch(_SWITCHES), _many_shapes():
            answer: dict[str, Tensor] = kernels(without_numbers)
        return answer

    return call


def is_the_compilers(error: Exception) -> bool:
    """Whether compiling failed, rather than what was compiled: not enough memory is no reason to go on without."""
    return type(error).__module__.startswith(("torch._dynamo", "torch._inductor"))


def reason_of(error: Exception) -> str:
    """The first line of what went wrong; a compiler's error often only wraps it."""
    inner = getattr(error, "inner_exception", None)
    cause = inner if isinstance(inner, Exception) else error
    line = next((line for line in str(cause).splitlines() if line.strip()), "no reason given").strip()
    return f"{type(cause).__name__}: {line}"


def _many_shapes() -> AbstractContextManager[None]:
    from torch._dynamo import config  # takes a second, so only where something is compiled

    limit = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"  # its name up to torch 2.6
    patched: AbstractContextManager[None] = config.patch({limit: _MOST_SHAPES})
    return patched


def _build(graph: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
    """torch's own compiler, with one decomposition more."""
    from torch._inductor.compile_fx import compile_fx
    from torch._inductor.decomposition import select_decomp_table

    addmm = torch.ops.aten.addmm.default
    # In torch's own table and back: a table of ours would keep it from remembering the kernels from run to run.
    table = select_decomp_table()
    usual = table[addmm]
    table[addmm] = partial(_bias_apart, usual)
    try:
        return cast(Callable[..., Any], compile_fx(graph, examples))  # torch says nothing firmer of its answer
    finally:
        table[addmm] = usual


def _bias_apart(
    usual: Callable[..., Any], bias: Tensor, one: Tensor, two: Tensor, *, beta: float = 1, alpha: float = 1
) -> Any:
    """A product with a bias, as a product and then a sum.

    On a CPU such a product first copies the bias to every row, while the sum costs nothing in the kernel that follows.
    """
    answer = usual(bias, one, two, beta=beta, alpha=alpha)
    if answer is not NotImplemented or bias.device.type != "cpu" or (alpha, beta) != (1, 1):
        return answer
    # In float32, or torch would recognise it and put the two together again.
    wide = torch.promote_types(one.dtype, torch.float32)
    return ((one @ two).to(wide) + bias.to(wide)).to(one.dtype)


def _flags_as_numbers(batch: Batch) -> Batch:
    """The batch with `real` as int32: a kernel reads it as a vector, where flags come one by one."""
    return _with_real(batch, Tensor.int)


def _flags_back(batch: Batch) -> Batch:
    return _with_real(batch, lambda real: real != 0)


def _with_real(batch: Batch, change: Callable[[Tensor], Tensor]) -> Batch:
    def side(inputs: Inputs) -> Inputs:
        return inputs if inputs.real is None else replace(inputs, real=change(inputs.real))

    decoder = None if batch.decoder_inputs is None else side(batch.decoder_inputs)
    return replace(batch, inputs=side(batch.inputs), decoder_inputs=decoder)
