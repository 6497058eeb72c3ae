"""The page on transfer: each of its commands and its Python, run in shrunken form on small data."""

from pathlib import Path
from typing import Any

import pytest

from glassformer.api.model import Model
from glassformer.base.settings import parse_toml, read_settings
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.training.settings import TuneSection
from tests.docs.pages import blocks, run_commands, run_python
from tests.run.heads import TEXTS, model_for, small_tokenizer

SMALLER: dict[str, Any] = {"train.steps": 2, "train.threads": 1, "train.compile": "off", "data.length": 24}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the table and the model that the page names."""
    rows = [f'"{TEXTS[number % 2]} {number}",{("ham", "spam")[number % 2]}' for number in range(40)]
    for name in ("mails.csv", "more.csv"):
        (tmp_path / name).write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "library").mkdir()
    for name in ("notes.txt", "library/notes.txt"):
        (tmp_path / name).write_text("\n\n".join(f"{TEXTS[n % 2]} {n}." for n in range(60)), encoding="utf-8")
    tokenizer = small_tokenizer()
    config = bert(
        vocabulary=tokenizer.vocabulary_size, max_length=128, layers=2, width=12, heads=3, feed_forward=20, dropout=0.1
    )
    Model(build(config), tokenizer, task=MaskedLMSection(), length=24).save(tmp_path / "english")
    model_for("masked-lm", {}, width=24).save(tmp_path / "encoders" / "minilm")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
def test_what_the_page_shows_works(repository: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = repository / "docs" / "do" / "transfer.md"
    smaller = [word for name, value in SMALLER.items() for word in ("--set", f"{name}={value}")]
    run_commands(page, *smaller)
    output = " ".join(capsys.readouterr().err.split())
    assert "trainable" in output
    assert "bit for bit" in output
    run_python(page, {})
    shapes, trained, layers = capsys.readouterr().out.splitlines()
    assert shapes == "4 [12, 12]"
    assert int(trained) > 0
    assert layers.endswith("2 1")
    for code in blocks(page, "toml"):
        assert read_settings(TuneSection, parse_toml(code)["tune"]).gradually
