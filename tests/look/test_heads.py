"""What heads do: the rule of the labels, over all texts of a run, and the same in the page."""

import json
import math
import os
import random
from pathlib import Path

import numpy as np
import pytest

from glassformer.api.trace import Trace, trace
from glassformer.look.summaries.head_jobs import JOBS, PLACED, RULE, heads, job_of
from glassformer.look.summaries.head_measures import MEASURES, attentions
from glassformer.look.trace.cell import Words
from tests.contracts.families import Padding
from tests.look.rows import row_named

# The page's own test, web/test/levels/levels.test.ts, holds its rule to the same file.
GOLDEN = Path(__file__).resolve().parents[2] / "web/test/golden/jobs.json"


def drawn(rng: random.Random) -> dict[str, float]:
    """Measures of a head that is made up; some near the limits of the rule."""
    tokens = rng.choice((1, 2, 3, 4, 7, 16, 60))
    shares = {name: rng.choice((0.25, 2 / tokens, rng.random(), rng.random() / 4)) for name in MEASURES}
    if rng.random() < 0.3:
        shares |= dict.fromkeys(("previous", "self", "next", "distance", "separator"), math.nan)
    return shares | {"even": 1 / tokens, "entropy": math.log(tokens) * rng.random()}


def test_the_page_follows_the_same_rule() -> None:
    rng = random.Random(5)
    cases = []
    for _ in range(80):
        measures = drawn(rng)
        job, value = job_of(measures)
        known = {name: None if math.isnan(number) else number for name, number in measures.items()}
        cases.append({"measures": known, "job": job, "value": value})
    assert {case["job"] for case in cases} == set(JOBS)
    stated = {"measures": list(MEASURES), "jobs": list(JOBS), "cases": cases}
    if os.environ.get("UPDATE") == "1":
        GOLDEN.write_text(json.dumps(stated, indent=1) + "\n", encoding="utf-8")
    assert json.loads(GOLDEN.read_text(encoding="utf-8")) == stated


def traced(name: str, *, padding: Padding = "uneven", closing: bool = True) -> Trace:
    row = row_named(name)
    inputs, decoder_inputs = row.batch(padding=padding)
    words = Words(closing={"inputs": 5, "decoder_inputs": 7} if closing else {})
    return trace(row.model(), inputs, decoder_inputs, words=words)


@pytest.mark.parametrize("padding", ["uneven", "left"])
@pytest.mark.parametrize("name", ["bert", "llama", "t5"])
def test_heads_are_measured_over_every_token_of_all_texts(name: str, padding: Padding) -> None:
    found = traced(name, padding=padding)
    rows = {(head.attention, head.head): head for head in heads(found)}
    for attention in attentions(found):
        formula = found.statement.formulas[f"{attention}.weights"]
        weights = found[f"{attention}.weights"].numpy()
        looking, keys = (found.facts[f"{side}.ids"].numpy() for side in (formula.tokens, formula.keys))
        real = found.facts[f"{formula.tokens}.real"].numpy()
        crossing, closing = formula.tokens != formula.keys, found.words.closing[formula.keys]
        for head in range(weights.shape[1]):
            sums = dict.fromkeys(("entropy", "previous", "self", "first", "separator", "same_word", "distance"), 0.0)
            for sentence, query in np.argwhere(real):
                row = weights[sentence, head, query]
                places = np.arange(len(row))
                sums["entropy"] -= sum(share * math.log(share) for share in row if share > 0)
                sums["previous"] += row[places == query - 1].sum()
                sums["self"] += row[places == query].sum()
                sums["first"] += row[found.facts[f"{formula.keys}.real"][sentence].tolist().index(True)]
                sums["separator"] += row[keys[sentence] == closing].sum()
                same = keys[sentence] == looking[sentence, query]
                sums["same_word"] += row[same if crossing else same & (places != query)].sum()
                sums["distance"] += (row * abs(places - query)).sum()
            measures = rows[attention, head].measures
            for measure, total in sums.items():
                if crossing and measure in ("previous", "self", "distance"):
                    assert math.isnan(measures[measure])
                else:
                    assert measures[measure] == pytest.approx(total / real.sum(), abs=1e-12), (attention, measure)


def test_every_head_is_in_one_group_and_the_clearest_comes_first() -> None:
    found = heads(traced("bart"))
    assert len(found) == sum(3 for _ in attentions(traced("bart")))
    assert [JOBS.index(head.job) for head in found] == sorted(JOBS.index(head.job) for head in found)
    for job in JOBS:
        values = [head.value for head in found if head.job == job]
        assert values == sorted(values, reverse=job in PLACED)
    for head in found:
        assert head.value == (head.measures[head.job] if head.job in PLACED else math.exp(head.measures["entropy"]))
    assert "25%" in RULE


def test_without_a_known_end_no_head_is_called_by_it() -> None:
    for head in heads(traced("bert", closing=False)):
        assert math.isnan(head.measures["separator"])
        assert head.job != "separator"


@pytest.mark.parametrize(
    ("tokens", "share", "job"),
    [(2, 0.998, "first"), (2, 0.75, "first"), (2, 0.7, "few"), (3, 0.998, "first"), (1, 1.0, "self")],
)
def test_in_a_short_text_a_head_is_called_by_the_place_that_gets_nearly_all(
    tokens: int, share: float, job: str
) -> None:
    measures = dict.fromkeys(MEASURES, 0.0) | {"even": 1 / tokens, "first": share, "entropy": 0.01}
    if tokens == 1:
        measures["self"] = 1.0
    assert job_of(measures)[0] == job
