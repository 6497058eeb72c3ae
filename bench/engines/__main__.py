"""Answering in bulk: ours with each engine against the best libraries, on the same weights and texts.

    python -m bench.engines translation       # or vectors, query, tasks, generation: `--help` says how long

Each writes docs/results/bench-engines-NAME.json, on an x86 without AVX-512 …-NAME-avx2.json. A run that was
stopped goes on; --try runs one short turn and writes nothing. Needs `pip install 'glassformer[bench,test,fast]'`. All
systems have as many threads as torch: OMP_NUM_THREADS.
"""

import argparse
import json
import os

from bench.engines import LENGTHS
from bench.engines.row import forget, measured
from experiments import results

NAMES = ("translation", "vectors", "query", "tasks", "generation", *(f"lengths-{length}" for length in LENGTHS))


def main() -> None:
    """One row."""
    parser = argparse.ArgumentParser(prog="python -m bench.engines")
    parser.add_argument("row", choices=NAMES, help="each takes at most ten minutes on two cores")
    parser.add_argument("--try", dest="tried", action="store_true", help="a short run that writes nothing")
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    found = measured(asked.row, tried=asked.tried)
    if asked.tried:
        print(json.dumps(found, indent=2))
        return
    name = f"engines-{asked.row}"
    print(results.write(f"bench-{name}", f"python -m bench {name}", {**found, "load_before": load}, of_width=True))
    forget(asked.row)


if __name__ == "__main__":
    main()
