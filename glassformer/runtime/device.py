"""The device and precision of the computation."""

import ctypes
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Literal

import torch

from glassformer.base.errors import DeviceError
from glassformer.base.machine import FAST_BFLOAT16, UNKNOWN, features
from glassformer.models.transformer import Transformer
from glassformer.parts.position import WITHOUT_FLOAT64
from glassformer.runtime.threads import use_threads

Log = Callable[[str], None]
Precision = Literal["auto", "float32", "bfloat16", "float64"]


@dataclass(frozen=True)
class Machine:
    """`weights` is the type parameters are kept in; `autocast` says whether matrix products run in bfloat16."""

    device: torch.device
    weights: torch.dtype
    autocast: bool
    threads: int

    @property
    def products(self) -> torch.dtype:
        return torch.bfloat16 if self.autocast else self.weights

    def context(self) -> AbstractContextManager[None]:
        """Inside, arithmetic has this machine's precision."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.autocast)

    def __str__(self) -> str:
        number = "bfloat16 products, float32 weights" if self.autocast else str(self.weights).removeprefix("torch.")
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        where = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else threads
        return f"{self.device.type} ({where}), {number}"


def choose_machine(name: str, precision: Precision, threads: int | None) -> Machine:
    """The machine that the settings ask for; also sets torch's number of threads. Raises DeviceError."""
    use_threads(threads)
    device = choose_device(name)
    autocast = precision == "bfloat16" or (precision == "auto" and has_fast_bfloat16(device))
    weights = torch.float64 if precision == "float64" else torch.float32
    check_float64(device, weights)
    return Machine(device, weights, autocast, torch.get_num_threads())


@contextmanager
def torch_restored() -> Iterator[None]:
    """Inside, torch's number of threads and its random numbers on a CPU may change; then they are as before."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@contextmanager
def repeatable(machine: Machine) -> Iterator[None]:
    """Inside, results do not depend on the timing of threads. Only on a CPU: on a GPU not all operations that we use
    have a deterministic version. Otherwise a compiled step adds up the gradients of the word vectors in an order that
    depends on the timing.
    """
    before = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    filling = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    if machine.device.type == "cpu":
        torch.use_deterministic_algorithms(True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warn_only)
        torch.utils.deterministic.fill_uninitialized_memory = filling  # type: ignore[attr-defined]


def choose_device(name: str) -> torch.device:
    """The device of this name; `auto` is the GPU where there is one. Raises DeviceError."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if device.type not in ("cpu", "cuda", "mps"):  # `meta` computes nothing, the others are untested
            raise NotImplementedError
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        count = torch.cuda.device_count()
        here = f"{count} CUDA devices and a CPU" if count else "a CPU only"
        raise DeviceError(f"the device {name!r} must exist on this machine", got=here, do="use --device cpu") from None
    return device


def check_float64(device: torch.device, dtype: torch.dtype | None) -> None:
    """Raise DeviceError for float64 on a device without it, such as Apple's GPUs."""
    if dtype == torch.float64 and device.type in WITHOUT_FLOAT64:
        raise DeviceError("float64 needs a device that has it", got=str(device), do="use float32, or --device cpu")


def memory_of(device: torch.device) -> int | None:
    """The total memory of a device in bytes, None where the system does not report it."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return None


def unknown_processor(device: torch.device) -> str:
    """The sentence that says so where nobody knows whether bfloat16 is fast here; "" where it is known."""
    return UNKNOWN if device.type == "cpu" and features() is None else ""


def has_fast_bfloat16(device: torch.device) -> bool:
    """Whether bfloat16 products are native, and so faster than float32, here."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return device.type == "cpu" and bool((features() or frozenset()) & FAST_BFLOAT16)


# The numbers of these options in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_freed_memory() -> bool:
    """Ask glibc not to return large blocks to the system after each step; returns whether that worked. A training step
    frees and allocates the same hundreds of megabytes. If they are returned, the kernel must zero each page again:
    about a fifth of a small model's step on a CPU. Memory that is free now is returned first, so that the process keeps
    only what a step needs.
    """
    gc.collect()
    try:
        library = ctypes.CDLL(None)
        mallopt, trim = library.mallopt, library.malloc_trim
    except (OSError, TypeError, AttributeError):  # not glibc: musl, macOS, Windows
        return False
    trim(0)
    return bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, 2**31 - 1))


@contextmanager
def recomputing(model: Transformer, wanted: bool) -> Iterator[None]:
    """Inside, when `wanted`, the backward pass recomputes each block instead of keeping all its tensors."""
    stacks = [stack for stack in (model.encoder, model.decoder) if stack is not None]
    before = [stack.recompute for stack in stacks]
    for stack in stacks:
        stack.recompute = wanted
    try:
        yield
    finally:
        for stack, was in zip(stacks, before, strict=True):
            stack.recompute = was
