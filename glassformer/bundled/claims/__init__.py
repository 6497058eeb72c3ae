"""The claims of the source documents, one TOML file each: what is trained, measured and compared, and the rule of the
verdict. `recorded.json` has the verdicts of docs/claims.md; `python -m experiments.claims` writes both.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from glassformer.base.errors import ConfigError, did_you_mean

PLACE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a trained model is measured by: a score on `files`, else on what was held out; `shuffled`: with the words of
    each line, or of each sentence of a table of words, in random order. `measure` names another function of
    `run/claim_measures.py`, `given` what it is given.
    """

    name: str
    score: str
    measure: str = "evaluated"
    files: tuple[str, ...] = ()
    given: Any = None


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One training of each arm: a bundled recipe with its settings, from the model of the stage `start` if named."""

    name: str
    recipe: str
    set: Mapping[str, Any] = field(default_factory=dict)
    start: str = ""
    tests: tuple[Score, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Question:
    """Whether the arm `of` is better than the arm `against` in the tests `on`, or in each seed not below `at_least`."""

    on: tuple[str, ...]
    of: str
    against: str = ""
    against_on: str = ""
    at_least: float | None = None
    expect: Literal["better", "worse"] = "better"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim. `arms` have settings for every stage that starts from nothing; without `stages` the package cannot run
    it, and `elsewhere` says where it was run. `remark`: what the figures show, `needs`: how to make what is missing.
    """

    id: str
    title: str
    document: str
    claim: str
    rule: str = ""
    remark: str = ""
    elsewhere: str = ""
    needs: str = ""
    seeds: int = 0
    set: Mapping[str, Any] = field(default_factory=dict)
    stages: tuple[Stage, ...] = ()
    arms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()


@cache
def known_claims() -> Mapping[str, Claim]:
    """The claims by their names, X-1 to X-20."""
    found = [_claim(tomllib.loads(file.read_text(encoding="utf-8"))) for file in PLACE.glob("*.toml")]
    return MappingProxyType({each.id: each for each in sorted(found, key=lambda each: int(each.id[2:]))})


def known_claim(name: str) -> Claim:
    """The claim of this name; raises ConfigError for an unknown one."""
    if name not in known_claims():
        raise ConfigError(f"there is no claim {name!r}", do=did_you_mean(name, known_claims()))
    return known_claims()[name]


@cache
def recorded() -> Mapping[str, Mapping[str, Any]]:
    """Of each claim its `verdict` in docs/claims.md, what it `rests_on`, `date`, `sentence`, and figures where the
    package runs it.
    """
    return MappingProxyType(json.loads((PLACE / "recorded.json").read_text(encoding="utf-8")))


def _claim(table: Mapping[str, Any]) -> Claim:
    def rows(kind: Any, name: str, values: Mapping[str, Any] = table) -> tuple[Any, ...]:
        return tuple(
            kind(**{key: tuple(each) if isinstance(each, list) and key in ("on", "files") else each
                    for key, each in row.items()})
            for row in values.get(name, ())
        )  # fmt: skip

    stages = tuple(Stage(**{**stage, "tests": rows(Score, "tests", stage)}) for stage in table.get("stages", ()))
    return Claim(**{**table, "stages": stages, "questions": rows(Question, "questions")})
