"""The pages about looking inside and about the page, and what the README says of interventions, run as they stand."""

import inspect
import re
import shlex
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import glassformer as gf
from glassformer.cli.__main__ import main
from glassformer.look.trace import interventions
from glassformer.models.families import bert, t5
from glassformer.models.transformer import build
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.text.train import train_tokenizer
from tests.contracts.families import random_weights
from tests.writers import writing

WORDS = "She likes the summer better than the winter. He loves to cook. We meet on Monday morning at a table."
PYTHON, SHELL = (re.compile(rf"^```{kind}\n(.*?)^```", re.MULTILINE | re.DOTALL) for kind in ("python", "sh"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the models that the pages name: random ones, whose vocabulary has each word whole."""
    tokenizer = train_tokenizer("wordpiece", [WORDS] * 20, vocabulary=400)
    sizes: dict[str, Any] = {
        "layers": 2,
        "heads": 2,
        "width": 16,
        "feed_forward": 20,
        "vocabulary": tokenizer.vocabulary_size,
    }
    encoder = random_weights(build(bert(**sizes, max_length=32)), seed=0)
    for name in ("english", "notes"):
        gf.Model(encoder.eval(), tokenizer, task=MaskedLMSection(), length=32).save(tmp_path / "runs" / name)
    writing("llama").save(tmp_path / "runs" / "writer")
    gf.Model(random_weights(build(t5(**sizes)), seed=1).eval(), tokenizer).save(tmp_path / "runs" / "translator")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
def test_what_the_page_shows_works(repository: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = "".join(
        (repository / "docs" / "look" / name).read_text(encoding="utf-8") for name in ("looking.md", "page.md")
    )
    known: dict[str, object] = {}
    for code in PYTHON.findall(page):
        exec(compile(code, "docs/look/looking.md", "exec"), known)
    shown = capsys.readouterr().out
    assert "3 changes by hand" in shown
    assert "there is no token 'dislikes'" in shown
    assert "agree with their formulas" in shown
    for line in "".join(SHELL.findall(page)).splitlines():
        if line.startswith(
            "glassformer explore"
        ):  # serves until it is stopped: tests/cli/test_explore.py, tests/page/test_site.py
            continue
        assert main(shlex.split(line)[1:]) == 0, line


def test_every_intervention_is_a_public_name_and_on_the_page(repository: Path) -> None:
    page = (repository / "docs" / "look" / "looking.md").read_text(encoding="utf-8")
    made = {
        name
        for name, thing in vars(interventions).items()
        if thing in get_args(interventions.Intervention)
        or (
            inspect.isfunction(thing)
            and get_type_hints(thing).get("return") in (interventions.Visibility, interventions.Replace)
        )
    } - {"Visibility"}  # allow and forbid make it
    assert made <= set(gf.__all__)
    assert all(f"gf.{name}(" in page for name in made)
    assert len(made) == 11
