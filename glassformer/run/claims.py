"""A claim of the source documents, measured and judged: each arm is trained with each seed, by what the TOML files of
`bundled/claims` say; a score there names one of `MEASURES`.
"""

import json
import os
import random
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import Any, NamedTuple

import torch

from glassformer.answering.answers import answers
from glassformer.base.atomic import atomic_write
from glassformer.base.errors import ConfigError, DataError
from glassformer.bundled.claims import PLACE, Claim, Question, Score
from glassformer.decode.options import WritingOptions
from glassformer.models.inputs import Inputs
from glassformer.run.evaluate import evaluate
from glassformer.run.seeds import is_finished
from glassformer.run.train import train
from glassformer.runtime.made_on import made_on
from glassformer.saved import store
from glassformer.saved.artefact import Artefact
from glassformer.saved.recipe import resolve
from glassformer.scoring.score import THIS_MODEL, Interval, Measure, Scores
from glassformer.scoring.verdict import lower_is_better, mean_difference, samples_for
from glassformer.training.progress import ConsoleProgress, Progress

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
    return evaluate(model, files, baselines=baselines, repeats=baselines)


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

DATA = "GLASSFORMER_DATA"
# The 97.5 % point of Student's t by the number of seeds.
_T = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
HOLDS, IN_PART, FAILS, NOT_SHOWN = "holds", "in part", "does not hold", "not shown"
BETTER, WORSE, SAME = "better", "worse", "not different"
# By test and arm, what each seed measured.
Cells = Mapping[tuple[str, str], Sequence[Measured]]


def run_claim(claim: Claim, runs: Path, *, progress: Progress | None = None) -> dict[str, Any]:
    """Train what `runs` lacks, measure, judge; ConfigError for a claim that needs more, DataError without data."""
    if not claim.stages:
        raise ConfigError(f"{claim.id} cannot be run by the installed package", do=claim.elsewhere)
    progress = ConsoleProgress() if progress is None else progress
    data = _data(claim)
    cells: dict[tuple[str, str], list[Measured]] = {}
    for number, (arm, seed) in enumerate((arm, seed) for seed in range(claim.seeds) for arm in claim.arms):
        total = len(claim.arms) * claim.seeds
        progress.note(f"{claim.id}: {number + 1} of {total}: {arm}, seed {seed}")
        place = runs / claim.id / f"{'-'.join(re.findall('[A-Za-z0-9]+', arm))}-{seed}"
        for test, measured in _measured(claim, arm, seed, data, place, progress):
            cells.setdefault((test.name, arm), []).append(measured)
    return {"name": f"claim-{claim.id}", "command": f"glassformer claims {claim.id} --run", **made_on()} | judged(
        claim, cells
    )


def _data(claim: Claim) -> str:
    """The folder of the data sets; raises DataError where a file of the claim is not in it."""
    place = Path(os.environ.get(DATA, ""))
    for name in sorted(set(re.findall(r"{data}/([^']+)", repr(claim)))):
        if not (place / name).exists():
            where = f"no {name} in {place}" if DATA in os.environ else f"{DATA} is not set"
            raise DataError(f"{claim.id} is measured on {name} in the folder that {DATA} names", got=where)
    for vectors in {its["model.vectors"] for its in claim.arms.values() if "model.vectors" in its}:
        if not Path(vectors).exists():
            raise DataError(f"{claim.id} needs the word vectors {vectors}", got="no such file", do=claim.needs)
    return place.as_posix()


def _measured(
    claim: Claim, arm: str, seed: int, data: str, place: Path, progress: Progress
) -> Iterator[tuple[Score, Measured]]:
    """The scores of all stages of an arm, trained where they are not yet."""
    for stage in claim.stages:
        begun = {"model.start": str(place / stage.start)} if stage.start else claim.arms[arm]
        asked = json.dumps({**claim.set, **stage.set, **begun, "train.seed": seed}).replace("{data}", data)
        asked = asked.replace("{claims}", PLACE.as_posix())
        model = _trained(asked, stage.recipe, place / stage.name, progress)
        for test in stage.tests:
            files = [Path(file.replace("{data}", data)) for file in test.files]
            yield test, MEASURES[test.measure](model, test, files, place / stage.name)


