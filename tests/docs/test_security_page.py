"""The page of promises: each names a test that exists, or says that none shows it."""

from pathlib import Path

import pytest

from tests.docs.test_imprecise_page import pointing_nowhere, references


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs" / "security" / "index.md").read_text(encoding="utf-8")


def test_what_shows_a_promise_exists(page: str, repository: Path) -> None:
    assert pointing_nowhere(page, repository) == []


def test_each_promise_has_a_test_or_says_that_it_has_none(page: str) -> None:
    parts = page.split("| promise | shown by |\n|---|---|\n")[1:]
    promises = [line for part in parts for line in part.split("\n\n")[0].splitlines()]
    assert len(promises) >= 20
    assert [line for line in promises if not references(line.split(" | ")[1]) and "*not tested*" not in line] == []
