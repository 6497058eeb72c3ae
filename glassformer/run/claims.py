"""A claim of the source documents, measured and judged: each arm is trained with each seed, by what the TOML files of
`bundled/claims` say.
"""

import json
import os
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import ConfigError, DataError
from glassformer.bundled.claims import PLACE, Claim, Question, Score
from glassformer.run.claim_measures import LOWER, MEASURES, Measured
from glassformer.run.seeds import is_finished
from glassformer.run.train import train
from glassformer.runtime.made_on import made_on
from glassformer.saved import store
from glassformer.saved.artefact import Artefact
from glassformer.saved.recipe import resolve
from glassformer.scoring.score import Interval
from glassformer.scoring.verdict import lower_is_better, mean_difference, samples_for
from glassformer.training.progress import ConsoleProgress, Progress

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
    beside, settings = out.with_suffix(".json"), json.loads(asked)
    if beside.exists() and json.loads(beside.read_text(encoding="utf-8")) != settings:
        raise ConfigError(
            f"{out} must be of the claim as it is now", got="other settings", do="name another folder with --runs"
        )
    if is_finished(out, resolve(recipe, settings).train):
        return store.read(out, Artefact)
    out.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(beside) as draft:
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
