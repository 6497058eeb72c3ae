"""The page on adding a task, followed as a stranger would: a folder in a copy of the package, nothing else edited."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path("glassformer") / "tasks" / "labels" / "word_order"
MOST_LINES = 150
TEXT = "she likes the house and he sees a river 2"
# The training, several commands and the same question in Python, for the price of one start.
PROGRAM = """
import contextlib, io, json, sys
import glassformer as gf
from glassformer.cli.__main__ import main
commands, text = json.loads(sys.argv[1])
for words in commands:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert main(words) == 0
    print(json.dumps(shown.getvalue()))
print(json.dumps(gf.load("run").ask("order", text).to_dict()))
"""


@pytest.fixture(scope="module")
def place(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package that has the page's task, its recipe and texts to learn from."""
    place = tmp_path_factory.mktemp("adding")
    package = repository / "glassformer"
    # With the compiled modules, which Python takes while their sources are as old and as large as they say, but none
    # that another process is just writing.
    shutil.copytree(package, place / "glassformer", ignore=shutil.ignore_patterns("*.pyc.*"))
    page = (repository / "docs" / "how" / "adding-a-task.md").read_text(encoding="utf-8")
    blocks = dict.fromkeys(("__init__.py", "entry.py", "task.py"), "")
    python = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (place / FOLDER).mkdir()
    for name, code in zip(blocks, python, strict=False):  # what follows are parts of the package
        (place / FOLDER / name).write_text(code, encoding="utf-8")
    (recipe,) = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    (place / "word-order.toml").write_text(recipe, encoding="utf-8")
    verbs, things = ("likes", "sees", "has"), ("house", "garden", "river", "summer")
    texts = [
        f"she {verb} the {one} and he {other} a {two}"
        for verb in verbs
        for other in verbs
        for one in things
        for two in things
    ]
    lines = [json.dumps({"text": f"{text} {number % 3}"}) for number, text in enumerate(texts)]
    (place / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return place


def python(place: Path, arguments: Sequence[str]) -> str:
    """What Python with the copied package prints."""
    environment = {**os.environ, "PYTHONPATH": str(place), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(place: Path, arguments: Sequence[str]) -> str:
    """What a command with the copied package prints."""
    return python(place, ["-m", "glassformer", *arguments])


@pytest.fixture(scope="module")
def printed(place: Path) -> list[Any]:
    """What the commands print that ask the model which the page trains, and what Python answers."""
    backwards = " ".join(TEXT.split()[::-1])
    asked = [[TEXT, "--json"], [backwards, "--json"], ["--file", "texts.jsonl", "--json"], [TEXT]]
    commands = [["train", "word-order.toml", "--out", "run"], *(["order", "run", *words] for words in asked)]
    lines = python(place, ["-c", PROGRAM, json.dumps([commands, TEXT])]).splitlines()
    return [json.loads(line) for line in lines][1:]


@pytest.fixture(scope="module")
def trained(place: Path, printed: list[Any]) -> Path:
    """The folder of the model that the page trains."""
    return place / "run"


def record(text: str) -> dict[str, Any]:
    """The only line of JSON."""
    (line,) = text.splitlines()
    return dict(json.loads(line))


@pytest.mark.long
def test_the_task_of_the_page_is_one_small_folder(place: Path) -> None:
    files = sorted((place / FOLDER).glob("*.py"))
    assert [file.name for file in files] == ["__init__.py", "entry.py", "task.py"]
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= MOST_LINES
    assert " order " in run(place, ["--help"])
    shown = run(place, ["train", "word-order", "--help"])  # its defaults are in no file of the package
    assert "--text-column" in shown
    assert "--label-column" not in shown


def test_what_the_page_quotes_is_in_the_package(repository: Path) -> None:
    page = (repository / "docs" / "how" / "adding-a-task.md").read_text(encoding="utf-8")
    _, quoted = page.split("\n## 2. When the records decide\n")
    (block,) = re.findall(r"```python\n(.*?)```", quoted, flags=re.DOTALL)
    source = (repository / "glassformer" / "tasks" / "labels" / "regress" / "task.py").read_text(encoding="utf-8")
    assert {line.strip() for line in block.splitlines()} <= {line.strip() for line in source.splitlines()}


@pytest.mark.long
def test_the_short_form_begins_from_its_recipe(place: Path) -> None:
    found = run(place, ["plan", "word-order", "texts.jsonl", "--steps", "2", "--json"])
    assert json.loads(found)["steps"] == 2


@pytest.mark.long
def test_it_is_trained_with_intervals_and_a_verdict(trained: Path) -> None:
    metrics = json.loads((trained / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["scores"]["accuracy"] > 0.9  # the order of these words is easy to tell
    assert metrics["intervals"].keys() >= {"accuracy", "always_in_order_accuracy"}
    card = (trained / "README.md").read_text(encoding="utf-8")
    assert len(metrics["verdict"]) > 1
    assert metrics["verdict"][1:] in card  # there it begins a sentence
    assert 'model.ask("order", ' in card


@pytest.mark.long
def test_its_verb_answers_on_the_command_line_and_in_python(printed: list[Any]) -> None:
    one, other, many, plain, in_python = printed
    assert (record(one)["text"], record(one)["label"]) == (TEXT, "in order")
    assert record(other)["label"] == "out of order"
    lines = many.splitlines()
    assert sum(json.loads(line)["label"] == "in order" for line in lines) > 0.9 * len(lines)
    assert "in order" in plain
    assert in_python == record(one)


@pytest.mark.long
def test_it_is_measured_looked_into_and_exported(place: Path, trained: Path) -> None:
    scores = json.loads(run(place, ["evaluate", "run", "--json"]))
    assert scores["accuracy"] > 0.9
    run(place, ["explain", "run", "she likes the house", "--html", "page.html"])
    assert "<html" in (place / "page.html").read_text(encoding="utf-8")
    run(place, ["export", "run", "theirs", "--to", "huggingface"])
    facts = json.loads((place / "theirs" / "config.json").read_text(encoding="utf-8"))
    assert facts["id2label"] == {"0": "in order", "1": "out of order"}
