"""The page of the explorer in headless Chromium, from the first paint to an hour of use.

    python -m bench.page            every row
    python -m bench.page hover      one row
    python -m bench.page --resume   the rows that this build of the page has not been measured with
    python -m bench.page --try      few samples, printed and not written: whether all of it works

A row is written to docs/results/bench-page-ROW.json as soon as it is measured. Views that are measured are the rows of
`views.py`. Chromium reaches this machine alone. Meant for an idle machine of two cores: about ten minutes in all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from bench.page import learning, opening, replaying, searching, sizes, staying, touching
from bench.page.models import Models, models
from bench.page.window import ARGUMENTS, Case, Samples
from experiments import results
from experiments.chromium import chromium
from glassformer.page.page import built, script_files

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Measure = Callable[["Browser", Models, Samples], list[Case]]

ROWS: dict[str, Measure] = {
    "bundle": opening.bundle,
    "sizes": sizes.sizes,
    "first-paint": opening.first_paint,
    "memory": staying.memory_of_an_hour,
    "first-view": opening.first_view,
    "words": opening.words_handled,
    "hover": touching.hover,
    "explain": touching.explain,
    "pages": staying.pages,
    "change-word": touching.change_word,
    "search": searching.search,
    "replay": replaying.replay,
    "learn": learning.learning,
}


def build() -> str:
    """Which build of the page is measured."""
    together = "".join([built("explorer.js"), built("explorer.css"), *script_files().values()])
    return hashlib.sha256(together.encode()).hexdigest()[:12]


def measured(row: str) -> bool:
    """Whether this build has been measured with that row."""
    found = results.read(f"bench-page-{row}")
    return found is not None and found["build"] == build()


def main() -> None:
    """Measure the rows that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"some of {', '.join(ROWS)}; without any, all")
    parser.add_argument("--resume", action="store_true", help="leave out what this build was measured with")
    parser.add_argument("--try", dest="trial", action="store_true", help="few samples, printed and not written")
    chosen = parser.parse_args()
    if unknown := set(chosen.rows) - set(ROWS):
        parser.error(f"there is no row {', '.join(sorted(unknown))}")
    wanted = [row for row in ROWS if row in (chosen.rows or ROWS) and not (chosen.resume and measured(row))]
    samples = Samples.trial() if chosen.trial else Samples()
    with chromium(*ARGUMENTS) as browser, models() as made:
        for row in wanted:
            began, load = time.perf_counter(), os.getloadavg()[0]
            print(f"python -m bench.page {row}", file=sys.stderr, flush=True)
            cases = [case.record() for case in ROWS[row](browser, made, samples)]
            if chosen.trial:
                print(json.dumps(cases, indent=1, ensure_ascii=False), flush=True)
                continue
            took = round(time.perf_counter() - began)
            facts = {"build": build(), "chromium": browser.version, "load_before": round(load, 2), "seconds": took}
            print(results.write(f"bench-page-{row}", f"python -m bench.page {row}", {**facts, "cases": cases}))
            for case in cases:
                if case["reached"] is False:
                    print(f"  beyond its goal: {case['what']}: {case['value']} {case['unit']}", file=sys.stderr)


if __name__ == "__main__":
    main()
