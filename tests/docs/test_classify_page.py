"""The page on labels and numbers: each of its commands and its Python, run in shrunken form on small data."""

import json
import re
import shlex
from pathlib import Path

import pytest

from glassformer.base.settings import parse_toml, read_settings
from glassformer.cli.__main__ import main
from glassformer.tasks.labels.classify.settings import ClassifySection
from manual.shown import SHOWN

PYTHON, SHELL, TOML = (
    re.compile(rf"^```{kind}\n(.*?)^```", re.MULTILINE | re.DOTALL) for kind in ("python", "sh", "toml")
)
SMALLER = [
    *("--steps", "2", "--length", "24", "--vocabulary", "120", "--threads", "1", "--batch", "4"),
    *("--set", "train.compile=off", "--set", "train.precision=float32"),
    *("--set", "model.settings={layers = 1, width = 16, heads = 2, feed_forward = 16}"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tables that the page names."""
    texts = [f"text number {number} of {number * 7 % 11} words" for number in range(40)]
    sms = [f"{('ham', 'spam')[number % 2]}\t{text}" for number, text in enumerate(texts)]
    acts = [json.dumps({"text": text, "label": ["inform", "question"][: n % 3]}) for n, text in enumerate(texts)]
    sts = [f"{text},{text} again,{number % 6}.0" for number, text in enumerate(texts)]
    mine = ["text,label", *(f"{text},{number % 2}" for number, text in enumerate(texts))]
    mails = ["ticket,text", *(f"{number},{text}" for number, text in enumerate(texts[:5]))]
    tables = {"sms.tsv": sms, "acts.jsonl": acts, "sts.csv": sts, "mine.csv": mine, "mails.csv": mails}
    for name, lines in tables.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
def test_what_the_page_shows_works(repository: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (repository / "docs" / "do" / "classify.md").read_text(encoding="utf-8")
    assert main(["train", "classify", "mine.csv", "--out", "runs/mine", *SMALLER]) == 0
    answered: list[dict[str, object]] = []
    for line in "".join(SHELL.findall(SHOWN.sub("", page))).splitlines():  # the others: tests/manual/test_shown.py
        words = shlex.split(line)[1:]
        smaller = [*SMALLER[:4], *SMALLER[6:-2]] if "--start" in words else SMALLER  # a start brings its sizes
        assert main([*words, *smaller] if words[0] == "train" else words) == 0, line
        out = capsys.readouterr().out
        if "--json" in words:
            answered.append(json.loads(out))
    assert [key for found in answered for key in ("chosen", "number", "pearson") if key in found][:2] == [
        "chosen",
        "number",
    ]
    assert "the_mean_loss" in answered[2]
    for code in PYTHON.findall(page):
        exec(compile(code, "classify.md", "exec"), {})
    label, chosen, number = capsys.readouterr().out.splitlines()
    assert label in ("ham", "spam")
    assert chosen.startswith("(")
    assert float(number) == pytest.approx(2.5, abs=5)
    assert "Sentence vector: the mean" in (folder / "runs" / "balanced" / "README.md").read_text(encoding="utf-8")


def test_the_recipe_of_the_page_is_one(repository: Path) -> None:
    (code,) = TOML.findall((repository / "docs" / "do" / "classify.md").read_text(encoding="utf-8"))
    section = read_settings(ClassifySection, parse_toml(code)["task"])
    assert isinstance(section.class_weights, dict)
