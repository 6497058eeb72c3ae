"""Settings of torch's compiler that make a training step as fast as possible.

B rows · S tokens
"""

import importlib.util
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor
from torch._functorch import config as functorch_config

from glassformer.base.machine import compiler
from glassformer.models.inputs import Batch, Inputs

# Recomputing dropout masks in the backward pass is cheaper than keeping them: it saves a sixth of a small model's step.
# The cache of graphs does not notice the decomposition below, so that it is off; the cache of kernels does.
# These are torch's own switches, which later versions may lack: a missing one is skipped.
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
    return compiler() is not None


Losses = Callable[[Batch], dict[str, Tensor]]


def compiled(losses: Losses) -> Losses:
    """The same function of a batch, compiled as one graph at the first batch of each shape."""

    def inside(batch: Batch) -> dict[str, Tensor]:
        return losses(_with_real(batch, lambda real: real != 0))

    kernels = torch.compile(inside, backend=_build, fullgraph=True, dynamic=False)

    def call(batch: Batch) -> dict[str, Tensor]:
        # Python numbers that differ between batches stay outside: torch would compile a new graph for each value.
        # `real` as int32: kernels read it in vectors, but booleans one by one.
        without_numbers = replace(_with_real(batch, Tensor.int), counts={}, present=None, tokens=0)
        with functorch_config.patch(_SWITCHES), _many_shapes():
            answer: dict[str, Tensor] = kernels(without_numbers)
        return answer

    return call


@contextmanager
def compiling() -> Iterator[None]:
    """Inside, the C++ compiler may be started: at the first run of each shape, forward and backward.

    Programs that this thread starts do not receive SIGINT or SIGTERM. A terminal sends Ctrl-C to them too, and the
    compiler would end with an error, as if it could not compile. This process handles a signal at the latest at the
    end. On Windows nothing changes.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        with _statements_apart():
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _statements_apart() -> Iterator[None]:
    """Inside, torch asks the C++ compiler not to merge statements into vectors: on processors with AVX-512, g++ 12
    does that wrongly in kernels that transpose bfloat16, and the gradient of rotary keys is NaN (torch 2.13). Kernels
    have vectors of their own, so it costs no time. A later torch may lack the function that is changed.
    """
    from torch._inductor import cpp_builder

    name = "_get_optimization_cflags"
    usual: Callable[..., tuple[list[str], list[str]]] | None = getattr(cpp_builder, name, None)
    if usual is None:
        yield
        return

    def flags(*given: Any, **named: Any) -> tuple[list[str], list[str]]:
        of_compiler, of_linker = usual(*given, **named)
        return [*of_compiler, "fno-tree-slp-vectorize"], of_linker

    setattr(cpp_builder, name, flags)
    try:
        yield
    finally:
        setattr(cpp_builder, name, usual)


def is_the_compilers(error: Exception) -> bool:
    """Whether the error is the compiler's and not the compiled function's or full memory."""
    return type(error).__module__.startswith(("torch._dynamo", "torch._inductor"))


def reason_of(error: Exception) -> str:
    """The first line of the original error, which a compiler's error often wraps."""
    inner = getattr(error, "inner_exception", None)
    cause = inner if isinstance(inner, Exception) else error
    line = next((line for line in str(cause).splitlines() if line.strip()), "no reason given").strip()
    return f"{type(cause).__name__}: {line}"


def _many_shapes() -> AbstractContextManager[None]:
    from torch._dynamo import config  # takes a second, so only where something is compiled

    limit = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"  # its name up to torch 2.6
    return config.patch({limit: _MOST_SHAPES})


def _build(graph: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
    """torch's own compiler, with one more decomposition."""
    from torch._inductor.compile_fx import compile_fx
    from torch._inductor.decomposition import select_decomp_table

    addmm = torch.ops.aten.addmm.default
    # Changed in torch's own table for a moment: with another table, torch would not cache the kernels between runs.
    table = select_decomp_table()
    usual = table[addmm]
    table[addmm] = partial(_bias_apart, usual)
    try:
        return cast(Callable[..., Any], compile_fx(graph, examples))  # torch declares no precise type
    finally:
        table[addmm] = usual


def _bias_apart(
    usual: Callable[..., Any], bias: Tensor, one: Tensor, two: Tensor, *, beta: float = 1, alpha: float = 1
) -> Any:
    """A matrix product with a bias, as a product and a sum, which costs nothing in the kernel that follows on a CPU."""
    answer = usual(bias, one, two, beta=beta, alpha=alpha)
    if answer is not NotImplemented or bias.device.type != "cpu" or (alpha, beta) != (1, 1):
        return answer
    # In float32, because torch would fuse the two again otherwise.
    wide = torch.promote_types(one.dtype, torch.float32)
    return ((one @ two).to(wide) + bias.to(wide)).to(one.dtype)


def _with_real(batch: Batch, change: Callable[[Tensor], Tensor]) -> Batch:
    def side(inputs: Inputs) -> Inputs:
        return inputs if inputs.real is None else replace(inputs, real=change(inputs.real))

    decoder = None if batch.decoder_inputs is None else side(batch.decoder_inputs)
    return replace(batch, inputs=side(batch.inputs), decoder_inputs=decoder)
