"""A folder for a fuzzer, with small models, an index, and a file of each format."""

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from glassformer.api.model import Model
from glassformer.cli.__main__ import main
from glassformer.features.search.index import SearchIndex
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.text.train import train_tokenizer
from tests.contracts.tasks import SENTENCES
from tests.fuzz.hostile import alone

TEXTS = [f"{sentence} {number}" for number in range(3) for sentence in SENTENCES]
ROWS = [{"text": text, "label": "ab"[number % 2], "id": number, "pair": "a cat"} for number, text in enumerate(TEXTS)]
SMALL = ["--steps", "1", "--size", "tiny", "--vocabulary", "100", "--length", "24", "--batch", "2", "--seed", "1"]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a classifier, an index of texts, a trace, and files."""
    folder = tmp_path_factory.mktemp("fuzz") / "made"
    folder.mkdir()
    with alone(folder):
        torch.manual_seed(0)
        tokenizer = train_tokenizer("wordpiece", SENTENCES * 3, vocabulary=160)
        size = bert(size="tiny", layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=24)
        model = Model(build(size), tokenizer, task=MaskedLMSection(), length=16)
        model.save(folder / "words")
        model.export(folder / "foreign")
        SearchIndex.build(folder / "index", TEXTS, "words")
        model.trace("the cat sat").save(folder / "run.safetensors")
        (folder / "a.csv").write_text(
            "text,label,id\n" + "".join(f'"{t}",{"ab"[i % 2]},{i}\n' for i, t in enumerate(TEXTS))
        )
        (folder / "a.tsv").write_text("text\tlabel\n" + "".join(f"{text}\tb\n" for text in TEXTS))
        (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        (folder / "a.txt").write_text("\n\n".join(TEXTS))
        (folder / "a.txt.gz").write_bytes(gzip.compress("\n".join(TEXTS).encode()))
        (folder / "a.conll").write_text("the O\ncat B-X\nsat O\n\n")
        asked = {"question": "who?", "id": "1", "answers": [{"text": "the", "answer_start": 0}]}
        squad = {"version": "1", "data": [{"title": "t", "paragraphs": [{"context": "the cat", "qas": [asked]}]}]}
        (folder / "a.json").write_text(json.dumps(squad))
        pq.write_table(pa.Table.from_pylist([{**row, "more": ["a", None]} for row in ROWS]), folder / "a.parquet")
        assert main(["train", "classify", "a.csv", *SMALL, "--out", "classes", "--quiet"]) == 0
        shutil.copy(folder / "classes" / "recipe.toml", folder / "recipe.toml")
    return folder


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of them in a folder of the fuzzer, which is the current one."""
    folder = Path(shutil.copytree(made, tmp_path / "a" / "fuzz"))
    with alone(folder):
        yield folder
