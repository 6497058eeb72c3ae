"""Translation against transformers: speed of training. `bench.engines translation` has its use.

    python -m bench.translation training          # about 20 minutes on two cores

Writes docs/results/bench-translation-training.json. A run that was stopped goes on; --try runs one short turn, not
compiled, and writes nothing. Needs `pip install 'glassformer[bench,test]'`.
"""

import argparse
import json
import os

from bench.translation.pairs import WORK
from experiments import results


def main() -> None:
    """One row."""
    parser = argparse.ArgumentParser(prog="python -m bench.translation")
    parser.add_argument("row", choices=["training"])
    parser.add_argument("--try", dest="tried", action="store_true", help="a short run that writes nothing")
    asked = parser.parse_args()
    if asked.tried:  # compiling takes minutes
        os.environ["TORCHDYNAMO_DISABLE"] = "1"
    from bench.translation import training

    found = {"load_before": os.getloadavg()[0]} | training.run(tried=asked.tried)
    if asked.tried:
        print(json.dumps(found, indent=2))
        return
    name = "bench-translation-training"
    print(results.write(name, "python -m bench.translation training", found))
    for kept in (WORK / "training").rglob("turns-*.json"):
        kept.unlink()


if __name__ == "__main__":
    main()
