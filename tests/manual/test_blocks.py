"""Each command and each piece of Python on a page is run by a test, or says why it is not."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from manual.stage import DOCS
from tests.manual.blocks import blocks, to_run

RUN_BY = {
    "do/answer.md": "tests/docs/test_answer_page.py",
    "do/chat.md": "tests/docs/test_language_model_page.py",
    "do/choose.md": "tests/docs/test_choose_and_order_pages.py",
    "do/classify.md": "tests/docs/test_classify_page.py",
    "do/engines.md": "tests/manual/test_pages_run.py",
    "do/features.md": "tests/docs/test_features_pages.py",
    "do/language-model.md": "tests/docs/test_language_model_page.py",
    "do/models.md": "tests/manual/test_pages_run.py",
    "do/onnx.md": "tests/docs/test_onnx_page.py",
    "do/scikit-learn.md": "tests/docs/test_scikit_learn_page.py",
    "do/search.md": "tests/docs/test_features_pages.py",
    "do/sentence-order.md": "tests/docs/test_choose_and_order_pages.py",
    "do/submission.md": "tests/docs/test_submission_page.py",
    "do/tag.md": "tests/docs/test_tag_page.py",
    "do/transfer.md": "tests/docs/test_transfer_page.py",
    "do/translate.md": "tests/docs/test_translate_page.py",
    "friends/nanogpt.md": "tests/manual/test_pages_run.py",
    "friends/opennmt.md": "tests/manual/test_pages_run.py",
    "friends/sentence-transformers.md": "tests/manual/test_pages_run.py",
    "friends/spacy.md": "tests/manual/test_pages_run.py",
    "friends/trainer.md": "tests/manual/test_pages_run.py",
    "how/adding-a-task.md": "tests/docs/test_adding_a_task.py",
    "index.md": "tests/manual/test_pages_run.py",
    "look/gallery.md": "tests/manual/test_pages_run.py",
    "look/index.md": "tests/manual/test_pages_run.py",
    "look/looking.md": "tests/docs/test_looking.py",
    "look/page.md": "tests/docs/test_looking.py",
    "reference/decoding.md": "tests/docs/test_translate_page.py",
    "reference/platforms.md": "tests/manual/test_pages_run.py",
    "reference/records.md": "tests/docs/test_records_and_scores.py",
    "reference/scores.md": "tests/docs/test_records_and_scores.py",
    "start/first-model.md": "tests/manual/test_pages_run.py",
    "start/index.md": "tests/manual/test_pages_run.py",
}
"""Of each page with blocks that are run, the test that runs them."""

ELSEWHERE = ("learn",)
"""Sections with tests of their own for each block."""

PAGES = sorted(path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).parts[0] not in ELSEWHERE)
WITH_CODE = [path for path in PAGES if to_run(path)]


def name_of(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


@pytest.mark.parametrize("path", WITH_CODE, ids=name_of)
def test_the_code_of_a_page_is_run_or_says_why_not(path: Path, repository: Path) -> None:
    test = RUN_BY.get(name_of(path))
    assert test is not None, f"{[each.text for each in to_run(path)]} are run by no test"
    assert re.search(rf"\b{path.stem}\b", (repository / test).read_text(encoding="utf-8")), f"{test} names no {path}"


def test_each_page_of_the_table_has_code() -> None:
    assert {*RUN_BY} == {name_of(path) for path in WITH_CODE}


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_what_is_no_program_can_be_read(path: Path) -> None:
    for each in blocks(path):
        if each.kind == "toml":
            tomllib.loads(each.text)
        if each.kind == "json" and "…" not in each.text:  # shortened for people
            for line in each.text.splitlines() if "\n{" in each.text else [each.text]:
                json.loads(line)


def test_each_reason_says_something() -> None:
    reasons = {each.reason for path in PAGES for each in blocks(path) if each.reason}
    assert reasons
    assert all(len(reason.split()) >= 3 for reason in reasons)


def test_a_block_without_a_reason_is_to_be_run() -> None:
    page = "<!-- not run: it needs a server -->\n```sh\none\n```\n\n```sh\ntwo\n```\n\n```text\nthree\n```\n"
    assert [(each.text, each.reason) for each in blocks(page)] == [
        ("one\n", "it needs a server"),
        ("two\n", ""),
        ("three\n", ""),
    ]
    assert [each.text for each in to_run(page)] == ["two\n"]
