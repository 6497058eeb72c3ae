"""What is faster on this machine is measured once, kept, and never decides where nothing can be kept."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.runtime.measured import fastest


class Clock:
    """Time that passes only in what is measured; it counts how often each way was gone."""

    def __init__(self) -> None:
        self.now, self.gone = 0.0, {"usual": 0, "other": 0}

    def ways(self, usual: float, other: float) -> dict[str, Callable[[], object]]:
        def way(name: str, seconds: float) -> Callable[[], object]:
            def go() -> None:
                self.gone[name] += 1
                self.now += seconds

            return go

        return {"usual": way("usual", usual), "other": way("other", other)}


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setenv("GLASSFORMER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(time, "perf_counter", lambda: clock.now)
    return clock


@pytest.mark.parametrize(
    ("usual", "other", "found"), [(1.0, 0.5, "other"), (1.0, 2.0, "usual"), (1.0, 1.0, "usual"), (1.0, 0.97, "usual")]
)
def test_another_way_must_be_clearly_faster(clock: Clock, usual: float, other: float, found: str) -> None:
    assert fastest("it", clock.ways(usual, other)) == found


def test_it_is_measured_once_for_a_machine_and_its_threads(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fastest("it", clock.ways(1.0, 0.5)) == "other"
    gone = dict(clock.gone)
    assert min(gone.values()) > 1
    assert fastest("it", clock.ways(1.0, 9.0)) == "other"  # kept
    assert clock.gone == gone
    assert fastest("another", clock.ways(1.0, 9.0)) == "usual"
    assert fastest("it", clock.ways(1.0, 9.0)) == "other"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    assert fastest("it", clock.ways(1.0, 9.0)) == "usual"
    monkeypatch.undo()


@pytest.mark.parametrize("damage", ["", "[]", '{"it": "a third"}', '{"it": 1}', "{"])
def test_a_damaged_file_is_measured_anew(clock: Clock, tmp_path: Path, damage: str) -> None:
    fastest("it", clock.ways(1.0, 0.5))
    (file,) = (tmp_path / "cache").rglob("*.json")
    file.write_text(damage)
    assert fastest("it", clock.ways(1.0, 9.0)) == "usual"
    assert fastest("it", clock.ways(9.0, 1.0)) == "usual"  # kept again


def test_where_nothing_can_be_kept_nothing_is_measured(clock: Clock, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    ways: dict[str, Any] = clock.ways(9.0, 1.0)
    assert fastest("it", ways) == "usual"
    assert clock.gone == {"usual": 0, "other": 0}
