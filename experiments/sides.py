"""The command of an experiment with several sides: one side is trained and measured, then all scores are written."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import results
from experiments.translation.plan import write_json
from glassformer.training.stopping import Interrupted

TRIED = 20
"""The steps of a try."""


@dataclass(frozen=True)
class Sides:
    """What a command does: `run` trains and measures a side, `scores` gathers what was measured. Scores go to
    docs/results as `name`, those of a try to `folder`; `options` is what to type for the time.
    """

    name: str
    folder: Path
    options: str
    run: Callable[[str], None]
    scores: Callable[[], dict[str, Any]]


def one_command(
    program: str,
    about: str | None,
    sides: Sequence[str],
    prepared: Callable[[float, int | None, int | None, int], Sides],
    *,
    tries: str,
) -> None:
    """Read one command, do it and print where the scores are. `prepared` is given minutes, steps (None: by the clock),
    threads and the seed; `tries` says what a try is.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m {program}", description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("side", choices=[*sides, "scores"])
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--try", dest="tries", action="store_true", help=tries)
    given = parser.parse_args()
    asked = prepared(given.minutes, TRIED if given.tries else None, given.threads, given.seed)
    try:
        if given.side != "scores":
            asked.run(given.side)
    except Interrupted as stopped:
        print(stopped, file=sys.stderr)
        raise SystemExit(stopped.exit_code) from None
    values = asked.scores()
    if given.tries:
        write_json(asked.folder / f"{asked.name}.json", values)
        print(asked.folder / f"{asked.name}.json")
    else:
        print(results.write(asked.name, f"python -m {program} scores {asked.options}", values))
