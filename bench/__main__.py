"""`make bench`: every row that is cheap enough to run at one sitting, then the tables.

Each row is its own command and can be run alone: python -m bench.startup, python -m bench.masked_lm mini …
"""

from __future__ import annotations

import subprocess
import sys

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

for row in ROWS:
    print(f"python -m {' '.join(row)}", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", *row], check=True)
