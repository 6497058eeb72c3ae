"""The pages on choosing and on sentence order: each of their commands and their Python, run on small data."""

import json
import re
import shlex
from pathlib import Path

import pytest

import glassformer as gf
from glassformer.cli.__main__ import main
from glassformer.tasks.labels.choose.settings import ChooseData, ChooseSection
from glassformer.tasks.words.bert.settings import BertSection
from glassformer.tasks.words.sentence_order.settings import SentenceOrderSection
from manual.shown import SHOWN
from tests.contracts.tasks import SENTENCES
from tests.docs.test_commands import BLOCK

SMALLER = [
    *("--steps", "2", "--length", "32", "--vocabulary", "200", "--threads", "1", "--batch", "4"),
    *("--set", "train.compile=off", "--set", "train.precision=float32", "--set", "data.validation=0.3"),
    *("--set", "model.settings={layers = 1, width = 16, heads = 2, feed_forward = 16}"),
]
PAGES = ("choose", "sentence-order")
SECTIONS = (ChooseSection, SentenceOrderSection, BertSection)  # the page on sentence order describes `train bert`, too


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path) -> Path:
    """A folder with the files that the pages name."""
    page = (repository / "docs" / "do" / "choose.md").read_text(encoding="utf-8")
    (found,) = (block for kind, block in BLOCK.findall(page) if kind == "json")
    shown = [json.loads(line) for line in found.splitlines()]
    rows = [json.dumps({**shown[n % 2], "text": f"{shown[n % 2]['text']} {n}"}) for n in range(20)]
    columns = ["question,a,b,c,right", *(f"Where? {n},here,there,{'' if n % 3 else 'far'},{n % 2}" for n in range(20))]
    stories = "\n\n".join(f"Story {n}. {SENTENCES[n % 5]} {SENTENCES[(n + 2) % 5]} It ends." for n in range(30))
    pairs = [json.dumps({"first": first, "second": SENTENCES[0]}) for first in SENTENCES]
    for name, text in {
        "questions.jsonl": "\n".join(rows),
        "questions.csv": "\n".join(columns),
        "texts.txt": "\n".join(SENTENCES),
        "stories.txt": stories,
        "more.txt": f"{stories} More.",
        "pairs.jsonl": "\n".join(pairs),
    }.items():
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_what_the_page_shows_works(
    name: str, repository: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (repository / "docs" / "do" / f"{name}.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(SHOWN.sub("", page))  # what it shows with a result: tests/manual/test_shown.py
    commands = [shlex.split(line)[1:] for kind, block in blocks if kind == "sh" for line in block.splitlines()]
    assert [words[0] for words in commands].count("train") == 2
    answers = []
    for words in commands:
        assert main([*words, *SMALLER] if words[0] == "train" else words) == 0, words
        out = capsys.readouterr().out
        if "--json" in words or "answers.jsonl" in words:
            written = Path("answers.jsonl").read_text(encoding="utf-8") if "--out" in words else out
            answers.append([json.loads(line) for line in written.splitlines()])
    assert [len(found) for found in answers] == {"choose": [20, 5], "sentence-order": [1, 5]}[name]
    for code in (block for kind, block in blocks if kind == "python"):
        exec(compile(code, f"{name}.md", "exec"), {})
    assert capsys.readouterr().out.strip()
    card = (folder / "runs" / {"choose": "choose", "sentence-order": "next"}[name] / "README.md").read_text(
        encoding="utf-8"
    )
    (use,) = (block for kind, block in BLOCK.findall(card) if kind == "python")
    exec(compile(use.replace('gf.load("', 'gf.load("runs/'), "card", "exec"), {})


def test_a_model_of_columns_answers_a_table_of_columns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--text-column",
        "question",
        "--choices-column",
        "a",
        "--choices-column",
        "b",
        "--choices-column",
        "c",
        "--label-column",
        "right",
    ]
    assert main(["train", "choose", "questions.csv", *words, *SMALLER, "--out", "run"]) == 0
    capsys.readouterr()
    assert main(["choose", "run", "--file", "questions.csv", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [len(each["choices"]) for each in found] == [2 if n % 3 else 3 for n in range(20)]
    expected = gf.load("run").choose([each["text"] for each in found], [each["choices"] for each in found])
    for each, its in zip(found, expected, strict=True):
        assert each["probabilities"] == pytest.approx(list(its.probabilities), abs=1e-6)  # float32, other batches


@pytest.mark.long
def test_choosing_is_learned(folder: Path) -> None:
    """The right candidate has a word that no wrong one has."""
    rows = [
        {
            "text": f"Which one {n}?",
            "choices": [f"{'yes' if n % 3 == c else 'no'} {n + c}" for c in range(3)],
            "label": n % 3,
        }
        for n in range(200)
    ]
    Path("learn.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["--set", "train.learning_rate=0.01", "--set", "train.steps=60", "--batch", "8"]
    assert main(["train", "choose", "learn.jsonl", *SMALLER, *words, "--out", "run"]) == 0
    scores = gf.load("run").metrics["scores"]
    assert scores["accuracy"] > 0.95
    assert scores["chance_accuracy"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", PAGES)
def test_the_settings_of_the_page_are_there(name: str, repository: Path) -> None:
    page = (repository / "docs" / "do" / f"{name}.md").read_text(encoding="utf-8")
    known = {
        *(f"task.{key}" for section in SECTIONS for key in section.model_fields),
        *(f"data.{key}" for key in (*ChooseData.model_fields, "documents")),
    }
    named = set(re.findall(r"`((?:task|data)\.\w+)`", page))
    assert named
    assert named <= known
