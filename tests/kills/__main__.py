"""Kill commands at random moments, run them again, and count what came of it.

python -m tests.kills --kills 1000              # goes on after those that docs/results/kills.json has
python -m tests.kills --kills 18 --out FILE     # a part, counted in another file
python -m tests.kills --kills 50 --only save    # one scene
"""

import argparse
import gc
import importlib
import json
import os
import pkgutil
import random
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.kills.harness import Killed, Tally

RESULT = Path(__file__).parents[2] / "docs" / "results" / "kills.json"
COMMAND = "python -m tests.kills --kills 1000"


def warm() -> None:
    """Import what the processes would import, once for all of them. Nothing is computed, so that no thread is begun."""
    import glassformer

    for module in pkgutil.walk_packages(glassformer.__path__, "glassformer."):
        with suppress(ImportError):
            importlib.import_module(module.name)
    for name in (
        "torch._dynamo",
        "onnxruntime",
        "onnx",
        "uvicorn",
        "fastapi",
        "prometheus_client",
        "sklearn.svm",
        "scipy.sparse",
    ):
        with suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()


def before(out: Path) -> dict[str, Tally]:
    """What has been counted already."""
    if not out.exists():
        return {}
    scenes = json.loads(out.read_text())["scenes"]
    return {name: Tally(**row) for name, row in scenes.items()}


def keep(out: Path, seed: int, tallies: dict[str, Tally]) -> None:
    from glassformer.runtime.made_on import made_on

    row: dict[str, Any] = {
        "name": "kills",
        "command": COMMAND,
        **made_on(),
        "seed": seed,
        "kills": sum(tally.kills for tally in tallies.values()),
        "same": sum(tally.same for tally in tallies.values()),
        "refused": sum(sum(tally.refused.values()) for tally in tallies.values()),
        "wrong": sum(len(tally.wrong) for tally in tallies.values()),
        "scenes": {name: asdict(tally) for name, tally in tallies.items()},
    }
    partial = out.with_suffix(".partial")
    partial.write_text(json.dumps(row, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(out)


def main(arguments: Sequence[str]) -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__.splitlines()[0])
    asked.add_argument("--kills", type=int, required=True, help="kills in all, those counted before included")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--out", type=Path, default=RESULT)
    asked.add_argument("--only", nargs="*", default=None, help="scenes")
    options = asked.parse_args(arguments)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    warm()
    from tests.kills.inputs import make_inputs
    from tests.kills.scenes import SCENES

    tallies = before(options.out)
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        inputs = make_inputs(folder / "inputs")
        scenes = []
        for number, scene in enumerate(each for each in SCENES if options.only is None or each.name in options.only):
            scenes.append(Killed(scene, inputs, folder / str(number)))
            scenes[-1].tally = tallies.setdefault(scene.name, Tally())
        # Where a count goes on, the moments do too.
        chance = random.Random(options.seed * 1_000_003 + sum(tally.kills for tally in tallies.values()))
        while sum(tally.kills for tally in tallies.values()) < options.kills:
            least = min(scenes, key=lambda each: each.tally.kills)
            least.once(chance)
            keep(options.out, options.seed, tallies)
    for name, tally in tallies.items():
        print(f"{name}: {tally.kills} kills, {tally.same} ended the same, {tally.too_late} too late", end="")
        print(f", {sum(tally.refused.values())} refused, {len(tally.wrong)} wrong")
        print(
            *(f"  refused: {said}" for said in tally.refused), *(f"  WRONG: {said}" for said in tally.wrong), sep="\n"
        )
    return 1 if any(tally.wrong for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
