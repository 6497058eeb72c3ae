"""What all scenes read: texts, labelled texts, and two models of the same size with other weights."""

import json
import os
import random
import sys
from pathlib import Path

from glassformer.cli.__main__ import main
from tests.kills.scenes import SMALL, WORDS


def make_inputs(folder: Path) -> Path:
    folder.mkdir(parents=True)
    chance = random.Random(0)

    def text() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(3, 12)))

    (folder / "notes.txt").write_text("\n\n".join(f"{text()} {number}." for number in range(80)))
    (folder / "asked.txt").write_text("".join(f"{text()} [MASK] {number}\n" for number in range(260)))
    (folder / "few.txt").write_text("".join(f"{text()}\n" for _ in range(40)))
    rows = [{"text": text(), "label": chance.choice(("good", "bad"))} for _ in range(80)]
    (folder / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for seed, name in enumerate(("first", "second")):
        words = [
            "train",
            "masked-lm",
            str(folder / "notes.txt"),
            *SMALL,
            "--steps",
            "3",
            "--seed",
            str(seed),
            "--quiet",
        ]
        _in_another_process([*words, "--quiet", "--out", str(folder / name)])
    return folder


def _in_another_process(words: list[str]) -> None:
    """A process that trains has threads, and would not be one to fork from."""
    number = os.fork()
    if number == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = main(words)
        sys.stdout.flush()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0, words
