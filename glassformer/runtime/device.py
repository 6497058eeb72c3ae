"""Where the arithmetic happens and how precise it is: device, precision, threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from glassformer.errors import DeviceError

Log = Callable[[str], None]
Precision = Literal["auto", "float32", "bfloat16", "float64"]

# More than any machine gains from, and few enough to start everywhere.
_MANY_THREADS = 256


@dataclass(frozen=True)
class Machine:
    """`weights` is the type parameters are kept in; `autocast` says whether matrix products run in bfloat16."""

    device: torch.device
    weights: torch.dtype
    autocast: bool
    threads: int

    def context(self) -> AbstractContextManager[None]:
        """Arithmetic inside is as precise as this machine was asked to be."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.autocast)

    def __str__(self) -> str:
        number = "bfloat16 products, float32 weights" if self.autocast else str(self.weights).removeprefix("torch.")
        where = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else f"{self.threads} threads"
        return f"{self.device.type} ({where}), {number}"


def choose_machine(name: str, precision: Precision, threads: int | None) -> Machine:
    """The machine that is asked for. Sets torch's number of threads. Raises DeviceError for what is not there."""
    use_threads(threads)
    device = choose_device(name)
    autocast = precision == "bfloat16" or (precision == "auto" and has_fast_bfloat16(device))
    weights = torch.float64 if precision == "float64" else torch.float32
    return Machine(device, weights, autocast, torch.get_num_threads())


def use_threads(count: int | None) -> None:
    """Let torch compute with so many threads; None leaves it as it is. Raises DeviceError for far too many."""
    most = max(_MANY_THREADS, 8 * (os.cpu_count() or 1))
    if count is not None and count > most:  # torch takes any number, and the process dies when it starts them
        raise DeviceError(
            f"threads up to {most} can be asked for", got=str(count), do=f"this machine has {os.cpu_count()} processors"
        )
    if count is not None:
        torch.set_num_threads(count)


@contextmanager
def repeatable(machine: Machine) -> Iterator[None]:
    """Inside, the same numbers come out each time, whatever the threads' race. Only on a CPU: a GPU has no such way for
    all that we compute.

    Without it a compiled step adds up the word vectors' gradients in whatever order the threads come.
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
    """The device of this name; `auto` is the GPU where there is one. Raises DeviceError for one that is not there."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if device.type not in ("cpu", "cuda", "mps"):  # `meta` computes nothing, the rest nobody has tried
            raise NotImplementedError
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        count = torch.cuda.device_count()
        here = f"this machine has {count} CUDA devices and a CPU" if count else "this machine has a CPU only"
        raise DeviceError(f"the device {name!r} was asked for", got=here, do="use --device cpu") from None
    return device


def memory_of(device: torch.device) -> int | None:
    """The bytes a device has in all, None where the system does not report it."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return None


def has_fast_bfloat16(device: torch.device) -> bool:
    """Whether bfloat16 products are faster than float32 here, rather than imitated."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return device.type == "cpu" and bool(_cpu_flags() & {"avx512_bf16", "amx_bf16", "bf16"})


def _cpu_flags() -> set[str]:
    """What Linux says this processor can do (x86 `flags`, ARM `Features`); nothing elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return {word for line in lines if line.startswith(("flags", "Features")) for word in line.split()}
