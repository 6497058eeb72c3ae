"""The processes of a training find each other in a launcher's store, also after an attempt that ended."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore
from torch.distributed import DistStoreError

from glassformer.runtime import processes

COUNT = 3


class Launcher:
    """Keeps one store for all attempts, as torchrun does."""

    def __init__(self) -> None:
        self.store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)

    def client(self) -> Store:
        return TCPStore("127.0.0.1", self.store.port, is_master=False, timeout=timedelta(seconds=60))

    def attempt(self, restarts: Sequence[int]) -> list[tuple[Store, bool]]:
        """What each process gets; `restarts` are those of which its machine knows."""
        with ThreadPoolExecutor(COUNT) as pool:
            met = [
                pool.submit(processes._met, self.client(), number, COUNT, restarted=count > 0)
                for number, count in enumerate(restarts)
            ]
            return [each.result(timeout=60) for each in met]


def is_shared(met: Sequence[tuple[Store, bool]]) -> bool:
    """Whether all have the same store, in which nothing was before."""
    stores = [store for store, _ in met]
    return [store.add("seen", 1) for store in stores] == [*range(1, COUNT + 1)]


def test_processes_meet_though_their_machines_count_restarts_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a lost process torchrun counts a restart on its machine; on the others it may begin all again without one."""
    launcher = Launcher()
    first = launcher.attempt([0, 0, 0])
    assert is_shared(first)
    assert [restarted for _, restarted in first] == [False] * COUNT
    monkeypatch.setattr(processes, "_ME", "another process")
    again = launcher.attempt([0, 1, 0])
    assert is_shared(again)
    assert [restarted for _, restarted in again] == [True] * COUNT


def test_the_next_training_of_the_same_processes_is_not_begun_again() -> None:
    launcher = Launcher()
    for _ in range(2):
        met = launcher.attempt([0, 0, 0])
        assert is_shared(met)
        assert [restarted for _, restarted in met] == [False] * COUNT


def test_a_process_that_has_ended_is_not_waited_for() -> None:
    """It has asked, and the one that was begun in its place asks later."""
    launcher = Launcher()
    launcher.store.set("question 1", "of one that has ended")
    assert is_shared(launcher.attempt([0, 0, 0]))


def test_one_that_does_not_come_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_LONGEST_START", timedelta(seconds=0.1))
    launcher = Launcher()
    with pytest.raises(RuntimeError, match="process 1"):
        processes._met(launcher.client(), 0, 2, restarted=False)
    waiting = PrefixStore("without a first one", launcher.client())
    waiting.set_timeout(timedelta(seconds=0.1))
    with pytest.raises(DistStoreError):
        processes._met(waiting, 1, 2, restarted=False)
