"""Blocks answered by Ray Data: one task reads on this machine, actors answer, and the answers come back in order.

Ray holds a few blocks at a time, and reads on when the actors are free. An actor or a reader that dies is started
anew, and its block is answered again: only the command writes.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import ConfigError, DataError, GlassformerError, MissingExtraError, TrainingError
from glassformer.cli.corpus.blocks import Answered, Corpus, Spread, Worker, read_blocks
from glassformer.cli.terminal.destination import Output, not_resumable
from glassformer.cli.terminal.options import LOCAL, refuse_given
from glassformer.cli.terminal.outputs import RECORDS, suffix_of

if TYPE_CHECKING:
    from types import ModuleType

# Bytes of the blocks that a local Ray holds in memory.
_STORE = 256 << 20
# Seconds in which a cluster has to answer.
_WAIT = 5.0
# What begins a connection of HTTP/2, by which Ray's processes speak, with an empty frame of settings, and the kind of
# frame that its answer begins with (RFC 9113, 3.4).
_SETTINGS = b"\4"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + _SETTINGS + b"\0" * 5
# How often a block is answered again after its actor has died: one that always kills its actor must not be endless.
_RETRIES = 3


def check_ray(typed: Mapping[str, Any]) -> None:
    """Raise an error where the options exclude --ray, or its package is missing."""
    package()
    check_address(typed["ray"])
    given = {name: typed.get(name) for name in ("stream", "tree", "html", "save", "per_word", "compare_word")}
    refuse_given(given, "--ray writes a record or a vector of each text", got="{}", do="leave one of the two out")


def check_address(address: str) -> None:
    """Raise ConfigError for what is no address of a Ray."""
    if address not in (LOCAL, "auto") and not address.rpartition(":")[2].isdecimal():
        raise ConfigError(
            f"--ray needs {LOCAL}, auto or HOST:PORT of a cluster",
            got=repr(address),
            do=f"write --ray {LOCAL} where a text or a model follows",
        )
    if "://" in address:
        raise ConfigError(
            "--ray needs a command that runs on a machine of the cluster",
            got=f"{address}, an address for other machines",
            do="run it on the head node with --ray auto",
        )


def spread_by_ray(corpus: Corpus, output: Output, address: str, suffixes: Sequence[str] = RECORDS) -> Spread:
    """Who answers the corpus; raises DataError for what blocks cannot be read from, or answers not be written to."""
    why = "a text" if corpus.inputs.texts else not_resumable(output.out, corpus.inputs)
    if why or not (output.json or (output.out and suffix_of(output.out) in suffixes)):
        raise DataError(
            "--ray reads files and writes to a file",
            got=why or f"{output.out}, which has another suffix",
            do=f"add --file FILE and --out FILE, a file of the kind {', '.join(suffixes)}",
        )
    return lambda digest, done: on_ray(address, replace(corpus, digest=digest, done=done))


def on_ray(address: str, corpus: Corpus) -> Iterator[Answered]:
    """The answers to a corpus, in order; raises ConfigError without Ray, TrainingError if actors keep dying."""
    with connected(address) as ray:
        cores = corpus.machine.threads or 1
        actors = max(int(ray.cluster_resources().get("CPU", 1)) // cores, 1)
        data = importlib.import_module("ray.data")
        here = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        blocks = data.read_datasource(
            _source(data, corpus), override_num_blocks=1, ray_remote_args={"num_cpus": 0, "scheduling_strategy": here}
        )
        answers = blocks.map(
            Worker,
            fn_constructor_args=(corpus,),
            compute=data.ActorPoolStrategy(size=actors),
            num_cpus=cores,
            num_gpus=1 if corpus.machine.device.startswith("cuda") else 0,
            max_task_retries=_RETRIES,
        )
        try:
            for row in answers.iter_rows():
                yield Answered(**row)
        except ray.exceptions.RayError as error:
            raise TrainingError("the actors of Ray must live until they have answered", got=last_line(error)) from None


def _source(data: ModuleType, corpus: Corpus) -> Any:
    """The corpus as Ray Data reads it: one task, from which blocks come as they are read."""
    import pyarrow as pa

    def read() -> Iterator[Any]:
        for block in read_blocks(corpus):
            yield pa.table({"block": pa.array([block], pa.large_string())})

    class Source(data.Datasource):  # type: ignore[misc, name-defined]
        def estimate_inmemory_data_size(self) -> int | None:
            return None

        def get_read_tasks(self, *_: object, **__: object) -> list[Any]:
            unknown = importlib.import_module("ray.data.block").BlockMetadata(
                num_rows=None, size_bytes=None, input_files=None, exec_stats=None
            )
            return [data.ReadTask(read, unknown)]

    return Source()


@contextmanager
def connected(address: str, cores: int | None = None) -> Iterator[ModuleType]:
    """Inside, there is a Ray, quiet and without reports to others; one that was started here ends. `cores`: those that
    one of this machine reckons with, by default all. Raises ConfigError where none answers.
    """
    ray = package()
    if address not in (LOCAL, "auto"):
        _knock(address)
    own = {"num_cpus": cores or os.cpu_count(), "object_store_memory": _STORE, "include_dashboard": False}
    handler = signal.getsignal(signal.SIGTERM)
    # What Ray reports of actors that died goes to standard error, with the notes.
    with warnings.catch_warnings(), redirect_stdout(sys.stderr):
        warnings.simplefilter("ignore")
        try:
            with _silent():
                ray.init(
                    address=address,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **(own if address == LOCAL else {}),
                )
        except Exception as error:  # of this type itself where a busy machine was too slow
            raise _no_ray(address, last_line(error)) from None
        signal.signal(signal.SIGTERM, handler)  # Ray's own would end the command without a sentence
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = importlib.import_module("ray.data").DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.preserve_order = True
        context.target_max_block_size = 1  # a row is a block: Ray would wait for 128 MB of them
        try:
            yield ray
        finally:
            ray.shutdown()


@contextmanager
def _silent() -> Iterator[None]:
    """Nothing on standard error, where Ray's own code, in C++, says how much it will log."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def package() -> ModuleType:
    """The package ray, with its logs switched off before it is imported."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_worker_register_timeout_seconds", "240")  # on a busy machine 60 are too few
    os.environ.setdefault("RAY_worker_niceness", "0")  # else 15: on a machine that does other work, actors starve
    try:
        importlib.import_module("ray.data")
        return importlib.import_module("ray")
    except ImportError:
        raise MissingExtraError("ray", extra="ray") from None


def _knock(address: str) -> None:
    """Raise ConfigError where nothing answers as a cluster does: Ray itself would wait for a minute."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_WAIT) as line:
            line.sendall(_PREFACE)
            if line.recv(9)[3:4] != _SETTINGS:
                raise _no_ray(address, "an answer of another program")
    except (OSError, OverflowError) as error:
        raise _no_ray(address, getattr(error, "strerror", None) or str(error)) from None


def _no_ray(address: str, why: str) -> GlassformerError:
    return ConfigError(
        f"a Ray must answer at {address}",
        got=why,
        do="start one with `ray start --head`, or leave the address out for one on this machine; for a cluster that "
        "asks for a token, set RAY_AUTH_MODE=token",
    )


def last_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]
