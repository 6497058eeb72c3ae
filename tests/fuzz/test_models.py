"""Damaged models and checkpoints: each is opened and used, or refused in one sentence, in time and memory."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.base.json_text import file_checksum, sealed_json
from glassformer.convert import read_huggingface
from glassformer.text.load import load_tokenizer
from glassformer.training.progress import NoProgress
from tests.fuzz.hostile import LONG, SECONDS, damaged, each_is_read_or_refused, exchanged


def a_model(folder: Path, chance: random.Random) -> Callable[[], object]:
    name = chance.choice(("words", "foreign", "classes"))
    model = folder / "x.model"
    shutil.rmtree(model, ignore_errors=True)
    shutil.copytree(folder / name, model)
    path = chance.choice(sorted(each for each in model.rglob("*") if each.is_file()))
    path.write_bytes(damaged(path.read_bytes(), chance))
    ways: list[Callable[[], object]] = [
        lambda: gf.load(model).embed("the cat"),
        lambda: load_tokenizer(model).encode("the cat [MASK]"),
        lambda: read_huggingface(model),
    ]
    return chance.choice(ways)


def a_checkpoint(folder: Path, chance: random.Random) -> Callable[[], object]:
    """Of an unfinished training, damaged and sealed anew; it goes on for a step."""
    run = folder / "x.run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(folder / "classes", run)
    newest = run / "checkpoints" / "step-00000001"
    record: Any = json.loads((newest / "state.json").read_text())
    del record["checksum"]
    if chance.random() < 0.4:
        group = chance.choice(sorted(record["groups"]))
        path = newest / f"{group}.safetensors"
        path.write_bytes(damaged(path.read_bytes(), chance))
        record["groups"][group] = file_checksum(path)
    else:
        record = exchanged(record, chance)
    (newest / "state.json").write_text(sealed_json(record) if isinstance(record, dict) else json.dumps(record))
    # A state that says that its steps were compiled has them compiled, which takes half a minute.
    changes = {"train.steps": 2, "train.compile": "off"}
    return lambda: gf.train(out=run, resume=True, set=changes, progress=NoProgress())


@pytest.mark.parametrize("seconds", [SECONDS, pytest.param(LONG, marks=pytest.mark.long)])
def test_what_is_damaged_is_opened_or_refused(own: Path, seconds: float) -> None:
    each_is_read_or_refused((a_model, a_checkpoint), own, seconds)
