"""One arm of X-14: trained on books, judged on others, fine-tuned; and N-11. Written to docs/results/pretraining.json.

    python -m experiments.pretraining alone --minutes 10    # or: alone-100, next, next-100, order; --seeds 3
    python -m experiments.pretraining random                # the weights that all begin with, fine-tuned alone
    python -m experiments.pretraining overfit               # N-11: a page learned by heart
    python -m experiments.pretraining scores                # the scores again, from what was answered

Minutes are those of one thread of the processor: the time of a step is measured once, and all arms have as many steps.
Each arm is resumable: the same command goes on where it was stopped, and does nothing when it is done.
"""

from __future__ import annotations

import argparse
import sys

import torch

from experiments import results
from experiments.encoder.plan import RANDOM
from experiments.pretraining import arms, overfit, plan
from experiments.pretraining.scores import scores
from glassformer.training.stopping import Interrupted


def main() -> None:
    """One command."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.pretraining",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("arm", choices=[*plan.ARMS, RANDOM, "overfit", "scores"])
    parser.add_argument(
        "--minutes", type=float, help=f"of one thread, for each arm; {plan.MINUTES:g} where none is planned"
    )
    parser.add_argument("--seeds", type=int, default=3, help="of the fine-tuning; 0 leaves it out")
    given = parser.parse_args()
    torch.set_num_threads(1)  # so that the processor's seconds are those of one core
    try:
        if given.arm == "overfit":
            overfit.run()
        elif given.arm != "scores":
            arms.run(given.arm, given.minutes, given.seeds)
    except Interrupted as stopped:
        print(stopped, file=sys.stderr)
        raise SystemExit(stopped.exit_code) from None
    print(results.write("pretraining", "python -m experiments.pretraining scores", scores()), file=sys.stderr)


if __name__ == "__main__":
    main()
