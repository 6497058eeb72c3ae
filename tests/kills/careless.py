"""Two writers, to see that the harness distinguishes them: one writes in place and goes on wherever it was, the other
writes whole files. Called as `python -m tests.kills.careless FOLDER`; prints what was counted, as JSON.
"""

import json
import random
import sys
import time
from dataclasses import asdict
from pathlib import Path

from glassformer.base.atomic import atomic_write
from tests.kills.harness import Killed
from tests.kills.scenes import LEFT, Scene, digests


def in_place(inputs: Path, own: Path, again: bool) -> int:
    with (own / "lines").open("a") as file:
        for number in range(20):
            file.write(f"{number}\n")
            file.flush()
            time.sleep(0.01)
    return 0


def whole(inputs: Path, own: Path, again: bool) -> int:
    with atomic_write(own / "lines") as draft, draft.open("w") as file:
        for number in range(20):
            file.write(f"{number}\n")
            file.flush()
            time.sleep(0.01)
    return 0


def refuses(inputs: Path, own: Path, again: bool) -> int:
    """It never goes on, and says so."""
    if (own / "lines").exists():
        print("there is something already", file=sys.stderr)
        return 2
    return in_place(inputs, own, again)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    tallies = {}
    for run in (in_place, whole, refuses):
        killed = Killed(Scene(run.__name__, run, digests("lines", *LEFT)), folder, folder / run.__name__)
        chance = random.Random(0)
        while killed.tally.kills < 8:
            killed.once(chance)
        tallies[run.__name__] = asdict(killed.tally)
    print(json.dumps(tallies))
