"""A verb over a file: the memory it takes does not grow with the number of rows, and their order is kept."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.api.model import Model
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.tasks.labels.classify.settings import ClassifyData, ClassifySection
from glassformer.text.train import train_tokenizer

PROGRAM = """
import json
import sys
from pathlib import Path
from glassformer.cli.__main__ import main
for command in json.loads(sys.argv[1]):
    if code := main(command):
        sys.exit(code)
    status = Path("/proc/self/status").read_text().splitlines()
    print(next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM")))
"""


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    """The smallest classifier there is."""
    tokenizer = train_tokenizer("words", ["some words of a text that goes on"], vocabulary=20)
    config = bert(
        size="tiny", layers=1, width=8, heads=1, feed_forward=8, vocabulary=tokenizer.vocabulary_size,
        sentence_labels=2, vocabulary_head=False,
    )  # fmt: skip
    section, data = ClassifySection(labels=("yes", "no")), ClassifyData()
    return Model(build(config), tokenizer, task=section, length=128, data=data).save(tmp_path / "model")


def megabytes(classifier: Path, folder: Path, *counts: int) -> list[int]:
    """What a process has needed at most after it has classified so many texts of log-normal lengths, then so many
    others; checks that all are there, in their order.
    """
    chance = random.Random(0)
    commands = []
    for rows in counts:
        asked, answers = folder / f"{rows}.jsonl", folder / f"{rows}.answers.jsonl"
        with asked.open("w", encoding="utf-8") as file:
            for number in range(rows):
                words = " ".join(["words"] * min(100, max(1, round(chance.lognormvariate(2.0, 0.8)))))
                file.write(json.dumps({"text": words, "id": number}) + "\n")
        command = ["classify", str(classifier), "--file", str(asked), "--json", "--out", str(answers)]
        commands.append([*command, "--threads", "1"])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert done.returncode == 0, done.stderr
    for rows in counts:
        with (folder / f"{rows}.answers.jsonl").open(encoding="utf-8") as file:
            assert all(json.loads(line)["id"] == number for number, line in zip(range(rows), file, strict=True))
    return [int(line) for line in done.stdout.splitlines()]


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from Linux' /proc")
def test_memory_does_not_grow_with_the_rows(classifier: Path, tmp_path: Path) -> None:
    """The first, two batches of those that are read ahead, needs all that is ever needed; a kilobyte kept for each
    further row would be 10 MB.
    """
    few, many = megabytes(classifier, tmp_path, 4_500, 14_500)
    assert many < few + 6


@pytest.mark.long
def test_a_million_rows_take_the_memory_of_fifty_thousand(classifier: Path, tmp_path: Path) -> None:
    few, many = megabytes(classifier, tmp_path, 50_000, 1_000_000)
    assert many < few + 30
