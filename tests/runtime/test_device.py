"""Device, precision, threads; what is not there is reported in one sentence."""

import platform
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from glassformer.base import machine
from glassformer.base.errors import DeviceError
from glassformer.models.inputs import Batch
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import (
    choose_device,
    has_fast_bfloat16,
    keep_freed_memory,
    repeatable,
    unknown_processor,
)
from glassformer.training.loop import fit
from tests.refusals import refused
from tests.training.toy import Toy, machine_of, toy_model, toy_settings

CPU = torch.device("cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU: the refusal cannot be seen")
@pytest.mark.parametrize("name", ["cuda", "cuda:1", "toaster"])
def test_a_device_that_is_not_there(name: str) -> None:
    with refused(DeviceError, wanted=repr(name), got="CPU", do="--device cpu"):
        machine_of(toy_settings(device=name))


def test_precision() -> None:
    bfloat16, float64 = machine_of(toy_settings(precision="bfloat16")), machine_of(toy_settings(precision="float64"))
    assert (bfloat16.autocast, bfloat16.weights) == (True, torch.float32)
    assert (float64.autocast, float64.weights) == (False, torch.float64)
    with bfloat16.context():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    with float64.context():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


@pytest.mark.parametrize(
    ("line", "fast"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16", True),
        ("flags\t\t: fpu amx_bf16", True),
        ("Features\t: fp asimd bf16", True),
        ("flags\t\t: fpu avx2 avx512f", False),
        ("model name\t: a bf16 by name only", False),
    ],
)
def test_bfloat16_is_taken_where_it_is_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, fast: bool
) -> None:
    found = tmp_path / "cpuinfo"
    found.write_text(f"processor\t: 0\n{line}\n")
    monkeypatch.setattr(machine, "Path", lambda name: found)
    assert has_fast_bfloat16(CPU) is fast
    chosen = machine_of(toy_settings(precision="auto", device="cpu"))
    assert chosen.autocast is fast
    assert (unknown_processor(CPU) == "") is line.startswith(("flags", "Features"))
    assert ("bfloat16 products" in str(chosen)) is fast


def test_nothing_is_known_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "Path", lambda name: Path("/nowhere/cpuinfo"))
    assert not has_fast_bfloat16(CPU)
    assert unknown_processor(CPU) == machine.UNKNOWN
    assert unknown_processor(torch.device("cuda")) == ""


def test_threads() -> None:
    before = torch.get_num_threads()
    try:
        assert machine_of(toy_settings(threads=2)).threads == torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_auto_is_the_gpu_where_there_is_one() -> None:
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert choose_device("cpu") == CPU


@pytest.fixture
def as_it_was() -> Iterator[None]:
    """Whatever happens, the next test finds torch's switch off."""
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("as_it_was")
@pytest.mark.parametrize(("mode", "warn_only"), [(False, False), (True, False), (True, True)])
def test_what_is_switched_on_is_switched_back_again(mode: bool, warn_only: bool) -> None:
    torch.use_deterministic_algorithms(mode, warn_only=warn_only)
    with repeatable(machine_of(toy_settings(device="cpu"))):
        assert torch.are_deterministic_algorithms_enabled()
        assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert torch.are_deterministic_algorithms_enabled() is mode
    assert torch.is_deterministic_algorithms_warn_only_enabled() is warn_only


@pytest.mark.usefixtures("as_it_was")
def test_it_is_switched_on_while_a_step_is_made_and_off_between(tmp_path: Path) -> None:
    """Two runs that take turns, one ending inside the other, leave the switch as it was."""

    class Seeing(Toy):
        def loss(self, model: Transformer, batch: Batch) -> Tensor:
            inside.append(torch.are_deterministic_algorithms_enabled())
            return super().loss(model, batch)

    inside: list[bool] = []
    between: list[bool] = []
    settings = toy_settings(device="cpu", steps=2)
    one, two = (fit(toy_model(), Seeing(), settings, out=tmp_path / name, log=lambda note: None) for name in "ab")
    for run in (one, two, one, two, one, two):
        next(run, None)
        between.append(torch.are_deterministic_algorithms_enabled())
    assert inside == [True] * 4
    assert between == [False] * 6


def test_freed_memory_is_kept_or_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    assert keep_freed_memory() is (platform.libc_ver()[0] == "glibc")

    def missing(name: None) -> object:
        raise OSError("no C library")

    monkeypatch.setattr("ctypes.CDLL", missing)
    assert keep_freed_memory() is False
