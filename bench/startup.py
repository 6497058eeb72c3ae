"""How long a person waits for nothing: `import glassformer`, `glassformer --help`, and the peer's import; and for the
first answer of a model in the package, from each engine: `auto` answers one text in numpy, without torch.

python -m bench.startup        # writes docs/results/bench-startup.json
"""

import os
import random
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec

from experiments import results
from glassformer.bundled.travelling import answering

COMMANDS = {
    "python, doing nothing": ["-c", "pass"],
    "import glassformer": ["-c", "import glassformer"],
    "glassformer --help": ["-m", "glassformer", "--help"],
    "glassformer train --help": ["-m", "glassformer", "train", "--help"],
    "glassformer fill --help": ["-m", "glassformer", "fill", "--help"],
    "import transformers": ["-c", "import transformers"],
}
if answering(("masked-lm",)) is not None:
    text = "She [MASK] the summer better"
    ENGINES = ("auto", "torch", *(["onnxruntime"] if find_spec("onnxruntime") else []))
    for engine in ENGINES:
        option = [] if engine == "auto" else ["--engine", engine]
        COMMANDS[" ".join([f'glassformer fill "{text}"', *option])] = ["-m", "glassformer", "fill", text, *option]
RUNS = 25


def seconds(arguments: list[str]) -> tuple[float, float]:
    """One process: from start to end, and of a processor."""
    started, before = time.perf_counter(), os.times()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - started, used


def measure() -> dict[str, object]:
    """Medians of whole processes, in turn; the first round fills the file caches and is not counted.

    Each round has its own order: in a fixed one the same command would always pay for running after the heaviest.
    """
    rng = random.Random(0)
    orders = [rng.sample(sorted(COMMANDS), len(COMMANDS)) for _ in range(RUNS + 1)]
    rounds = [{name: seconds(COMMANDS[name]) for name in order} for order in orders][1:]
    of = [{name: statistics.median(turn[name][at] for turn in rounds) for name in COMMANDS} for at in (0, 1)]
    return {"seconds": of[0], "processor_seconds": of[1], "runs": RUNS}


if __name__ == "__main__":
    print(results.write("bench-startup", "python -m bench.startup", measure()))
