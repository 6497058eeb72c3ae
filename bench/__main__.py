"""`python -m bench`: every row that is cheap enough to run at one sitting, then the tables. `python -m bench NAME` runs
one row; what follows the name is given to it: `python -m bench engines-vectors --try`.
"""

import argparse
import subprocess
import sys

from bench.engines import LENGTHS
from experiments.chromium import MISSING, path

ROWS: dict[str, tuple[str, ...]] = {
    "engines-translation": ("bench.engines", "translation"),
    "engines-vectors": ("bench.engines", "vectors"),
    "engines-query": ("bench.engines", "query"),
    "engines-tasks": ("bench.engines", "tasks"),
    "engines-generation": ("bench.engines", "generation"),
    **{f"engines-lengths-{length}": ("bench.engines", f"lengths-{length}") for length in LENGTHS},
    "startup": ("bench.startup",),
    "serving": ("bench.serving",),
    "looking": ("bench.looking",),
    "page": ("bench.page",),
    "attention-four-ways": ("bench.attention_four_ways",),
    "masked-lm-mini": ("bench.masked_lm", "mini"),
    "masked-lm-base": ("bench.masked_lm", "base"),
    "fine-tuning-sst2": ("bench.fine_tuning", "sst2"),
    "fine-tuning-mrpc": ("bench.fine_tuning", "mrpc"),
    "translation-training": ("bench.translation", "training"),
    "language-model": ("bench.language_model",),
    "tables": ("experiments.tables",),
}
# Run by their names alone: they need a GPU, and the package ray.
NAMED = {"gpu": ("bench.gpu",), "corpus": ("bench.corpus",)}


def main() -> None:
    """Measure the rows; those of the page are left out where there is no browser, and the end says so."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="Measure every row (hours), or one, and write docs/measured/bench.md."
    )
    parser.add_argument("name", nargs="?", choices=(*ROWS, *NAMED), help="the row; all but gpu and corpus without it")
    asked, more = parser.parse_known_args()
    if more and asked.name is None:
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    rows = ROWS if asked.name is None else {asked.name: {**ROWS, **NAMED}[asked.name]}
    without = [name for name in rows if name == "page" and path() is None]
    for name, row in rows.items():
        if name in without:
            continue
        words = ["-m", *row, *more]
        print(f"python {' '.join(words)}", file=sys.stderr, flush=True)
        if code := subprocess.run([sys.executable, *words]).returncode:
            later = "" if asked.name else "; the rows after it were not measured"
            sys.exit(f"python {' '.join(words)} ended with exit code {code}{later}")
    if without:
        sys.exit(f"bench.page was not measured: {MISSING}")


if __name__ == "__main__":
    main()
