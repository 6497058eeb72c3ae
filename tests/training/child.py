"""Trainings to be killed, each in a process of its own, which torch is not loaded for again.

Called as `python -m tests.training.child`: for each line `[folder, settings]` of standard input, in JSON, a process
trains there; standard output gets the process's number when it begins, and its exit code when it has ended. What it
prints itself is in `printed` and `errors` in the folder.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file

from glassformer.base.errors import GlassformerError
from glassformer.training.checkpoint import weights
from glassformer.training.loop import fit
from glassformer.training.stopping import Interrupted
from tests.training.toy import Toy, toy_model, toy_settings


def train(out: Path, settings: Mapping[str, object]) -> int:
    """Train to the end and keep the weights; returns the exit code."""
    torch.set_num_threads(1)
    model = toy_model(dropout=0.3)
    try:
        for step in fit(model, Toy(), toy_settings(**settings), out=out, held_out=Toy(seed=5), resume=True):
            print(step.step, flush=True)
    except Interrupted as stopped:
        print(stopped, file=sys.stderr)
        return stopped.exit_code
    except GlassformerError as error:
        print(error, file=sys.stderr)
        return 2
    save_file(weights(model), out / "final.safetensors")
    return 0


def main() -> int:
    """Returns in each process that has trained, and in the first one at the end of standard input."""
    for line in sys.stdin:
        folder, settings = json.loads(line)
        process = os.fork()
        if process == 0:
            for number, name in ((1, "printed"), (2, "errors")):
                handle = os.open(Path(folder) / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
                os.dup2(handle, number)
                os.close(handle)
            return train(Path(folder), settings)
        print(process, flush=True)
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
