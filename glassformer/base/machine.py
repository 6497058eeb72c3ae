"""What the system says of its processor, compiler and GPUs, and a launcher of its processes, without torch."""

import os
import platform
import shutil
from contextlib import suppress
from pathlib import Path

UNKNOWN = (
    "this system does not report the features of its processor, so computations stay in float32 unless a recipe sets "
    'train.precision = "bfloat16"'
)
"""What commands say where `features` is None."""

FAST_BFLOAT16 = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""Features with which bfloat16 products are native, and so faster than float32."""

VNNI = frozenset({"avx512_vnni", "avx_vnni"})
"""Features with which products of 8 bits are added in 32 bits; without them x86 adds two in 16 bits, which overflow."""

# One name may stand for processors that differ in this, as "AMD EPYC" does, and so in the rate of their products.
_WIDTHS = {"avx512f": "AVX-512", "avx2": "AVX2"}


def features() -> frozenset[str] | None:
    """The processor's features as Linux reports them (x86 `flags`, ARM `Features`); None on other systems."""
    lines = [line for line in _cpuinfo() if line.startswith(("flags", "Features"))]
    return frozenset(word for line in lines for word in line.partition(":")[2].split()) or None


def processor() -> str:
    """The processor's name, its widest vectors where it is an x86, and how many cores this process may use."""
    names = [line.split(":", 1)[1].strip() for line in _cpuinfo() if "model name" in line]
    name = names[0] if names else platform.processor() or platform.machine()
    widest = next((f" ({shown})" for feature, shown in _WIDTHS.items() if feature in (features() or ())), "")
    count = cores()
    return f"{name}{widest}, {count} core{'s' * (count != 1)}"


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads() -> int:
    """How many threads torch uses by default."""
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(asked) if asked.isdecimal() and int(asked) else cores()


def compiler() -> str | None:
    """The path of a C++ compiler, with which torch.compile builds kernels for a CPU."""
    found = (shutil.which(name) for name in (os.environ.get("CXX", "g++"), "clang++", "cl"))
    return next(filter(None, found), None)


def gpus() -> list[str]:
    """The names of NVIDIA's GPUs, as their driver reports them on Linux."""
    found = []
    for place in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        with suppress(OSError):
            lines = place.read_text(encoding="utf-8", errors="replace").splitlines()
            found += [line.partition(":")[2].strip() for line in lines if line.startswith("Model:")]
    return found


def _cpuinfo() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


# The variables that a launcher sets for each process.
_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def is_one_of_several() -> bool:
    """Whether there are other processes of the same training."""
    return os.environ.get("WORLD_SIZE", "1") != "1" and all(name in os.environ for name in _VARIABLES)


def is_first() -> bool:
    """Whether this process is the only one, or the one that writes and prints."""
    return not is_one_of_several() or os.environ["RANK"] == "0"
