"""Damaged files, models, traces and indexes: each is read, or refused in one sentence, in time and memory."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.base.json_text import file_checksum, sealed_json
from glassformer.base.settings import read_toml
from glassformer.cli.terminal.readers import SentenceReader, TableReader
from glassformer.convert import read_huggingface
from glassformer.data.readers.read import read
from glassformer.data.readers.rows import read_table
from glassformer.saved.recipe import resolve
from glassformer.text.load import load_tokenizer
from glassformer.training.progress import NoProgress
from tests.fuzz.hostile import LONG, SECONDS, Failures, cases, damaged, exchanged, inside

ENDINGS = ("csv", "tsv", "jsonl", "txt", "txt.gz", "conll", "json", "parquet")


def a_table(folder: Path, chance: random.Random) -> Callable[[], object]:
    ending = chance.choice(ENDINGS)
    path = folder / f"x.{ending if chance.random() < 0.9 else chance.choice(ENDINGS)}"
    path.write_bytes(damaged((folder / f"a.{ending}").read_bytes(), chance))
    columns = chance.choice(([], ["text"], ["text", "label"], ["0"], ["none"]))
    blank, words = chance.random() < 0.5, chance.random() < 0.3
    reader = (SentenceReader if words else TableReader)({"text": "text"}, {}, blank=blank)
    ways: list[Callable[[], object]] = [
        lambda: list(read_table(path, columns)),
        lambda: list(read_table(path, columns, bad=lambda error: None)),
        lambda: list(read(path, bad=lambda error: None)),
        lambda: list(reader.of_file(path, lambda error: None, lambda said: None)),
    ]
    return chance.choice(ways)


def an_index(folder: Path, chance: random.Random) -> Callable[[], object]:
    """Damaged and sealed anew, so that no checksum refuses it."""
    index = folder / "x.index"
    shutil.rmtree(index, ignore_errors=True)
    shutil.copytree(folder / "index", index)
    record: Any = json.loads((index / "index.json").read_text())
    del record["checksum"]
    if chance.random() < 0.6:
        path = index / chance.choice(sorted(record["checksums"]))
        path.write_bytes(damaged(path.read_bytes(), chance))
        record["checksums"] = {name: file_checksum(index / name) for name in record["checksums"]}
    else:
        record = exchanged(record, chance)
    (index / "index.json").write_text(sealed_json(record) if isinstance(record, dict) else json.dumps(record))
    top = chance.choice((1, 100, None, 1.5))
    return lambda: gf.SearchIndex.open(index, _words(folder)).ask("the cat", top=top)  # type: ignore[arg-type]  # wrong on purpose


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


def a_trace(folder: Path, chance: random.Random) -> Callable[[], object]:
    path = folder / "x.safetensors"
    path.write_bytes(damaged((folder / "run.safetensors").read_bytes(), chance))
    return lambda: gf.load_trace(path).verify()


def a_recipe(folder: Path, chance: random.Random) -> Callable[[], object]:
    path = folder / "x.toml"
    path.write_bytes(damaged((folder / "recipe.toml").read_bytes(), chance))
    return lambda: resolve(read_toml(path))


_CACHE: dict[Path, Any] = {}


def _words(folder: Path) -> Any:
    return _CACHE.setdefault(folder, gf.load(folder / "words"))


MAKERS = (a_table, a_table, an_index, an_index, a_model, a_checkpoint, a_trace, a_recipe)


@pytest.mark.parametrize("seconds", [SECONDS, pytest.param(LONG, marks=pytest.mark.long)])
def test_what_is_damaged_is_read_or_refused(own: Path, seconds: float) -> None:
    number, failures = 0, Failures()
    for number, chance in cases(seconds):
        maker = chance.choice(MAKERS)
        inside(own, [str(path) for path in own.iterdir()])
        call = maker(own, chance)
        with failures.limited(f"case {number} ({maker.__name__})"):
            call()
    failures.none(number)
