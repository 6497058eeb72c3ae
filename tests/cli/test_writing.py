"""explain --write, verify --write, generate and chat with --tree and --html."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.api.model import Model
from glassformer.tasks.writing.chat.settings import ChatSection
from tests.translators import ENGLISH, translating
from tests.writers import writing

Run = Callable[..., Any]
PROMPT = "She likes the"


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return writing("llama").save(tmp_path_factory.mktemp("models") / "writer")


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bare = translating(double=False)
    model = Model(bare.module, bare.tokenizer, task=ChatSection(), length=24)
    return model.save(tmp_path_factory.mktemp("models") / "chat")


@pytest.mark.parametrize("words", [("--beams", "1"), ("--beams", "3"), ("--seed", "2")], ids=" ".join)
def test_each_step_is_shown_and_compared_with_one_run(run: Run, writer: Path, words: tuple[str, ...]) -> None:
    done = run("explain", writer, PROMPT, "--write", "6", *words)
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    assert "✓ " in done.err
    (record,) = run("explain", writer, PROMPT, "--write", "6", *words, "--attention", "0.1", "--json").records
    (plain,) = run("generate", writer, PROMPT, "--max-tokens", "6", *words, "--json").records
    assert record["answer"] == plain["generated"]
    assert record["attention"].keys() == {"block", "head", "bytes"}
    assert (record["attention"]["block"], record["attention"]["head"]) == (0, 1)
    assert record["against_one_run"]["holds"]
    size = len(record["prompt"])
    for number, step in enumerate(record["steps"]):
        assert len(step["looked_at"]) == size + number
        assert sum(step["looked_at"]) == pytest.approx(1)


def test_a_reply_is_explained_to_its_turns(run: Run, chat: Path) -> None:
    done = run("explain", chat, "Hi", "She likes", "I do", "--write", "5", "--seed", "3")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].startswith("you: Hi")
    assert "at the source: " in done.out
    (record,) = run("explain", chat, "Hi", "--write", "5", "--json").records
    assert len(record["steps"][0]["looked_at_source"]) == len(record["source"])


@pytest.mark.parametrize(
    "words",
    [
        ("--beams", "2"),
        ("--attention", "1"),
        ("--write", "4", "--attention", "x"),
        ("--write", "4", "--attention", "9"),
        ("--write", "4", "--cell", "0.weights"),
        ("--write", "4", "--terms", "2"),
        ("--write", "4", "--megabytes", "2"),
        ("--megabytes", "2"),
        ("--write", "4", "--beams", "3", "--temperature", "0.5"),
        ("--write", "0"),
        ("another text", "--write", "4"),
    ],
    ids=" ".join,
)
def test_what_does_not_go_together_is_refused_in_a_sentence(run: Run, writer: Path, words: tuple[str, ...]) -> None:
    done = run("explain", writer, PROMPT, *words)
    assert done.code == 2
    assert done.out == ""
    assert "Traceback" not in done.err


def test_verify_writes_and_compares(run: Run, writer: Path) -> None:
    done = run("verify", writer, PROMPT)
    assert (done.code, done.out.count("✓")) == (0, 4), done.out
    (record,) = run("verify", writer, PROMPT, "--write", "3", "--json").records
    assert record["holds"]
    assert record["writing"]["tokens"] <= 3
    assert max(record["writing"]["attention"], record["writing"]["log_probability"]) <= record["writing"]["limit"]
    (record,) = run("verify", writer, PROMPT, "--write", "0", "--json").records
    assert "writing" not in record


@pytest.mark.parametrize("words", [("--beams", "3"), ("--n-best", "3", "--seed", "1")], ids=" ".join)
def test_the_tree_of_a_text_and_of_several_samples(run: Run, writer: Path, words: tuple[str, ...]) -> None:
    command = ("generate", writer, PROMPT, "--max-tokens", "5", *words)
    tree = run(*command, "--tree")
    assert tree.code == 0, tree.err
    assert max(map(len, tree.out.splitlines())) <= 80
    record = json.loads(run(*command, "--tree", "--json").out)
    (plain,) = run(*command, "--json").records
    assert record["answer"] == plain["generated"]
    assert len(record["answers"]) >= max(1, len(plain["n_best"]))


@pytest.mark.long
def test_pages_open_where_the_text_is_written(run: Run, writer: Path, chat: Path, tmp_path: Path) -> None:
    for command in (
        ("generate", writer, PROMPT, "--max-tokens", "5"),
        ("explain", writer, PROMPT, "--write", "5"),
        ("chat", chat, "Hi how are you", "--max-tokens", "5"),
    ):
        page = tmp_path / "page.html"
        done = run(*command, "--html", page)
        assert done.code == 0, done.err
        text = page.read_text(encoding="utf-8")
        assert 'data-place="#level=tree&amp;picture=words"' in text
        assert 'id="section-search"' in text
        page.unlink()


@pytest.mark.parametrize("given", [("--out", "file"), ("--json",), ("--tree",), ("--stream",)], ids=" ".join)
def test_what_excludes_a_page(run: Run, writer: Path, tmp_path: Path, given: tuple[str, ...]) -> None:
    done = run("generate", writer, PROMPT, "--html", tmp_path / "page.html", *given)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert not (tmp_path / "page.html").exists()


def test_one_page_is_of_one_text(run: Run, writer: Path, tmp_path: Path) -> None:
    done = run("generate", writer, PROMPT, ENGLISH[0], "--html", tmp_path / "page.html")
    assert done.code == 2
    assert "one text" in done.err
