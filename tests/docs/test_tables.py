"""The tables of docs/ are what the measured rows say, no figure more or less."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest

from experiments import claims, results, search, tables
from experiments.page import DOCS, NOT_YET
from manual import scale, trust
from manual.release import table as release

PAGES = [
    ("measured/results.md", tables.books_page),
    ("measured/bench.md", tables.bench_page),
    ("measured/claims.md", claims.page),
    ("do/search.md", search.page),
    ("security/index.md", trust.security_page),
    ("scale/ray.md", trust.ray_page),
    ("scale/machines.md", scale.page),
]


@pytest.mark.parametrize(("page", "built"), PAGES)
def test_a_page_is_built_from_the_rows(page: str, built: Callable[[], str]) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == built()


def test_the_table_of_releases_is_built_from_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    text = release.PAGE.read_text(encoding="utf-8")
    assert release.whole(text) == text
    assert release.BEGIN in text
    made = {"date": "2026-01-01", "machine": "a machine"}
    tested = {"3.11.7 2.13.0 newest": {"passed": 7, "failed": 1, "skipped": 2, **made}}
    works = {"works": False, "megabytes": 12, "version": "1", **made}
    rows = {"sizes": {}, "tests": tested, "extras": {"serve": works}, "types": {"mypy": works}}
    monkeypatch.setattr(results, "read", lambda _: rows)
    section = release.section()
    assert "| 3.11.7 | 2.13.0 | newest | 7 | 1 | 2 | 2026-01-01 |" in section
    assert "| `serve` | **fails** | 12 | 2026-01-01 |" in section
    assert "mypy 1: **fails**" in section


def row(low: float, high: float, *, sides: tuple[str, ...] = ("ours", "peer", "random")) -> dict[str, Any]:
    """A measured row with one difference for all pairs and scores."""
    names = ("accuracy", "entity F1", "F1")
    found = {"value": (low + high) / 2, "low": low, "high": high, "verdict": "worse" if high < 0 else "not worse"}
    return {
        "date": "2026-01-01",
        "machine": "a machine",
        "torch": "2",
        "sides": {side: {"seeds": [0], "scores": dict.fromkeys(names, found)} for side in sides},
        "against": {
            f"ours against {other}": dict.fromkeys(names, found) for other in ("peer", "random") if other in sides
        },
    }


def test_a_verdict_waits_for_its_figures_and_follows_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def verdicts(rows: dict[str, dict[str, Any]]) -> list[str]:
        monkeypatch.setattr(results, "read", lambda name: rows.get(name.removeprefix("encoder-")))
        found = re.findall(r"^## (\S+)|^\*\*Verdict\*\*: (.+)\.$", claims.page(), re.MULTILINE)
        named = {heading: said for (heading, _), (_, said) in itertools.pairwise(found) if heading and said}
        return [named.pop("X-15"), named.pop("X-18"), *named.values()]

    sets = [name for name, _, _ in claims.FOUR_TASKS]
    better, same, worse = row(0.01, 0.03), row(-0.01, 0.02), row(-0.04, -0.01)
    assert all(NOT_YET in verdict for verdict in verdicts({}))
    part = verdicts({"sst2": better, "mrpc": row(0.01, 0.02, sides=("ours",))})
    assert "1 of 5" in part[0]
    assert "1 of 3" in part[1]
    assert verdicts(dict.fromkeys(sets, better))[:2] == ["**holds**", "**holds**"]
    assert verdicts(dict.fromkeys(sets, same))[:2] == ["**holds**", "**not shown**"]
    mixed = verdicts({**dict.fromkeys(sets, better), "mrpc": worse})
    assert "in 1 of 5" in mixed[0]
    assert "in 2 of 3" in mixed[1]
