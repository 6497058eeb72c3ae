"""Trainings on several processes, begun as torchrun does it, but forked from one that has torch loaded already.

Called as `python -m tests.training.several`: for each line `[folder, works]` of standard input, in JSON, a process for
each of the works; standard output gets their numbers when they begin, and their exit codes when all have ended. A work
is the words of a command, the settings of a training of the small task in memory, or a recipe. What a process prints is
in `printed-0`, `errors-0` … in the folder; the weights that it has in the end are in `weights-0.safetensors` ….
"""

import io
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch import distributed as dist

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.cli.__main__ import main as command_line
from glassformer.run.train import train
from glassformer.runtime.processes import Several, joined
from glassformer.runtime.sharing import Sharing
from glassformer.training.checkpoint import weights
from glassformer.training.loop import fit
from glassformer.training.progress import NoProgress
from glassformer.training.stopping import Interrupted
from tests.contracts.tasks import TASKS
from tests.training.toy import Toy, toy_model, toy_settings

REPOSITORY = Path(__file__).resolve().parents[2]


def toy(out: Path, number: int, settings: Mapping[str, Any]) -> int:
    """Train on the small task, from the newest checkpoint where there is one; returns the exit code. A process that has
    ended with an error exits when all have ended, as those of `--processes`; and the group of processes is kept, as
    torch does when its compiler is imported during the training.
    """
    kept: list[object] = []
    try:
        return _toy(out, number, settings, kept)
    except (CheckpointError, ConfigError) as error:  # of another process: its sentence
        print(error, file=sys.stderr)
        group = os.environ["MASTER_PORT"]  # an earlier one may have ended in this folder
        (out / f"ended-{group}-{number}").touch()
        while len(list(out.glob(f"ended-{group}-*"))) < int(os.environ["WORLD_SIZE"]):
            time.sleep(0.01)
        return error.exit_code


def _toy(out: Path, number: int, settings: Mapping[str, Any], kept: list[object]) -> int:
    model, chosen = toy_model(dropout=0.3), toy_settings(**settings)
    with joined("cpu", Sharing if chosen.shard else Several) as processes:
        kept.append(dist.group.WORLD)
        try:
            for step in fit(model, Toy(), chosen, out=out, held_out=Toy(seed=5), resume=True, processes=processes):
                print(step.step, step.loss, step.norm, flush=True)
        except Interrupted as stopped:
            print(stopped, file=sys.stderr)
            return stopped.exit_code
    save_file(weights(model), out / f"weights-{number}.safetensors")
    return 0


def work(folder: Path, number: int, given: Any) -> int:
    """One process of several."""
    if isinstance(given, list):
        return command_line(given)
    if "task" not in given:
        return toy(folder, number, given)
    model = train(given, out=folder / "run", progress=NoProgress())
    save_file(weights(model.module), folder / f"weights-{number}.safetensors")
    return 0


def main() -> int:
    """Returns at the end of standard input."""
    torch.set_num_threads(1)
    with TemporaryDirectory() as folder:  # a training loads modules that the others then have
        train(TASKS[0].recipe(Path(folder)), out=Path(folder) / "run", progress=NoProgress())
        with redirect_stdout(io.StringIO()):
            command_line(["train", "--help"])
    for line in sys.stdin:
        folder, works = json.loads(line)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        begun = []
        for number, given in enumerate(works):
            begun.append(os.fork())
            if begun[-1] == 0:
                for handle, name in ((1, "printed"), (2, "errors")):
                    file = os.open(f"{folder}/{name}-{number}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
                    os.dup2(file, handle)
                names = {"RANK": number, "WORLD_SIZE": len(works), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
                os.environ.update({name: str(value) for name, value in names.items()})
                code = work(Path(folder), number, given)
                sys.stdout.flush()
                os._exit(code)  # without taking down all that the first process has loaded
        print(json.dumps(begun), flush=True)
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(each, 0)[1]) for each in begun]), flush=True)
    return 0


class Group:
    """Processes that train together in a folder."""

    def __init__(self, server: subprocess.Popen[str], folder: Path, works: Sequence[object]) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        folder.mkdir(exist_ok=True)
        self.folder, self.count, self._told = folder, len(works), server.stdout
        server.stdin.write(json.dumps([str(folder), works]) + "\n")
        server.stdin.flush()
        self.numbers: list[int] = json.loads(self._told.readline())

    def end(self) -> list[int]:
        """Their exit codes."""
        codes: list[int] = json.loads(self._told.readline())
        return codes

    def text(self, name: str, number: int) -> str:
        """What a process has written on standard output (`printed`) or standard error (`errors`)."""
        file = self.folder / f"{name}-{number}"
        return file.read_text() if file.exists() else ""

    def weights(self) -> list[dict[str, Tensor]]:
        """What each of them has in the end."""
        return [load_file(self.folder / f"weights-{number}.safetensors") for number in range(self.count)]


@contextmanager
def server() -> Iterator[subprocess.Popen[str]]:
    """A process that begins groups, one after the other."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.training.several"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


if __name__ == "__main__":
    sys.exit(main())
