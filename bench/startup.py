"""How long a person waits for nothing: `import glassformer`, `glassformer --help`, and the peer's import; and for the
first answer of a model in the package.

python -m bench.startup        # writes docs/results/bench-startup.json
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time

from experiments import results
from glassformer.bundled.travelling import answering

COMMANDS = {
    "python, doing nothing": ["-c", "pass"],
    "import glassformer": ["-c", "import glassformer"],
    "glassformer --help": ["-m", "glassformer", "--help"],
    "glassformer train --help": ["-m", "glassformer", "train", "--help"],
    "import transformers": ["-c", "import transformers"],
}
if answering(("masked-lm",)) is not None:
    text = "She [MASK] the summer better"
    COMMANDS[f'glassformer fill "{text}"'] = ["-m", "glassformer", "fill", text]
RUNS = 25


def seconds(arguments: list[str]) -> float:
    """One process, from start to end."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    return time.perf_counter() - started


def measure() -> dict[str, object]:
    """Medians of whole processes, in turn; the first round fills the file caches and is not counted.

    Each round has its own order: in a fixed one the same command would always pay for running behind the heaviest.
    """
    rng = random.Random(0)
    orders = [rng.sample(sorted(COMMANDS), len(COMMANDS)) for _ in range(RUNS + 1)]
    rounds = [{name: seconds(COMMANDS[name]) for name in order} for order in orders][1:]
    return {"seconds": {name: statistics.median(turn[name] for turn in rounds) for name in COMMANDS}, "runs": RUNS}


if __name__ == "__main__":
    print(results.write("bench-startup", "python -m bench.startup", measure()))
