"""Processes that torch's launcher begins, again after one is killed: `--processes` and torchrun."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from glassformer.training.checkpoint import Checkpoints
from tests.contracts.tasks import write_prose

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the processes in Linux's /proc")

ITSELF = [sys.executable, "-m", "glassformer"]
STEPS = 200


class Launched:
    """A training whose processes are begun by a launcher; it checkpoints after each step."""

    def __init__(
        self,
        text: Path,
        folder: Path,
        *more: str,
        torchrun: int | None = None,
        machine: tuple[int, int] | None = None,
        steps: int = STEPS,
    ) -> None:
        """`torchrun`: how often it begins all processes again; None for `--processes`. `machine`: the number of one of
        two machines, with a process each, and the port where they meet.
        """
        words = ["train", "masked-lm", str(text), "--family", "bert", "--size", "tiny", "--steps", str(steps)]
        words += ["--vocabulary", "160", "--length", "24", "--validation", "0.2", "--batch", "7", "--out", str(folder)]
        for setting in ("compile=off", "checkpoint_every=1", "evaluate_every=50", "optimizer=muon", "device=cpu"):
            words += ["--set", f"train.{setting}"]
        words += more
        launcher = [sys.executable, "-m", "torch.distributed.run"]
        if machine is None:
            launcher += ["--nproc-per-node", "2", "--standalone"]
        else:
            launcher += ["--nnodes", "2", "--nproc-per-node", "1", "--rdzv-id", "both"]
            launcher += ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"localhost:{machine[1]}"]
        command = (
            [*ITSELF, *words, "--processes", "2"]
            if torchrun is None
            else [*launcher, "--max-restarts", str(torchrun), "-m", "glassformer", *words]
        )
        self.checkpoints = Checkpoints(folder / "checkpoints")
        self.errors = folder.with_suffix(f".errors-{machine[0] if machine else 0}")
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(command, stderr=errors, stdout=subprocess.DEVNULL)

    @property
    def workers(self) -> list[int]:
        """The processes that train, or are about to."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        children = map(int, path.read_text().split())
        return [each for each in children if b"resource_tracker" not in Path(f"/proc/{each}/cmdline").read_bytes()]

    @property
    def step(self) -> int:
        """The step of the newest checkpoint."""
        return max((int(name.name[5:]) for name in self.checkpoints.folder.glob("step-*")), default=0)

    def wait_for(self, found: Callable[[], bool]) -> None:
        """Wait until something is so."""
        last = time.monotonic() + 300
        while not found():
            assert self.process.poll() is None, self.errors.read_text()
            assert time.monotonic() < last
            time.sleep(0.02)

    def end(self) -> int:
        """The exit code."""
        return self.process.wait(600)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small text."""
    return write_prose(tmp_path_factory.mktemp("text"))


@pytest.mark.long
@pytest.mark.parametrize(
    ("kills", "torchrun", "steps", "more"),
    [(3, None, STEPS, []), (20, 20, STEPS, []), (3, None, 60, ["--shard"]), (6, 20, 60, ["--shard"])],
)
def test_a_killed_process_is_begun_again(
    text: Path, tmp_path: Path, kills: int, torchrun: int | None, steps: int, more: list[str]
) -> None:
    whole = Launched(text, tmp_path / "whole", *more, steps=steps)
    assert whole.end() == 0, whole.errors.read_text()
    broken = Launched(text, tmp_path / "broken", *more, torchrun=torchrun, steps=steps)
    rng = random.Random(0)
    for kill in range(kills):
        broken.wait_for(lambda: len(broken.workers) == 2)
        step = broken.step + rng.randrange(1, steps // kills - 2)
        if kill % 4:  # in the steps, wherever they are; else in what comes before them
            broken.wait_for(lambda step=step: broken.step >= step)  # type: ignore[misc]
        time.sleep(rng.uniform(0.0, 0.2 if kill % 4 else 5.0))
        chosen = rng.choice(broken.workers)
        os.kill(chosen, signal.SIGKILL)
        others = {each for each in broken.workers if each != chosen}
        broken.wait_for(lambda others=others: not others & set(broken.workers))  # type: ignore[misc]
    assert broken.end() == 0, broken.errors.read_text()
    assert "the result may differ" not in broken.errors.read_text()
    one, two = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "broken"))
    assert one.keys() == two.keys()
    assert all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.long
def test_a_killed_process_of_one_machine_is_begun_again_with_that_of_the_other(text: Path, tmp_path: Path) -> None:
    """Only the torchrun of its machine counts the restart. Without `--resume`: who was begun again goes on."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    machines = [Launched(text, tmp_path / "run", torchrun=3, machine=(number, port)) for number in (0, 1)]
    for machine, step in zip(machines, (3, STEPS // 2), strict=True):
        machine.wait_for(lambda machine=machine, step=step: machine.step >= step)  # type: ignore[misc]
        os.kill(machine.workers[0], signal.SIGKILL)
    assert [each.end() for each in machines] == [0, 0], [each.errors.read_text() for each in machines]
    assert machines[0].step == STEPS


@pytest.mark.long
def test_a_process_that_is_killed_again_and_again_ends_the_training(text: Path, tmp_path: Path) -> None:
    run = Launched(text, tmp_path / "run", steps=100_000)
    while run.process.poll() is None:
        for worker in run.workers:
            if b"spawn_main" in Path(f"/proc/{worker}/cmdline").read_bytes():
                os.kill(worker, signal.SIGKILL)
        time.sleep(0.05)
    assert run.end() == 2
    assert "SIGKILL" in run.errors.read_text().splitlines()[-1]
    assert "Traceback" not in run.errors.read_text()


@pytest.mark.long
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_all_processes_stop_on_request(text: Path, tmp_path: Path, number: signal.Signals, code: int) -> None:
    run = Launched(text, tmp_path / "run", steps=100_000)
    run.wait_for(lambda: run.step >= 3)
    run.process.send_signal(number)
    assert run.end() == code
    said = run.errors.read_text()
    assert "Traceback" not in said
    assert re.findall(r"stopped after step ([\d,]+)", said) == [f"{run.step:,}"]


@pytest.mark.long
def test_what_was_refused_is_not_continued_when_it_is_begun_again(text: Path, tmp_path: Path) -> None:
    assert Launched(text, tmp_path / "run", torchrun=0, steps=2).end() == 0
    again = Launched(text, tmp_path / "run", torchrun=2, steps=9)
    assert again.end() != 0
    assert again.step == 2
    assert again.errors.read_text().count("--resume") >= 3  # each attempt says how to continue
