"""What the README asks people to type is done here as it is there, on a small text and for two steps."""

import ast
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.api.model import Model
from glassformer.cli.__main__ import main
from glassformer.models.families import modernbert
from glassformer.models.transformer import build
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.text.tokenizer import MASK
from glassformer.text.train import train_tokenizer

# In place of the time that a command or a recipe takes: a model and a run that are over at once.
SMALL: dict[str, object] = {
    "train.minutes": None,
    "train.steps": 2,
    "train.batch": 4,
    "train.precision": "float32",
    "model.size": "tiny",
    "tokenizer.vocabulary": 200,
    "data.length": 24,
}
TIME = re.compile(r" --minutes [0-9.]+")
OPTIONS = " --steps 2 --batch 4 --precision float32 --size tiny --vocabulary 200 --length 24"


def block(page: str, section: str, kind: str) -> str:
    """The one block of that kind under that heading."""
    (text,) = re.findall(rf"^## {re.escape(section)}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return str(found)


def masked(words: list[str]) -> list[str]:
    return [word for word in words if MASK in word]


def notes(texts: list[str]) -> str:
    """Documents that hold the words of these texts, each another one."""
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
    return "\n\n".join(
        f"Note {number}. {texts[number % len(texts)].replace(MASK, days[number % 5])} So much for note {number}."
        for number in range(60)
    )


@pytest.fixture
def page(repository: Path) -> str:
    return (repository / "README.md").read_text(encoding="utf-8")


def test_the_commands_for_your_own_text(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for line in block(page, "Your own text", "sh").splitlines() if line.startswith("glassformer ")]
    commands = [shlex.split(TIME.sub(OPTIONS, line), comments=True)[1:] for line in lines]
    assert {words[0] for words in commands} >= {"plan", "train", "evaluate", "fill", "explain", "verify"}
    assert all("--steps" in words for words in commands if words[0] in ("plan", "train"))
    Path("notes.txt").write_text(notes([text for words in commands for text in masked(words)]), encoding="utf-8")
    for words in commands:
        code = main(words)
        shown = capsys.readouterr()
        assert (code, bool(shown.out.strip())) == (0, True), (words, shown.err)


def test_the_ten_lines_of_python(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = block(page, "Ten lines of Python", "python")
    constants = [node.value for node in ast.walk(ast.parse(lines)) if isinstance(node, ast.Constant)]
    strings = [value for value in constants if isinstance(value, str)]
    Path("notes.txt").write_text(notes(masked(strings)), encoding="utf-8")
    tokenizer = train_tokenizer("wordpiece", notes(masked(strings)).split("\n\n"), vocabulary=200)
    module = build(modernbert(size="tiny", vocabulary=tokenizer.vocabulary_size))
    Model(module, tokenizer, task=MaskedLMSection(), length=24).save("english")  # comes before the one in the package
    train = gf.train

    def small(recipe: str, *, set: Mapping[str, object], out: str) -> Model:
        return train(recipe, set={**set, **SMALL}, out=out)

    monkeypatch.setattr(gf, "train", small)
    names: dict[str, Any] = {}
    exec(compile(lines, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    (cell,) = [value for value in strings if value.startswith("[")]
    assert f".weights{cell} = " in " ".join(printed.split())  # on two lines where it is wide
    assert "  computed again: " in printed
    assert str(names["trace"].verify()) in printed
    assert names["weights"].shape[:2] == (1, 2)
    assert (names["model"].source / "model.safetensors").is_file()


def test_the_code_of_the_page_on_models(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (repository / "docs" / "do" / "models.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(block(page, "Which model answers", "python"), "models.md", "exec"), names)
    assert "masks" in capsys.readouterr().out
