"""The tables of docs/ are what the measured rows say, no figure more or less."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from experiments import tables


@pytest.mark.parametrize(("page", "built"), [("results.md", tables.books_page), ("bench.md", tables.bench_page)])
def test_a_page_is_built_from_the_rows(page: str, built: Callable[[], str]) -> None:
    assert (tables.DOCS / page).read_text(encoding="utf-8") == built()
