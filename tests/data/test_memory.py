"""Tokenizing streams: the memory it takes does not grow with the text."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.text.train import train_tokenizer

PROGRAM = """
import resource, sys
from pathlib import Path
import numpy as np
from glassformer.data.settings import CorpusSection
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.data.stores.corpus import prepare
from glassformer.data.batches.corrupt import mask_words
from glassformer.data.batches.batch import Order
from glassformer.data.batches.pack import Frame, PackedRows
from glassformer.text.load import load_tokenizer
from glassformer.text.tokenizer import Tokenizer

folder = Path(sys.argv[1])
tokenizer = load_tokenizer(folder)
corpus = prepare(CorpusSection(files=(str(folder / "text.txt"),)), tokenizer, folder / "cache")
rows = PackedRows(corpus.stores["train"], 128, frame=Frame.encoder(tokenizer), document_mask=True)
order = Order(len(rows), 32, "data", 0)
for step in range(len(order) if sys.argv[2] == "all" else 50):
    numbers, epochs = order.of_step(step)
    batch = rows.rows(numbers)
    mask_words(batch.ids, ~batch.special, batch.words, settings=MaskedLMSection(), vocabulary=tokenizer.vocabulary_size,
               mask_id=tokenizer.mask_id, special_ids=tokenizer.special_ids, seed=0, rows=numbers, epoch=epochs)
status = Path("/proc/self/status")  # what getrusage reports begins with the parent's peak
if status.exists():
    used = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
else:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(used // 1024, len(corpus.stores["train"]))
"""


def peak(folder: Path, megabytes: float, texts: list[str], *, batches: str = "some") -> tuple[int, int]:
    """Megabytes a process needs at most to tokenize that much text and to read batches; tokens it made."""
    text = "\n\n".join(texts)
    part = "\n\n".join([text] * max(1, 1_000_000 // len(text))) + "\n\n"
    with (folder / "text.txt").open("w") as file:
        for _ in range(round(megabytes * 1e6 / len(part))):
            file.write(part)
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), batches],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert found.returncode == 0, found.stderr
    megabytes_used, tokens = found.stdout.split()
    return int(megabytes_used), int(tokens)


@pytest.fixture
def folder(texts: list[str], tmp_path: Path) -> Path:
    """A folder with a tokenizer in which most words are one token, as in real text."""
    train_tokenizer("wordpiece", texts, vocabulary=300).save(tmp_path)
    return tmp_path


@pytest.mark.long
def test_memory_does_not_grow_with_the_text(texts: list[str], folder: Path) -> None:
    small, few = peak(folder, 2, texts)
    large, many = peak(folder, 6, texts)
    assert many > 2.9 * few
    # The maps of the store count as memory while they are read, a little over 2 bytes for each token.
    assert large - small < 40 + (many - few) * 2.2 / 1e6
    assert large < 500


@pytest.mark.long
def test_two_gigabytes_in_two_gigabytes(texts: list[str], folder: Path) -> None:
    used, tokens = peak(folder, 2000, texts, batches="all")
    assert tokens > 300_000_000
    assert used < 2000
