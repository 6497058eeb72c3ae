"""Translation beside transformers and ctranslate2: speed and memory of training, speed of decoding.

    python -m bench.translation training          # about 20 minutes on two cores
    python -m bench.translation memory            # 6
    python -m bench.translation model             # 25: trains the model of the next row
    python -m bench.translation decoding          # 15; --model DIR takes another one

Each writes docs/results/bench-translation-NAME.json. A run that was stopped goes on; --try runs one short turn, not
compiled, and writes nothing. Needs `pip install 'glassformer[bench,test]'`.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from bench.translation.pairs import WORK
from experiments import results

MODEL = WORK / "en-fr"


def main() -> None:
    """One row."""
    parser = argparse.ArgumentParser(prog="python -m bench.translation")
    parser.add_argument("row", choices=("training", "memory", "model", "decoding"))
    parser.add_argument("--model", type=Path, default=MODEL, help="the model that is decoded with")
    parser.add_argument("--minutes", type=float, default=25.0, help="of its training")
    parser.add_argument("--try", dest="tried", action="store_true", help="a short run that writes nothing")
    asked = parser.parse_args()
    load = os.getloadavg()[0]
    if asked.tried:  # compiling takes minutes
        os.environ["TORCHDYNAMO_DISABLE"] = "1"
    if asked.row == "model":
        from bench.translation import decoding

        decoding.train(asked.minutes, asked.model)
        return
    if asked.row == "training":
        from bench.translation import training

        found = training.run(tried=asked.tried)
    elif asked.row == "memory":
        from bench.translation import memory

        found = memory.run(tried=asked.tried)
    else:
        from bench.translation import decoding

        found = decoding.run(asked.model, tried=asked.tried)
    if asked.tried:
        print(json.dumps(found, indent=2))
        return
    name = f"bench-translation-{asked.row}"
    print(results.write(name, f"python -m bench.translation {asked.row}", {**found, "load_before": load}))
    for kept in (WORK / asked.row).rglob("turns-*.json"):
        kept.unlink()


if __name__ == "__main__":
    main()
