"""What a claim measures of a trained model, by the names in its TOML file."""

import json
import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from glassformer.answering.answers import answers
from glassformer.bundled.claims import Score
from glassformer.decode.options import WritingOptions
from glassformer.models.inputs import Inputs
from glassformer.run.evaluate import evaluate
from glassformer.saved.artefact import Artefact
from glassformer.scoring.score import THIS_MODEL, Measure

# Scores here of which less is better, with those of `scoring.verdict.lower_is_better`.
LOWER = ("steps", "change")


class Measured(NamedTuple):
    """A score, and what it was counted from, where that was example by example."""

    value: float
    measure: Measure | None = None


def _evaluated(model: Artefact, test: Score, files: Sequence[Path], folder: Path) -> Measured:
    data = model.data
    learned = data.files if data is not None and not data.holds_out else ()  # of the slides nothing is held out
    scores = evaluate(model, files or learned, baselines=False)
    return Measured(float(scores[test.score]), scores.measures.get(THIS_MODEL))


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
    """The largest difference between the states of one word in the text `given[0]` and in `given[1]`, which has the
    same words in another order, divided by the largest state.
    """
    states = []
    for text in test.given:
        ids = model.tokenizer.encode(text).ids
        with torch.no_grad():
            state = model.module(Inputs(ids=torch.tensor([ids])), heads=()).states[0]  # [S, W]
        states.append(state[torch.tensor(sorted(range(len(ids)), key=ids.__getitem__))])
    return Measured(float((states[0] - states[1]).abs().max() / states[0].abs().max()))


MEASURES: Mapping[str, Callable[[Artefact, Score, Sequence[Path], Path], Measured]] = {
    "evaluated": _evaluated,
    "shuffled": _shuffled,
    "steps": _steps,
    "change": _change,
    "replied": _replied,
}
