"""What is chosen on Windows and macOS, simulated here: docs/reference/platforms.md lists what must be tried there."""

import ctypes
import errno
import os
import signal
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from glassformer.api.load import load
from glassformer.base import atomic
from glassformer.base.errors import DeviceError, TrainingError
from glassformer.cli.terminal import streams
from glassformer.runtime import device as machines
from glassformer.runtime.device import check_float64
from glassformer.training.stopping import exclusive, stop_signals
from tests.refusals import refused
from tests.training.toy import machine_of, toy_settings

# --------------------------------------------------------------------------- locks


class WindowsLocks(ModuleType):
    """`msvcrt`, as far as locks need it: a file is locked by one of those who have it open."""

    LK_NBLCK = 2

    def __init__(self, error: OSError | None = None) -> None:
        super().__init__("msvcrt")
        self.held: dict[tuple[int, int], int] = {}
        self.error = error

    def locking(self, handle: int, mode: int, count: int) -> None:
        """Lock, without waiting."""
        assert (mode, count) == (self.LK_NBLCK, 1)
        if self.error is not None:
            raise self.error
        about = os.fstat(handle)
        if self.held.setdefault((about.st_dev, about.st_ino), handle) != handle:
            raise PermissionError(errno.EACCES, "Permission denied")


def without_fcntl(monkeypatch: pytest.MonkeyPatch, module: ModuleType | None) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", module)


def test_one_training_a_folder_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    windows = WindowsLocks()
    without_fcntl(monkeypatch, windows)
    with exclusive(tmp_path / "run"):
        assert [path.name for path in (tmp_path / "run").iterdir()] == [".lock"]
        with refused(TrainingError, got=str(tmp_path / "run"), do="--out"), exclusive(tmp_path / "run"):
            pass
    windows.held.clear()  # as Windows does when the file is closed
    with exclusive(tmp_path / "run"):
        pass
    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.parametrize("module", [None, WindowsLocks(OSError(errno.EINVAL, "no locks here"))])
def test_where_there_are_no_locks_nothing_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType | None
) -> None:
    without_fcntl(monkeypatch, module)
    with (tmp_path / "file").open("w") as one, (tmp_path / "file").open("w") as two:
        assert atomic.lock(one.fileno())
        assert atomic.lock(two.fileno())


def test_the_second_who_opens_a_file_is_reported(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as one, (tmp_path / "file").open("w") as two:
        assert [atomic.lock(one.fileno()), atomic.lock(two.fileno())] == [True, False]


# --------------------------------------------------------------------------- signals


def test_ctrl_break_stops_where_there_is_no_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGTERM")
    monkeypatch.setattr(signal, "SIGBREAK", signal.SIGUSR1, raising=False)
    before, of_ctrl_c = signal.getsignal(signal.SIGUSR1), signal.getsignal(signal.SIGINT)
    with stop_signals() as request:
        signal.raise_signal(signal.SIGUSR1)
        assert request.signal_number == signal.SIGUSR1
        assert signal.getsignal(signal.SIGUSR1) == before  # the second works as before
    assert signal.getsignal(signal.SIGINT) == of_ctrl_c


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop_signals() as request:
            signal.raise_signal(signal.SIGINT)
            assert request.signal_number is None
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_handler_that_python_does_not_know_is_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    real = signal.getsignal
    monkeypatch.setattr(signal, "getsignal", lambda number: None if number == signal.SIGTERM else real(number))
    before = real(signal.SIGTERM)
    try:
        with stop_signals():
            pass
        assert real(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


# --------------------------------------------------------------------------- files


class Kernel:
    """Windows' kernel32, which knows the process 4, which runs, 8, which has ended, and 12, which is the system's."""

    def OpenProcess(self, rights: int, inherit: bool, process: int) -> int:  # noqa: N802
        self.asked = process
        return process if process in (4, 8) else 0

    def GetLastError(self) -> int:  # noqa: N802
        return 5 if self.asked == 12 else 87

    def GetExitCodeProcess(self, handle: int, place: Any) -> int:  # noqa: N802
        place._obj.value = {4: 259, 8: 0}[handle]
        return 1

    def CloseHandle(self, handle: int) -> int:  # noqa: N802
        return 1


@pytest.mark.parametrize(("process", "alive"), [(4, True), (8, False), (12, True), (16, False)])
def test_whether_a_process_lives_on_windows(process: int, alive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=Kernel()), raising=False)
    assert atomic._alive_on_windows(process) is alive


def test_a_file_that_a_virus_scanner_holds_is_replaced_when_it_lets_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    real = os.replace

    def held(draft: Path, target: Path) -> None:
        if len(waited) < 3:
            raise PermissionError(errno.EACCES, "used by another process")
        real(draft, target)

    monkeypatch.setattr("glassformer.base.atomic.os.replace", held)
    monkeypatch.setattr("glassformer.base.atomic.time.sleep", waited.append)
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    with monkeypatch.context() as there:
        there.setattr("glassformer.base.atomic.os.name", "nt")
        atomic.replace(tmp_path / "new", tmp_path / "old")
    assert ((tmp_path / "old").read_text(), len(waited)) == ("new", 3)
    waited.clear()
    (tmp_path / "new").write_text("newer")
    with pytest.raises(PermissionError):  # elsewhere a refusal is one
        atomic.replace(tmp_path / "new", tmp_path / "old")
    assert waited == []


@pytest.mark.parametrize(("name", "kind"), [("nt", streams.ReaderGoneError), ("posix", streams.StandardOutputError)])
def test_a_pipe_without_a_reader_on_windows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, kind: type[Exception]
) -> None:
    """Windows says EINVAL."""
    reads = os.open(tmp_path / "out", os.O_RDONLY | os.O_CREAT)
    results = streams._Results(reads, "w", closefd=False)
    monkeypatch.setattr(
        "glassformer.cli.terminal.streams.errno.EINVAL", errno.EBADF
    )  # what writing to a file open for reading says
    with monkeypatch.context() as there:
        there.setattr("glassformer.cli.terminal.streams.os.name", name)
        with pytest.raises(kind) as caught:
            results.write(b"x")
    os.close(reads)
    assert type(caught.value) is kind


# --------------------------------------------------------------------------- Apple's GPUs


def test_float64_is_refused_on_a_device_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_float64(torch.device("mps"), torch.float32)
    check_float64(torch.device("cpu"), torch.float64)
    monkeypatch.setattr(machines, "choose_device", lambda name: torch.device("mps"))
    monkeypatch.setattr("glassformer.saved.opening.choose_device", lambda name: torch.device("mps"))
    with refused(DeviceError, got="mps", do=("float32", "--device cpu")):
        machine_of(toy_settings(precision="float64", device="mps"))
    with refused(DeviceError, got="mps"):  # before anything is read
        load(tmp_path / "no model", device="mps", dtype="float64")


def test_no_module_of_one_system_alone_is_imported_at_the_top(repository: Path) -> None:
    alone = {"fcntl", "msvcrt", "resource", "pwd", "grp", "termios", "tty", "winreg"}
    found = [
        (path.name, line)
        for path in (repository / "glassformer").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith(("import ", "from ")) and line.split()[1].partition(".")[0] in alone
    ]
    assert found == []
