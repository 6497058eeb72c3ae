"""Killed anywhere and started again, a run ends with the same weights to the bit; Ctrl-C saves first."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from glassformer.training.checkpoint import Checkpoints

REPOSITORY = Path(__file__).resolve().parents[2]
# Many small steps, each followed by a checkpoint: about half of the time is spent in saving.
SETTINGS = {"checkpoint_every": 1, "evaluate_every": 7, "ema": 0.9, "accumulate": 2, "keep": 2}


class Child:
    """A training in a process of its own; what it prints goes to files, so that nothing is lost in a pipe."""

    def __init__(self, server: subprocess.Popen[str], out: Path, settings: Mapping[str, object]) -> None:
        out.mkdir(exist_ok=True)
        self._printed, self._errors = out / "printed", out / "errors"
        for file in (self._printed, self._errors):  # of the run before it in this folder
            file.unlink(missing_ok=True)
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps([str(out), dict(settings)]) + "\n")
        server.stdin.flush()
        self._told = server.stdout
        self.number = int(self._told.readline())

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        try:
            os.kill(self.number, 0)
        except ProcessLookupError:
            return False
        return True

    @property
    def steps(self) -> list[int]:
        """The steps it has reported."""
        return [int(line) for line in _text(self._printed).splitlines()]

    def wait_for_steps(self, count: int) -> None:
        while len(self.steps) < count:
            assert self.alive, _text(self._errors)
            time.sleep(0.01)

    def send(self, number: signal.Signals) -> None:
        os.kill(self.number, number)

    def end(self) -> tuple[int, str]:
        """Its exit code and what it wrote on standard error."""
        last = time.monotonic() + 600
        while self.alive:
            assert time.monotonic() < last, "it does not end"
            time.sleep(0.01)
        return int(self._told.readline()), _text(self._errors)


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


Begin = Callable[[Path, Mapping[str, object]], Child]


@pytest.fixture(scope="module")
def begin() -> Iterator[Begin]:
    """Begins a training, each after the last one has ended: in turn under either of two seeds for the hashes of
    strings, as two starts of Python have them, so that what went on in another order would be noticed.
    """
    begun: list[Child] = []
    with ExitStack() as stack:
        # Threads that wait must not starve other tests.
        more = [{"OMP_WAIT_POLICY": "passive", "PYTHONHASHSEED": seed} for seed in ("1", "2")]
        servers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.training.child"],
                    cwd=REPOSITORY,
                    env=os.environ | its,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for its in more
        ]

        def child(out: Path, settings: Mapping[str, object]) -> Child:
            begun.append(Child(servers[len(begun) % 2], out, settings))
            return begun[-1]

        yield child
        if begun and begun[-1].alive:  # of a test that failed
            begun[-1].send(signal.SIGKILL)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kills", "settings"),
    [
        (2, {"threads": 1}),
        pytest.param(20, {"threads": 2}, marks=pytest.mark.long, id="twenty times, two threads"),
        # As a person's run is by default where the processor has bf16: compiled, and on all threads.
        pytest.param(
            3,
            {"threads": 2, "compile": "on", "precision": "bfloat16"},
            marks=pytest.mark.long,
            id="compiled, in bf16, two threads",
        ),
    ],
)
def test_killed_at_random_moments(begin: Begin, tmp_path: Path, kills: int, settings: Mapping[str, object]) -> None:
    settings = {**SETTINGS, **settings, "steps": 20 * kills}
    code, stderr = begin(tmp_path / "unbroken", settings).end()
    assert code == 0, stderr
    rng = random.Random(0)
    killed_at = []
    for _ in range(kills):
        child = begin(tmp_path / "killed", settings)
        child.wait_for_steps(1)
        # Moments are measured in time, not in steps, so that some of them fall into saving.
        time.sleep(rng.uniform(0.0, 0.3))
        child.send(signal.SIGKILL)
        child.end()
        killed_at.append(child.steps[-1])
    code, stderr = begin(tmp_path / "killed", settings).end()
    assert code == 0, stderr
    assert "may differ" not in stderr
    assert killed_at == sorted(killed_at)  # no kill threw the run back
    assert killed_at[0] < 20 * kills
    whole, broken = (load_file(tmp_path / name / "final.safetensors") for name in ("unbroken", "killed"))
    assert whole.keys() == broken.keys()
    assert all(torch.equal(whole[name], broken[name]) for name in whole)
    assert not list((tmp_path / "killed" / "checkpoints").glob(".*"))


@pytest.mark.long
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_asked_to_stop_it_saves_and_says_how_to_go_on(
    begin: Begin, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    child = begin(tmp_path / "run", {"steps": 100_000, "evaluate_every": 100_000})
    child.wait_for_steps(3)
    child.send(number)
    ended, stderr = child.end()
    assert ended == code, stderr
    assert f"stopped after step {child.steps[-1]}; everything is saved" in stderr
    assert "continue with --resume" in stderr
    assert "Traceback" not in stderr
    newest = Checkpoints(tmp_path / "run" / "checkpoints", keep=2).newest()
    assert newest is not None
    assert newest.step == child.steps[-1]


@pytest.mark.long
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux can fill another process's disk")
def test_a_full_disk_stops_with_a_sentence_and_loses_nothing(begin: Begin, tmp_path: Path) -> None:
    """From a moment on the system refuses files of more than 20 kB, as a full disk would; then there is room again."""
    settings = {"steps": 60, "checkpoint_every": 1, "evaluate_every": 7}
    whole = begin(tmp_path / "whole", settings).end()
    child = begin(tmp_path / "full", settings)
    child.wait_for_steps(3)
    resource.prlimit(child.number, resource.RLIMIT_FSIZE, (20_000, 20_000))
    code, stderr = child.end()
    assert code == 2
    assert "Traceback" not in stderr
    last = stderr.splitlines()[-1]
    assert last.startswith("the checkpoint of step ")
    assert f"step-{child.steps[-1]:08d} is whole" in last
    assert whole[0] == begin(tmp_path / "full", settings).end()[0] == 0
    one, two = (load_file(tmp_path / name / "final.safetensors") for name in ("whole", "full"))
    assert all(torch.equal(one[name], two[name]) for name in one)
