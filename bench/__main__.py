"""`make bench`: every row that is cheap enough to run at one sitting, then the tables.

Each row is its own command and can be run alone: python -m bench.startup, python -m bench.masked_lm mini …
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from experiments.chromium import MISSING, path

ROWS = (
    ("bench.startup",),
    ("bench.looking",),
    ("bench.page",),
    ("bench.attention_four_ways",),
    ("bench.formula_or_kernel",),
    ("bench.compiling", "tiny", "mini"),
    ("bench.masked_lm", "mini"),
    ("bench.masked_lm", "base"),
    ("bench.fine_tuning", "sst2"),
    ("bench.fine_tuning", "mrpc"),
    ("bench.translation", "training"),
    ("bench.translation", "memory"),
    ("bench.translation", "model"),
    ("bench.translation", "decoding"),
    ("bench.language_model",),
    ("bench.generation", "one"),
    ("bench.generation", "sixteen"),
    ("bench.embedding",),
    ("experiments.tables",),
)


def main() -> None:
    """Measure every row; those of the page are left out where there is no browser, and the end says so."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure every row (hours), and write the tables of docs/bench.md.",
    )
    parser.parse_args()
    without = [row for row in ROWS if row[0] == "bench.page" and path() is None]
    for row in ROWS:
        if row in without:
            continue
        print(f"python -m {' '.join(row)}", file=sys.stderr, flush=True)
        if code := subprocess.run([sys.executable, "-m", *row]).returncode:
            sys.exit(f"python -m {' '.join(row)} ended with exit code {code}; the rows after it were not measured")
    if without:
        sys.exit(f"bench.page was not measured: {MISSING}")


if __name__ == "__main__":
    main()
