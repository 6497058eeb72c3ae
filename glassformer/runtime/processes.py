"""The processes that train one model together: all hold the whole model, and each learns from its share of every batch.

The first one, number 0, is the only one that writes, evaluates and shows anything; the others do the same steps. What
they exchange goes through torch's process group: gloo on processors, NCCL between GPUs.
"""

import json
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from math import prod
from typing import Any, ClassVar, TypeVar
from uuid import uuid4

import torch
from torch import Tensor
from torch import distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from glassformer.base.errors import ConfigError, DeviceError, GlassformerError, TrainingError
from glassformer.base.machine import is_one_of_several
from glassformer.runtime.device import choose_device

# One process reads text or evaluates while the others wait; a process that ends is noticed at once, by its connection.
_LONGEST_WAIT = timedelta(hours=24)
_LONGEST_START = timedelta(minutes=10)
# Numbers that are summed at once: gradients are copied next to each other, a part at a time.
_NUMBERS_OF_A_SUM = 1 << 23
# Where a launcher's store has the sentence of a request that was refused.
_REFUSED = "refused"
# Seconds between two looks at who has come.
_LOOK = 0.02
# With its number, which a fork changes, the name of this process: the same in all of its trainings.
_ME = uuid4().hex

_T = TypeVar("_T")


class LostProcessError(TrainingError):
    """Another process ended without a reason. A launcher begins all of them again when one has this exit code."""

    exit_code: ClassVar[int] = 75


class Processes:
    """The processes of a training, as one of them sees them; without a launcher that is one, which has nothing to
    exchange. Each method is called by all of them, in the same order. `number` counts from 0; `first`: this is number
    0, the one that writes; `restarted`: they were begun again after one of them was lost.
    """

    def __init__(self, number: int = 0, count: int = 1, *, restarted: bool = False) -> None:
        self.number, self.count, self.restarted = number, count, restarted
        self.first = number == 0

    def sums(self, *values: Mapping[str, float]) -> list[dict[str, float]]:
        """The sums over all processes, name by name; the names are the same in all of them."""
        return [dict(each) for each in values]

    def highest(self, *values: float) -> list[float]:
        """Of each value the highest in any process."""
        return list(values)

    def of_first(self, value: Any) -> Any:
        """What the first one has: anything that JSON can hold."""
        return value

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes; shapes are the same in all of them."""

    def copy_of_first(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by that of the first one."""

    def gathered(self, mine: Tensor | None, like: Sequence[Tensor]) -> list[Tensor]:
        """The tensors of the first `len(like)` processes, in order, with the shapes of `like`."""
        assert mine is not None
        return [mine]

    def check_same(self, facts: Mapping[str, str]) -> None:
        """Raise ConfigError unless each fact is the same in all processes."""

    def meet(self) -> None:
        """Wait for all others."""

    def any_of(self, wish: bool) -> bool:
        """Whether any process has this wish, where all must do together what only the first does otherwise."""
        return wish

    def whole(self, tensor: Tensor) -> Tensor:
        """The whole tensor of which each process holds a part, where they share it out."""
        return tensor

    def part(self, whole: Tensor, like: Tensor) -> Tensor:
        """Of a whole tensor, which all have, the part that this process holds of `like`."""
        return whole

    def together(self, work: Callable[[], _T]) -> _T:
        """The result of work in which torch itself exchanges tensors. Raises as the methods above."""
        return work()


ALONE = Processes()


