"""One side of the table of chat: trained on self_dialogue, measured on DailyDialog, written to docs/results.

    python -m experiments.chat ours --minutes 20 --threads 1      # then: transformers
    python -m experiments.chat scores --minutes 20                # again from what was measured
    python -m experiments.chat ours --try                         # a minute, on one topic, for no page

Each side is resumable: the same command goes on where it was stopped (Ctrl-C, SIGTERM), and does nothing when it is
done. Ours is `glassformer train chat` with nothing set, but that nine dialogues of one turn are left out. transformers'
MarianMTModel has the same size, vocabulary, dialogues and minutes, and the loop of experiments/translation/peer.py.
Those of ours have compiling and its looks at the validation loss in them. No side has seen DailyDialog.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import glassformer as gf
from experiments import results
from experiments.chat.plan import Dialogues, Exchange
from experiments.sides import Sides, one_command
from experiments.translation.measures import plain
from experiments.translation.ours import facts
from experiments.translation.plan import Budget, read_json, write_json
from glassformer.data.batches.batch import Texts
from glassformer.saved.recipe import RECIPE
from glassformer.scoring.score import Measure, Reals, Unigram
from glassformer.tasks.writing.chat.task import reply_scores
from glassformer.tasks.writing.pair_source import PairSource, TextPairs, target_losses
from glassformer.tasks.writing.writers import special_ids
from glassformer.text.words import find_words

SIDES = ("ours", "transformers")
# Greedy replies that are measured, their most tokens, and how many of them are shown.
WRITTEN, MOST, SHOWN = 200, 40, 10


def ours(dialogues: Dialogues, run: Path, asked: Sequence[Exchange]) -> dict[str, Any]:
    """`glassformer train chat` with these dialogues and minutes."""
    if (run / "model.safetensors").exists():
        model = gf.load(run, device="cpu")
    elif (run / RECIPE).exists():
        model = gf.train(out=run, resume=True)
    else:
        model = gf.train(dialogues.recipe, out=run)
    test, tokenizer = dialogues.test, model.tokenizer
    pairs = TextPairs(Texts(), Texts())
    for exchange in test:
        pairs.sources.append(exchange.turns)
        pairs.targets.append(exchange.reply)
    source = PairSource(pairs, tokenizer, start=special_ids(tokenizer).begin, longest=dialogues.data.length)
    of = target_losses(model.module.eval(), source, Unigram(np.ones(tokenizer.vocabulary_size, np.int64)), None)
    conversations = [exchange.turns.split("\n") for exchange in asked]
    return {
        "numbers": of.pairs.tolist(),
        "losses": of.losses.tolist(),
        "tokens": of.tokens.tolist(),
        "replies": [model.chat(turns, beams=1, max_tokens=MOST).reply for turns in conversations],
        "drawn": [model.chat(turns, max_tokens=MOST).reply for turns in conversations[:SHOWN]],
        "facts": facts(model, run),
    }


def transformers(dialogues: Dialogues, run: Path, asked: Sequence[Exchange]) -> dict[str, Any]:
    """The peer in its loop."""
    from experiments.chat.peer import ChatPeer

    peer = ChatPeer(dialogues, run)
    peer.train()
    losses, tokens = peer.losses(dialogues.test)
    return {
        "numbers": list(range(len(dialogues.test))),
        "losses": losses.tolist(),
        "tokens": tokens.tolist(),
        "replies": peer.replies([exchange.turns for exchange in asked], most=MOST),
        "facts": peer.facts(),
    }


def asked_of(dialogues: Dialogues) -> list[Exchange]:
    """The exchanges whose turns are answered: drawn by a seed, the first of them shown."""
    return random.Random(0).sample(dialogues.test, min(WRITTEN, len(dialogues.test)))


def run(side: str, dialogues: Dialogues) -> None:
    """Train and measure one side; nothing of what is there already."""
    folder = dialogues.folder / side
    if (folder / "measured.json").exists():
        return
    kind = ours if side == "ours" else transformers
    found = kind(dialogues, folder / "run", asked_of(dialogues))
    command = f"python -m experiments.chat {side} {options(dialogues.budget)}"
    write_json(folder / "measured.json", {"command": command, **found, **results.made_on()})


def options(budget: Budget) -> str:
    """What to type for a time."""
    threads = "" if budget.threads is None else f" --threads {budget.threads}"
    return (f"--minutes {budget.minutes:g}" if budget.steps is None else "--try") + threads


def scores(dialogues: Dialogues) -> dict[str, Any]:
    """The scores of the sides that have been measured, on the replies that all of them have measured."""
    found = {side: read_json(path) for side in SIDES if (path := dialogues.folder / side / "measured.json").exists()}
    test, asked = dialogues.test, asked_of(dialogues)
    both = sorted(set.intersection(*(set(each["numbers"]) for each in found.values()))) if found else []
    measures = {side: _measure(each, both, test) for side, each in found.items()}
    sides = {
        side: {
            "command": each["command"],
            "scores": plain(measures[side].intervals()),
            "replies": reply_scores(each["replies"]),
            "facts": {**each["facts"], **{name: each[name] for name in ("date", "machine", "torch", "products")}},
        }
        for side, each in found.items()
    }
    return {
        "measured": len(both),
        "left_out": len(test) - len(both),
        "written": len(asked),
        "right_replies": reply_scores([exchange.reply for exchange in asked]),
        "sides": sides,
        "against": plain(measures["ours"].compared(measures["transformers"])) if len(measures) == len(SIDES) else {},
        "samples": [
            {
                "turns": exchange.turns.split("\n"),
                "right": exchange.reply,
                **{side: each["replies"][number] for side, each in found.items()},
                **({"ours, drawn": found["ours"]["drawn"][number]} if "ours" in found else {}),
            }
            for number, exchange in enumerate(asked[:SHOWN])
        ],
    }


def _measure(found: Mapping[str, Any], numbers: Sequence[int], test: Sequence[Exchange]) -> Measure:
    """Bits per byte and perplexity of words and tokens of the right replies; drawn again and again are replies."""
    place = {number: at for at, number in enumerate(found["numbers"])}
    rows = [
        (
            found["losses"][place[number]],
            found["tokens"][place[number]],
            len(test[number].reply.encode()),
            len(list(find_words(test[number].reply))),
        )
        for number in numbers
    ]

    def of(sums: Reals) -> dict[str, Reals]:
        return {
            "bits_per_byte": sums[..., 0] / math.log(2) / sums[..., 2],
            "word_perplexity": np.exp(np.minimum(sums[..., 0] / sums[..., 3], 700.0)),
            "token_perplexity": np.exp(np.minimum(sums[..., 0] / sums[..., 1], 700.0)),
        }

    return Measure(np.array(rows, np.float64), of)


def main() -> None:
    """One command."""

    def prepared(minutes: float, steps: int | None, threads: int | None, seed: int) -> Sides:
        dialogues = Dialogues(budget := Budget(minutes, steps, threads, seed))
        run_side = partial(run, dialogues=dialogues)
        return Sides(f"chat-{budget.name}", dialogues.folder, options(budget), run_side, lambda: scores(dialogues))

    one_command("experiments.chat", __doc__, SIDES, prepared, tries="twenty steps on one topic, for no page")


if __name__ == "__main__":
    main()
