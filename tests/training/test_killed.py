"""Killed anywhere and started again, a run ends with the same weights to the bit; Ctrl-C saves first."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from glassformer.training.checkpoint import Checkpoints

REPOSITORY = Path(__file__).resolve().parents[2]
# Many small steps, each followed by a checkpoint: about half of the time is spent in saving.
SETTINGS = {"checkpoint_every": 1, "evaluate_every": 7, "ema": 0.9, "accumulate": 2, "keep": 2}


class Child:
    """A training in a process of its own; what it prints goes to a file, so that nothing is lost in a pipe."""

    def __init__(self, out: Path, settings: Mapping[str, object]) -> None:
        out.mkdir(exist_ok=True)
        self._printed = out / "printed"
        with self._printed.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.training.child", str(out), json.dumps(dict(settings))],
                cwd=REPOSITORY,
                env={**os.environ, "OMP_WAIT_POLICY": "passive"},  # threads that wait must not starve other tests
                stdout=file,
                stderr=subprocess.PIPE,
                text=True,
            )

    @property
    def steps(self) -> list[int]:
        """The steps it has told of."""
        return [int(line) for line in self._printed.read_text().splitlines()]

    def wait_for_steps(self, count: int) -> None:
        while len(self.steps) < count:
            assert self.process.poll() is None, self.process.communicate()[1]
            time.sleep(0.01)

    def end(self) -> tuple[int, str]:
        """Its exit code and what it wrote on standard error."""
        stderr = self.process.communicate(timeout=600)[1]
        return self.process.returncode, stderr


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
def test_killed_at_random_moments(tmp_path: Path, kills: int, settings: Mapping[str, object]) -> None:
    settings = {**SETTINGS, **settings, "steps": 20 * kills}
    code, stderr = Child(tmp_path / "unbroken", settings).end()
    assert code == 0, stderr
    rng = random.Random(0)
    killed_at = []
    for _ in range(kills):
        child = Child(tmp_path / "killed", settings)
        child.wait_for_steps(1)
        # Moments are measured in time, not in steps, so that some of them fall into saving.
        time.sleep(rng.uniform(0.0, 0.3))
        child.process.kill()
        child.end()
        killed_at.append(child.steps[-1])
    code, stderr = Child(tmp_path / "killed", settings).end()
    assert code == 0, stderr
    assert "may differ" not in stderr
    assert killed_at == sorted(killed_at)  # no kill threw the run back
    assert killed_at[0] < 20 * kills
    whole, broken = (load_file(tmp_path / name / "final.safetensors") for name in ("unbroken", "killed"))
    assert whole.keys() == broken.keys()
    assert all(torch.equal(whole[name], broken[name]) for name in whole)
    assert not list((tmp_path / "killed" / "checkpoints").glob(".*"))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_asked_to_stop_it_saves_and_says_how_to_go_on(tmp_path: Path, number: signal.Signals, code: int) -> None:
    child = Child(tmp_path / "run", {"steps": 100_000, "evaluate_every": 100_000})
    child.wait_for_steps(3)
    child.process.send_signal(number)
    ended, stderr = child.end()
    assert ended == code, stderr
    assert f"stopped after step {child.steps[-1]}; everything is saved" in stderr
    assert "go on with --resume" in stderr
    assert "Traceback" not in stderr
    newest = Checkpoints(tmp_path / "run" / "checkpoints", keep=2).newest()
    assert newest is not None
    assert newest.step == child.steps[-1]


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux can fill another process's disk")
def test_a_full_disk_stops_with_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    """From a moment on the system refuses files of more than 20 kB, as a full disk would; then there is room again."""
    settings = {"steps": 60, "checkpoint_every": 1, "evaluate_every": 7}
    whole = Child(tmp_path / "whole", settings).end()
    child = Child(tmp_path / "full", settings)
    child.wait_for_steps(3)
    resource.prlimit(child.process.pid, resource.RLIMIT_FSIZE, (20_000, 20_000))
    code, stderr = child.end()
    assert code == 2
    assert "Traceback" not in stderr
    last = stderr.splitlines()[-1]
    assert last.startswith("the checkpoint of step ")
    assert f"step-{child.steps[-1]:08d} is whole" in last
    assert whole[0] == Child(tmp_path / "full", settings).end()[0] == 0
    one, two = (load_file(tmp_path / name / "final.safetensors") for name in ("whole", "full"))
    assert all(torch.equal(one[name], two[name]) for name in one)