class Several(Processes):
    """Processes begun by a launcher; one that ends with an error leaves its sentence in the `store`."""

    def __init__(self, number: int, count: int, store: Store, *, restarted: bool) -> None:
        super().__init__(number, count, restarted=restarted)
        self._store = store

    def sums(self, *values: Mapping[str, float]) -> list[dict[str, float]]:
        names = [sorted(each) for each in values]
        flat = [each[name] for each, its in zip(values, names, strict=True) for name in its]
        total = torch.tensor(flat, dtype=torch.float64)
        self._exchange(lambda: dist.all_reduce(total))
        found = iter(total.tolist())
        return [{name: next(found) for name in its} for its in names]

    def highest(self, *values: float) -> list[float]:
        found = torch.tensor(values, dtype=torch.float64)
        self._exchange(lambda: dist.all_reduce(found, dist.ReduceOp.MAX))
        return list(found.tolist())

    def of_first(self, value: Any) -> Any:
        text = json.dumps(value).encode() if self.first else b""
        size = int(self.highest(len(text))[0])
        buffer = torch.frombuffer(bytearray(text), dtype=torch.uint8) if text else torch.empty(size, dtype=torch.uint8)
        self._exchange(lambda: dist.broadcast(buffer, 0))
        return json.loads(buffer.numpy().tobytes())

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        for part in _parts(tensors):
            flat = torch.cat([each.reshape(-1) for each in part])
            self._exchange(lambda flat=flat: dist.all_reduce(flat))  # type: ignore[misc]
            for each, its in zip(part, flat.split([each.numel() for each in part]), strict=True):
                each.copy_(its.view_as(each))

    def copy_of_first(self, tensors: Sequence[Tensor]) -> None:
        for each in tensors:
            whole = each.contiguous()
            self._exchange(lambda whole=whole: dist.broadcast(whole, 0))  # type: ignore[misc]
            if whole is not each:
                each.copy_(whole)

    def gathered(self, mine: Tensor | None, like: Sequence[Tensor]) -> list[Tensor]:
        size = max(each.numel() for each in like)
        own = torch.zeros(size, dtype=like[0].dtype, device=like[0].device)
        if mine is not None:
            own[: mine.numel()] = mine.reshape(-1)
        every = [torch.empty_like(own) for _ in range(self.count)]
        self._exchange(lambda: dist.all_gather(every, own))
        return [found[: prod(each.shape)].view(each.shape) for found, each in zip(every, like, strict=False)]

    def check_same(self, facts: Mapping[str, str]) -> None:
        theirs = self.of_first(dict(facts))
        for name, value in facts.items():
            if value != theirs[name]:
                raise ConfigError(
                    f"all processes of a training need the same {name}",
                    got=_apart(theirs[name], value, f"process {self.number}"),
                    do="start each of them with the same command, files and versions",
                )
        self.meet()

    def meet(self) -> None:
        self.highest(0.0)

    def leave(self, error: BaseException) -> None:
        """Tell the others why this process ends, before its connections break."""
        ended = {"interrupted": isinstance(error, KeyboardInterrupt), "sentence": str(error)}
        with suppress(RuntimeError):  # the launcher has ended too
            if not self._store.check(["ended"]):
                self._store.set("ended", json.dumps(ended))

    def _exchange(self, work: Callable[[], _T]) -> _T:
        """Raises the error with which another process has ended, LostProcessError where it did without one."""
        try:
            return work()
        except RuntimeError:
            raise self._lost() from None

    def _lost(self) -> BaseException:
        try:
            left = json.loads(self._store.get("ended")) if self._store.check(["ended"]) else None
        except RuntimeError:  # the launcher has ended too
            left = None
        if left is None:
            return LostProcessError(
                "a training needs all its processes", got="the end of one", do="continue with --resume"
            )
        return KeyboardInterrupt(left["sentence"]) if left["interrupted"] else ConfigError(left["sentence"])


