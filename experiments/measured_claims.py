"""The sections of docs/measured/claims.md on the claims that the package itself runs (`glassformer claims X-6 --run`),
from docs/results/claim-*.json; and how many seeds, splits, sets or models each verdict rests on.
"""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from experiments import results
from experiments.page import NOT_YET, made_by, table
from glassformer.bundled.claims import Claim, known_claims
from glassformer.cli.look.claims import answers_table, scores_table

WORDS = ("holds", "in part", "does not hold", "not shown", NOT_YET)
# What the four-task claim and the pre-training claim were measured with: their sets and both sides.
FOUR, PRE_TRAINED = ("sst2", "mrpc", "squad", "pos", "wnut17"), ("sst2", "mrpc", "wnut17")


def row_of(name: str) -> dict[str, Any] | None:
    """What a claim has measured, None where the package has not run it."""
    return results.read(f"claim-{name}")


def section(claim: Claim) -> list[str]:
    """Lines of the page, for a claim that nothing else has measured."""
    return [f"## {claim.id} · {claim.title[0].upper()}{claim.title[1:]}", "", *lines_of(claim), "", verdict_line(claim)]


def lines_of(claim: Claim) -> list[str]:
    """Claim, rule and figures."""
    row = row_of(claim.id)
    lines = [*_wrapped(f"**Claim** (the {claim.document}): {claim.claim}"), *_wrapped(f"**Rule**: {claim.rule}")]
    if row is None:
        return [*lines, f"{NOT_YET}."]
    head, answers = answers_table(row)
    lines += [
        "Means over the seeds, with the least and the greatest of them:",
        "",
        table(*scores_table(row)),
        "",
        "Differences, means over the seeds with their 95 % intervals:",
        "",
        table(head, answers, numbers=False),
        "",
    ]
    return [*lines, *(_wrapped(claim.remark) if claim.remark else []), made_by(row)]


def _wrapped(text: str) -> list[str]:
    return [*textwrap.wrap(text, 118, break_on_hyphens=False), ""]


def verdict_line(claim: Claim) -> str:
    row = row_of(claim.id)
    if row is None:
        return f"**Verdict**: **{NOT_YET}**."
    as_expected = [each["found"] == each["expected"] for each in row["questions"]]
    count = f"{sum(as_expected)} of {len(as_expected)} answers as expected"
    return f"**Verdict**: **{row['verdict']}**: {count}."


def word_of(line: str) -> str:
    """The verdict of a line `**Verdict**: **holds**: …` as one of the words that all claims share."""
    said = re.search(r"\*\*Verdict\*\*: \*\*([^*]+)\*\*", line)
    assert said is not None, line
    found = said[1]
    if found not in WORDS:
        raise ValueError(f"a verdict is one of {', '.join(WORDS)}, not {found!r}")
    return found


def rests_on(name: str) -> str:
    """How many training seeds, splits, sets or models a verdict rests on: the least, where its rows differ."""
    own = row_of(name)
    count, what = _larger(name)
    return _counted(max(count, 0 if own is None else int(own["seeds"])), what)


def rests(name: str) -> str:
    """The same, of both measurements where there are two."""
    count, what = _larger(name)
    both = f"; the measurement above, on {_counted(count, what)}" if count and row_of(name) else ""
    return rests_on(name) + both


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _larger(name: str) -> tuple[int, str]:
    """The same of the measurement that is not the package's own."""
    if name == "X-11":
        return _of("features-words-pos", "seeds"), "seed"
    if name == "X-13":
        return _of("features-sst2", "splits"), "split"
    if name == "X-14":
        return 1, "seed"
    if name == "X-15":
        return min(_seeds(each, ("ours", "peer")) for each in FOUR), "seed"
    if name == "X-16":
        return len((results.read("features-search") or {"sets": ()})["sets"]), "set"
    if name == "X-17":
        return len((results.read("ties") or {"models": ()})["models"]), "model"
    if name == "X-18":
        return min(_seeds(each, ("ours", "random")) for each in PRE_TRAINED), "seed"
    return (1 if known_claims()[name].elsewhere or name in ("X-1", "X-2", "X-3", "X-8", "X-12") else 0), "seed"


def _of(name: str, what: str) -> int:
    found = (results.read(name) or {what: 0})[what]
    return len(found) if isinstance(found, list) else int(found)


def _seeds(name: str, sides: Sequence[str]) -> int:
    rows = [row for row in seeds_of(name) if row is not None]
    return min(sum(len(row["sides"][side]["seeds"]) for row in rows if side in row["sides"]) for side in sides)


def seeds_of(name: str) -> list[dict[str, Any] | None]:
    """The rows of an encoder's set: those of the first seeds, and of each that was measured by itself."""
    return [results.read(f"encoder-{name}"), *(results.read(f"encoder-{name}-seed-{seed}") for seed in range(1, 5))]


def recorded(sections: Mapping[str, Sequence[str]]) -> str:
    """The file of the package with what this page says, for `glassformer claims`."""
    found: dict[str, Any] = {}
    for name in known_claims():
        verdict = next((line for line in sections.get(name, ()) if line.startswith("**Verdict**")), "")
        dates = re.findall(r": (\d{4}-\d\d-\d\d), ", "\n".join(sections.get(name, ())))
        found[name] = {
            "verdict": word_of(verdict) if verdict else NOT_YET,
            "rests_on": rests_on(name),
            "date": max(dates, default=""),
            "sentence": verdict.removeprefix("**Verdict**: ").replace("**", ""),
        }
        if row := row_of(name):
            found[name] |= {key: row[key] for key in ("seeds", "scores", "questions")}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
