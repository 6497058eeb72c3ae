"""A training in a process of its own, to be killed: `python -m tests.training.child FOLDER [section.key=value …]`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

from glassformer.errors import GlassformerError
from glassformer.training.checkpoint import weights
from glassformer.training.loop import fit
from glassformer.training.stopping import Interrupted
from tests.training.toy import Toy, toy_model, toy_settings


def main() -> int:
    out, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
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


if __name__ == "__main__":
    sys.exit(main())
