"""X-9: LSTM and GRU, encoder bidirectional, with and without attention, beside our encoder–decoder of equal size.

    python -m experiments.recurrent text --minutes 4 --threads 1     # five arms, so many minutes each
    python -m experiments.recurrent copy --minutes 0.8 --threads 1   # five arms at six distances, so many minutes each
    python -m experiments.recurrent text --arm gru                   # one of them
    python -m experiments.recurrent copy --try                       # a minute, for no page

`text`: each reads 256 tokens of a book and learns the next 32; speed of training and of writing, the loss on a book
that none has read, and how far back each reads, by gradients. `copy`: symbols are to be written that stand at a
distance.
All have one loop and one optimizer (experiments/plain_loop.py), nobody is compiled, nobody has dropout. Each arm is
resumable, and is not trained twice.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments import results
from experiments.plain_loop import Time
from experiments.recurrent import copying, text
from experiments.recurrent.models import ARMS
from experiments.recurrent.table import picture
from experiments.translation.plan import read_json, write_json
from glassformer.training.stopping import Interrupted

WORK = Path("runs/recurrent")
TRIED = 5
MINUTES = {"text": 4.0, "copy": 0.8}


def arms(row: str, length: Time, only: str | None) -> Iterator[tuple[str, Path]]:
    """The arms of a row that are asked for, and where each is."""
    names = [f"{arm}, {distance}" for arm in ARMS for distance in copying.DISTANCES] if row == "copy" else list(ARMS)
    if length.tries and row == "copy":
        names = [name for name in names if name.endswith(f", {copying.DISTANCES[0]}")]
    for name in names:
        if only is None or name == only or name.rpartition(", ")[0] == only:
            yield name, WORK / f"{row}-{length.name}" / name.replace(", ", "-")


def run(row: str, length: Time, only: str | None) -> None:
    """Train and measure what is not there yet."""
    books = text.Continued(WORK / "try" if length.tries else WORK, tries=length.tries)
    for name, folder in arms(row, length, only):
        if (folder / "measured.json").exists():
            continue
        if row == "text":
            found = text.run(name, books, length, folder)
            said = f"loss {found['loss']['value']:.3f}"
        else:
            arm, _, distance = name.rpartition(", ")
            found = copying.run(arm, int(distance), length, folder)
            said = f"{found['symbols']:.1%} of the symbols"
        write_json(folder / "measured.json", {**found, **results.made_on()})
        print(f"{name}: {said}", flush=True)


def gathered(row: str, length: Time) -> dict[str, Any]:
    """What has been measured so far."""
    found = {
        name: read_json(folder / "measured.json")
        for name, folder in arms(row, length, None)
        if (folder / "measured.json").exists()
    }
    shared = (
        {"source": text.SOURCE, "target": text.TARGET, "batch": text.BATCH, "vocabulary": text.VOCABULARY}
        | {"width": text.WIDTH, "layers": text.LAYERS, "written": text.WRITTEN}
        if row == "text"
        else {"symbols": copying.SYMBOLS, "kept": copying.KEPT, "width": copying.WIDTH, "layers": copying.LAYERS}
        | {"distances": list(copying.DISTANCES)}
    )
    return {"settings": shared, "minutes": length.minutes, "arms": found}


def main() -> None:
    """One command."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.recurrent",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("row", choices=["text", "copy"])
    parser.add_argument("--arm", choices=ARMS)
    parser.add_argument("--minutes", type=float, help="of each arm")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--try", dest="tries", action="store_true", help="five steps on little text, for no page")
    given = parser.parse_args()
    minutes = MINUTES[given.row] if given.minutes is None else given.minutes
    length = Time(minutes, TRIED if given.tries else None, given.threads, given.seed)
    try:
        run(given.row, length, given.arm)
    except Interrupted as stopped:
        print(stopped, file=sys.stderr)
        raise SystemExit(stopped.exit_code) from None
    values = gathered(given.row, length)
    if length.tries:
        write_json(WORK / f"{given.row}-{length.name}.json", values)
        print(WORK / f"{given.row}-{length.name}.json")
        return
    print(
        results.write(f"recurrent-{given.row}", f"python -m experiments.recurrent {given.row} {length.options}", values)
    )
    if given.row == "text":
        print(picture(values["arms"]))


if __name__ == "__main__":
    main()
