"""The claims of the source documents, one TOML file each: what is trained, measured and compared, and the rule of the
verdict. `recorded.json` has the verdicts of docs/measured/claims.md; `python -m experiments.claims` writes both.
"""

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field

from glassformer.base.errors import ConfigError
from glassformer.base.settings import Settings, read_settings

PLACE = Path(__file__).parent


class Score(Settings):
    """What a trained model is measured by: a score on `files`, else on what was held out. `measure` names one of
    `run/claims.py`, and `given` is what it is given: that of `evaluated`, the baseline that is scored instead.
    """

    name: str
    score: str
    measure: str = "evaluated"
    files: tuple[str, ...] = ()
    given: Any = None


class Stage(Settings):
    """One training of each arm: a bundled recipe with its settings, from the model of the stage `start` if named."""

    name: str
    recipe: str
    set: dict[str, Any] = Field(default_factory=dict)
    start: str = ""
    tests: tuple[Score, ...] = ()


class Question(Settings):
    """Whether the arm `of` is better than the arm `against` in the tests `on`, or in each seed not below `at_least`."""

    on: tuple[str, ...]
    of: str
    against: str = ""
    against_on: str = ""
    at_least: float | None = None
    expect: Literal["better", "worse"] = "better"


class Claim(Settings):
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
    set: dict[str, Any] = Field(default_factory=dict)
    stages: tuple[Stage, ...] = ()
    arms: dict[str, dict[str, Any]] = Field(default_factory=dict)
    questions: tuple[Question, ...] = ()


@cache
def known_claims() -> Mapping[str, Claim]:
    """The claims by their names, X-1 to X-20."""
    files = sorted(PLACE.glob("*.toml"), key=lambda file: int(file.stem[2:]))
    tables = {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in files}
    return MappingProxyType({name: read_settings(Claim, table, where=name) for name, table in tables.items()})


def known_claim(name: str) -> Claim:
    """The claim of this name, X-4 or x-4; raises ConfigError for an unknown one."""
    known = known_claims()
    if name.upper() not in known:
        raise ConfigError(f"there is no claim {name!r}", do=f"choose from: {', '.join(known)}")
    return known[name.upper()]


@cache
def recorded() -> Mapping[str, Mapping[str, Any]]:
    """Each claim as docs/measured/claims.md has it: `verdict`, `rests_on`, `date`, `sentence`, and its figures."""
    return MappingProxyType(json.loads((PLACE / "recorded.json").read_text(encoding="utf-8")))
