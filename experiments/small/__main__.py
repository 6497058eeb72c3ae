"""The models that travel in the package, from their data to their cards.

    python -m experiments.small english train     # its recipe is next to this file; goes on where it was stopped
    python -m experiments.small english pack      # weights in bfloat16, into glassformer/bundled/models/english
    python -m experiments.small english score     # on data nothing has read: docs/results/english.json, the card

`train` may be repeated with more `train.steps` or `train.minutes` in the recipe: the run then goes on. `pack` and
`score` follow it. The other models are `sentences`, `en-fr`, `writer`, `chat` and `next-sentence`.
"""

import argparse

from experiments import results
from experiments.small.models import SMALL, pack, score, train

PARSER = argparse.ArgumentParser(prog="python -m experiments.small")
PARSER.add_argument("model", choices=sorted(SMALL))
PARSER.add_argument("step", choices=("train", "pack", "score"))

if __name__ == "__main__":
    asked = PARSER.parse_args()
    small = SMALL[asked.model]
    if asked.step != "score":
        print(train(small) if asked.step == "train" else pack(small, small.run, small.folder))
    else:
        row = score(small, small.run, small.folder)
        print(results.write(small.name, f"python -m experiments.small {small.name} score", row))
