"""`train --processes N`: the same command in N processes of this machine, begun by torch's elastic launcher."""

import logging
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from glassformer.base.errors import ConfigError, TrainingError

# How often all are begun again after one of them was killed.
_RESTARTS = 3
_STOPS = (signal.SIGINT, signal.SIGTERM)


def in_processes(count: int, arguments: Sequence[str]) -> int:
    """Run a command in `count` processes; returns the exit code. ConfigError; TrainingError if many were lost."""
    cores = os.cpu_count() or 1
    if not 1 < count <= max(2, cores):  # each takes memory for torch and the model: a mistyped number must not fill it
        raise ConfigError(
            f"--processes is a number up to the cores of this machine, {cores}",
            got=str(count),
            do="start fewer; on several machines use torchrun",
        )
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    # They report a killed process with a traceback of their own; we say it in a sentence.
    for name in ("torch.distributed.elastic", "torch.multiprocessing"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # As torchrun does: else each process would use all cores.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // count)))
    with tempfile.TemporaryDirectory() as logs, _forwarding(stopped := Path(logs) / "stopped"):
        launch = LaunchConfig(
            min_nodes=1, max_nodes=1, nproc_per_node=count, logs_specs=DefaultLogsSpecs(log_dir=logs),
            run_id="glassformer", rdzv_backend="c10d", rdzv_endpoint="localhost:0", local_addr="localhost",
            max_restarts=_RESTARTS, signals_to_handle="SIGHUP",
        )  # fmt: skip
        try:
            codes: dict[int, Any] = elastic_launch(launch, _work)(list(arguments), str(stopped))
        except ChildFailedError as failed:
            ends = ", ".join(sorted({str(each.signal_name()) for each in failed.failures.values()}))
            raise TrainingError(
                "a training needs all its processes",
                got=f"the end of one {_RESTARTS + 1} times ({ends})",
                do="see whether the memory is enough, and continue with --resume",
            ) from None
    return int(codes[0])


def _work(arguments: list[str], stopped: str) -> int:
    """One of the processes. What it returns is its exit code; where another is lost it ends instead, and all begin
    again, unless the file `stopped` has the number of the signal that has ended them.
    """
    if os.path.exists(stopped):
        if os.environ["RANK"] == "0":
            print("glassformer: stopped", file=sys.stderr)
        return 128 + int(Path(stopped).read_text())
    from glassformer.cli.__main__ import main
    from glassformer.cli.terminal.streams import prepare_streams
    from glassformer.runtime.processes import LostProcessError

    if hasattr(os, "setpgid"):  # so that Ctrl-C comes once: from the process that has begun this one
        os.setpgid(0, 0)
    prepare_streams()
    try:
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
        code = main(arguments)
    except KeyboardInterrupt:  # one that came before `main` could take it
        code = 128 + int(signal.SIGINT)
    except Exception:  # a fault of ours: it would come again
        traceback.print_exc()
        code = 1
    launcher = multiprocessing.parent_process()
    # One that returns waits until the launcher knows: for ever where that was killed.
    if code == LostProcessError.exit_code or (launcher is not None and not launcher.is_alive()):
        os._exit(code)
    return code


@contextmanager
def _forwarding(stopped: Path) -> Iterator[None]:
    """Inside, a request to stop goes to the processes, each of which ends as a single one does; the file keeps it. They
    begin with these signals blocked: Ctrl-C in a terminal must not end them while Python imports torch.
    """

    def forward(number: int, frame: FrameType | None) -> None:
        stopped.write_text(str(int(number)))
        for child in multiprocessing.active_children():
            if child.pid is not None:
                os.kill(child.pid, number)

    before = {number: signal.signal(number, forward) for number in _STOPS}
    ended = threading.Event()
    # This thread receives the signals; Python handles them in the main thread.
    threading.Thread(target=ended.wait, daemon=True).start()
    blocks = hasattr(signal, "pthread_sigmask")
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS) if blocks else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        ended.set()
        for number, handler in before.items():
            signal.signal(number, handler)
