"""What a claim measures of a trained model, by the names in its TOML file."""

import json
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import NamedTuple

import torch

from glassformer.answering.answers import answers
from glassformer.bundled.claims import Score
from glassformer.decode.options import WritingOptions
from glassformer.models.inputs import Inputs
from glassformer.run.evaluate import evaluate
from glassformer.saved.artefact import Artefact
from glassformer.scoring.score import THIS_MODEL, Measure, Scores

# Scores here of which less is better, with those of `scoring.verdict.lower_is_better`.
LOWER = ("steps", "change")


class Measured(NamedTuple):
    """A score, and what it was counted from, where that was example by example."""

    value: float
    measure: Measure | None = None


def _evaluated(model: Artefact, test: Score, files: Sequence[Path], folder: Path) -> Measured:
    """The score of the model, or of its baseline `given`."""
    data, system = model.data, test.given or THIS_MODEL
    learned = data.files if data is not None and not data.holds_out else ()  # of the slides nothing is held out
    scores = _scores(model, tuple(files or learned), baselines=False)
    if system not in scores.of:
        scores = _scores(model, tuple(files or learned), baselines=True)
    return Measured(float(scores.of[system][test.score]), scores.measures.get(system))


@lru_cache(2)
def _scores(model: Artefact, files: tuple[str | Path, ...], *, baselines: bool) -> Scores:
    return evaluate(model, files, baselines=baselines)


def _shuffled(model: Artefact, test: Score, files: Sequence[Path], folder: Path) -> Measured:
    """The score where the words of each sentence of CoNLL-U files are in random order, each with its tag."""
    with tempfile.TemporaryDirectory() as place:
        copies = [Path(place, file.name) for file in files]
        for file, copy in zip(files, copies, strict=True):
            copy.write_text(_in_random_order(file.read_text(encoding="utf-8")), encoding="utf-8")
        return _evaluated(model, test, copies, folder)


def _in_random_order(text: str) -> str:
    chance = random.Random(0)
    lines: list[str] = []
    for sentence in text.strip().split("\n\n"):
        rows = [line.partition("\t") for line in sentence.split("\n")]
        words = [rest for number, _, rest in rows if number.isdigit()]
        shuffled = chance.sample(words, len(words))
        lines += [*(f"{number + 1}\t{rest}" for number, rest in enumerate(shuffled)), ""]
    return "\n".join(lines) + "\n"


def _steps(model: Artefact, test: Score, files: Sequence[Path], folder: Path) -> Measured:
    """The first recorded step whose training loss was at most `given`; twice the last step where none was."""
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    steps = [(each["step"], each["loss"]) for each in map(json.loads, lines)]
    reached = [step for step, loss in steps if loss <= test.given]
    return Measured(float(reached[0] if reached else 2 * steps[-1][0]))


def _replied(model: Artefact, test: Score, files: Sequence[Path], folder: Path) -> Measured:
    """The share of the turns in `given` to which the verb that is given too replies with the text next to it."""
    asked = test.given["replies"]
    replies = answers(model, test.given["verb"], [{"turns": [turn]} for turn, _ in asked], WritingOptions())
    right = [reply.reply == wanted for reply, (_, wanted) in zip(replies, asked, strict=True)]
    return Measured(sum(right) / len(right))


def _change(model: Artefact, test: Score, files: Sequence[Path], folder: Path) -> Measured:
    """The largest difference between the states of one word in the texts `given[0]` and `given[1]`, divided by the
    largest state: of each word where they have the same words in another order, else of those with which both begin.
    """
    ids = [model.tokenizer.encode(text).ids for text in test.given]
    begin, reordered = sum(takewhile(bool, map(eq, *ids))), sorted(ids[0]) == sorted(ids[1])
    states = []
    for each in ids:
        with torch.no_grad():
            state = model.module(Inputs(ids=torch.tensor([each])), heads=()).states[0]  # [S, W]
        places = sorted(range(len(each)), key=each.__getitem__) if reordered else range(begin)
        states.append(state[torch.tensor(places)])
    return Measured(float((states[0] - states[1]).abs().max() / states[0].abs().max()))


MEASURES: Mapping[str, Callable[[Artefact, Score, Sequence[Path], Path], Measured]] = {
    "evaluated": _evaluated,
    "shuffled": _shuffled,
    "steps": _steps,
    "change": _change,
    "replied": _replied,
}
