"""Damaged files, traces, recipes and indexes: each is read, or refused in one sentence, in time and memory."""

import json
import random
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.base.json_text import file_checksum, sealed_json
from glassformer.base.settings import read_toml
from glassformer.cli.terminal.readers import SentenceReader, TableReader
from glassformer.data.readers.read import read
from glassformer.data.readers.rows import read_table
from glassformer.saved.recipe import resolve
from tests.fuzz.hostile import LONG, SECONDS, damaged, each_is_read_or_refused, exchanged

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


def a_trace(folder: Path, chance: random.Random) -> Callable[[], object]:
    path = folder / "x.safetensors"
    path.write_bytes(damaged((folder / "run.safetensors").read_bytes(), chance))
    return lambda: gf.load_trace(path).verify()


def a_recipe(folder: Path, chance: random.Random) -> Callable[[], object]:
    path = folder / "x.toml"
    path.write_bytes(damaged((folder / "recipe.toml").read_bytes(), chance))
    return lambda: resolve(read_toml(path))


@cache
def _words(folder: Path) -> gf.Model:
    return gf.load(folder / "words")


MAKERS = (a_table, a_table, an_index, an_index, a_trace, a_recipe)


@pytest.mark.parametrize("seconds", [SECONDS, pytest.param(LONG, marks=pytest.mark.long)])
def test_what_is_damaged_is_read_or_refused(own: Path, seconds: float) -> None:
    each_is_read_or_refused(MAKERS, own, seconds)