def _trained(asked: str, recipe: str, out: Path, progress: Progress) -> Artefact:
    """The model in a folder, trained first unless it is finished; raises ConfigError for one of other settings."""
    kept, settings = out.with_suffix(".json"), json.loads(asked)
    if kept.exists() and json.loads(kept.read_text(encoding="utf-8")) != settings:
        raise ConfigError(
            f"{out} must be of the claim as it is now", got="other settings", do="name another folder with --runs"
        )
    if is_finished(out, resolve(recipe, settings).train):
        return store.read(out, Artefact)
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(kept) as draft:
        draft.write_text(asked, encoding="utf-8")
    return train(recipe, out=out, set=settings, resume=out.exists(), progress=progress)


def judged(claim: Claim, cells: Cells) -> dict[str, Any]:
    """The scores of all arms, the answer of each question, and the verdict: it holds where all answers are as expected,
    in part where some are; it does not hold where none is and one is the contrary; else it is not shown.
    """
    scores = {test.name: test.score for stage in claim.stages for test in stage.tests}
    answers = [_answer(question, on, scores[on], cells) for question in claim.questions for on in question.on]
    expected = sum(each["found"] == each["expected"] for each in answers)
    contrary = any(each["found"] not in (each["expected"], SAME) for each in answers)
    verdict = HOLDS if expected == len(answers) else IN_PART if expected else FAILS if contrary else NOT_SHOWN
    of_arms: list[dict[str, Any]] = [
        {"test": test, "arm": arm, "score": scores[test], "of_seeds": [each.value for each in cell]}
        for (test, arm), cell in cells.items()
    ]
    means = [{**each, "mean": statistics.fmean(each["of_seeds"])} for each in of_arms]
    return {"seeds": claim.seeds, "verdict": verdict, "scores": means, "questions": answers}


def _answer(question: Question, on: str, score: str, cells: Cells) -> dict[str, Any]:
    """The mean over seeds of a difference, with a 95 % interval: by the bootstrap over the test's examples, where the
    differences of all seeds must also have one sign, else by Student's t over the seeds.
    """
    mine, sign = cells[on, question.of], -1 if lower_is_better(score) or score.endswith(LOWER) else 1
    of_seeds = [each.value for each in mine]
    if question.at_least is not None:
        against, value = (
            f"at {'most' if sign < 0 else 'least'} {question.at_least:g}",
            Interval(statistics.fmean(of_seeds), min(of_seeds), max(of_seeds)),
        )
        found = BETTER if all(sign * each >= sign * question.at_least for each in of_seeds) else WORSE
    else:
        against = ", ".join(filter(None, (question.against, question.against_on)))
        others = cells[question.against_on or on, question.against]
        of_seeds = [one.value - two.value for one, two in zip(mine, others, strict=True)]
        pairs = [
            (one.measure, two.measure) for one, two in zip(mine, others, strict=True) if one.measure and two.measure
        ]
        agree = not pairs or min(of_seeds) > 0 or max(of_seeds) < 0
        if pairs:
            value = mean_difference(pairs, score, samples=samples_for(len(pairs[0][0])))
        else:
            mean, half = (
                statistics.fmean(of_seeds),
                _T[len(of_seeds)] * statistics.stdev(of_seeds) / len(of_seeds) ** 0.5,
            )
            value = Interval(mean, mean - half, mean + half)
        clear = agree and (value.low > 0 or value.high < 0)
        found = SAME if not clear else BETTER if sign * value.value > 0 else WORSE
    facts = {"of": question.of, "against": against, "test": on, "score": score, **value._asdict()}
    return {**facts, "of_seeds": of_seeds, "found": found, "expected": question.expect}
