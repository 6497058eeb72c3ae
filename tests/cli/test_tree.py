"""glassformer translate --tree, and the page that explain writes of a translation."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.translators import ENGLISH, translating

Run = Callable[..., Any]
FEW = ("--max-tokens", "6")


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return translating(double=False).save(tmp_path_factory.mktemp("models") / "en-fr")


@pytest.mark.parametrize("words", [("--beams", "1"), ("--beams", "4"), ("--sample", "--seed", "2")], ids=" ".join)
def test_the_tree_ends_in_the_translation(run: Run, translator: Path, words: tuple[str, ...]) -> None:
    command = ("translate", translator, ENGLISH[0], *words, *FEW)
    tree, plain = run(*command, "--tree"), run(*command, "--json")
    assert tree.code == 0
    assert max(map(len, tree.out.splitlines())) <= 80
    found = json.loads(plain.out)
    assert f"→ {found['translation']}".rstrip() in tree.out
    assert f"{found['score']:.3f}" in tree.out
    record = json.loads(run(*command, "--tree", "--json").out)
    best = record["nodes"][record["answers"][0]]
    assert best["score"] == found["score"]


def test_several_texts_have_a_tree_each(run: Run, translator: Path) -> None:
    done = run("translate", translator, *ENGLISH[:2], "--tree", "--beams", "2", *FEW)
    assert done.out.count("beam of 2") == 2


@pytest.mark.parametrize("given", [("--stream",), ("--alignment",), ("--paragraphs",), ("--out", "file")], ids=" ".join)
def test_what_a_tree_does_not_have_is_refused(run: Run, translator: Path, given: tuple[str, ...]) -> None:
    done = run("translate", translator, ENGLISH[0], "--tree", *given)
    assert done.code != 0
    assert "--tree" in done.err
    assert "Traceback" not in done.err


def test_a_text_without_words_is_refused_in_a_sentence(run: Run, translator: Path) -> None:
    done = run("translate", translator, "  ", "--tree")
    assert done.code != 0
    assert "one sentence" in done.err


@pytest.mark.long
def test_a_page_carries_the_search_of_each_text(run: Run, translator: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("explain", translator, *ENGLISH[:2], "--html", page)
    assert done.code == 0, done.err
    assert 'id="section-search"' in page.read_text(encoding="utf-8")
    run("explain", translator, ENGLISH[0], "--target", ENGLISH[1], "--html", page)
    assert 'id="section-search"' not in page.read_text(encoding="utf-8")