@contextmanager
def joined(device: str, kind: type[Several] = Several) -> Iterator[Processes]:
    """The processes of a training on this kind of device, as the environment has them, connected inside; the others
    learn with which error this one ends. `kind`: what several are. Raises DeviceError, TrainingError.
    """
    restarted = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
    if not is_one_of_several():
        yield Processes(restarted=restarted)
        return
    backend = "gloo"
    if choose_device(device).type == "cuda":
        here, there = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
        if here >= there:
            raise DeviceError("each process needs its own GPU", got=f"{there} here", do="start fewer, or --device cpu")
        torch.cuda.set_device(here)
        backend = "cpu:gloo,cuda:nccl"
    try:
        whole, number, count = next(rendezvous("env://", timeout=_LONGEST_START))
        every = PrefixStore("glassformer", whole)
        store, restarted = _met(every, number, count, restarted=restarted)
        # What was refused is refused again: a launcher with restarts repeats it, which must not continue the run.
        if restarted and every.check([_REFUSED]):
            raise ConfigError(every.get(_REFUSED).decode())
        store.set_timeout(_LONGEST_START)
        before = _sockets()
        dist.init_process_group(backend, store=store, rank=number, world_size=count, timeout=_LONGEST_WAIT)
    except (RuntimeError, ValueError) as error:
        raise LostProcessError(
            "the processes of a training must reach each other",
            got=next(iter(str(error).splitlines()), ""),
            do="see what torchrun was given as its address and port",
        ) from None
    connections = _sockets() - before
    several = kind(number, count, store, restarted=restarted)
    try:
        yield several
    except BaseException as error:
        if not isinstance(error, LostProcessError):
            several.leave(error)
        if isinstance(error, GlassformerError) and error.exit_code == ConfigError.exit_code:
            with suppress(RuntimeError):  # the launcher has ended
                every.set(_REFUSED, str(error))
        _disconnect(connections)
        raise
    finally:
        dist.destroy_process_group()


def _met(every: Store, number: int, count: int, *, restarted: bool) -> tuple[Store, bool]:
    """The store of this training and attempt, and whether it was begun again. Raises RuntimeError if some do not come.

    The launcher keeps one store, in which nothing may be found of an earlier training or attempt. It counts restarts on
    each machine apart, without those that another machine has caused, so the number of the attempt may differ: the
    first process chooses a name, and gives it to those that ask until each of those alive has said that it has it.
    """
    if number:
        question = uuid4().hex
        every.set(f"question {number}", question)
        name, again = json.loads(every.get(question))
        every.set(f"{name} {number}", "")
        return PrefixStore(name, every), again
    name, me = uuid4().hex, f"{_ME} {os.getpid()}"
    again = restarted or every.compare_set("first", "", me).decode() != me
    until, missing = time.monotonic() + _LONGEST_START.total_seconds(), set(range(1, count))
    while missing:
        for each in sorted(missing):
            if every.check([f"{name} {each}"]):
                missing.remove(each)
            elif every.check([f"question {each}"]):  # maybe of a process that has ended
                every.set(every.get(f"question {each}").decode(), json.dumps([name, again]))
        if missing and time.monotonic() > until:
            raise RuntimeError(f"process {min(missing)} did not come")
        time.sleep(_LOOK if missing else 0)
    return PrefixStore(name, every), again


def _sockets() -> set[tuple[int, int]]:
    """The sockets that this process has open: their numbers, what distinguishes them from later ones of a number."""
    found = set()
    for name in os.listdir("/dev/fd") if os.path.isdir("/dev/fd") else ():
        with suppress(OSError):  # one that was open to list the folder
            its = os.fstat(int(name))
            if stat.S_ISSOCK(its.st_mode):
                found.add((int(name), its.st_ino))
    return found


def _disconnect(connections: set[tuple[int, int]]) -> None:
    """End these connections, at which others may wait. Torch does so when it destroys the group, but not where its
    compiler was imported meanwhile, which keeps the group; and no process of `--processes` exits before all have ended.
    """
    for number, _ in connections & _sockets():
        with suppress(OSError), socket.socket(fileno=os.dup(number)) as same:
            same.getpeername()  # fails for one that waits for connections, whose end gloo would not survive
            same.shutdown(socket.SHUT_RDWR)


def _parts(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    part: list[Tensor] = []
    for each in tensors:
        if part and sum(other.numel() for other in part) + each.numel() > _NUMBERS_OF_A_SUM:
            yield part
            part = []
        part.append(each)
    if part:
        yield part


def _apart(theirs: str, mine: str, where: str) -> str:
    """The first difference: the settings of two recipes in JSON, or the two texts."""
    try:
        one, two = _flat(json.loads(theirs)), _flat(json.loads(mine))
    except ValueError:
        return f"{theirs} and in {where} {mine}"
    name = next(name for name in [*one, *two] if one.get(name) != two.get(name))
    return f"{name} = {one.get(name)!r} and in {where} {two.get(name)!r}"


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {name: value}
    return {k: v for part, inner in value.items() for k, v in _flat(inner, f"{name}.{part}".lstrip(".")).items()}
