"""The dialogues of both sides: what they learn from, and what they are measured on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from experiments.results import data_directory
from experiments.small.dialogues import as_text
from experiments.translation.plan import Budget
from glassformer.base.atomic import atomic_write
from glassformer.cli.train.recipe_options import requested_recipe
from glassformer.data.readers.lines import Skipped
from glassformer.data.stores.split import hash_fraction, split_of, text_hash
from glassformer.saved.recipe import Recipe
from glassformer.tasks.writing.chat.settings import ChatData
from glassformer.tasks.writing.chat.task import Chat

WORK = Path("runs/chat")
TURN_ENDS = "__eou__"
# A try learns from this topic alone, and is measured on so many dialogues.
TRIED, FEW = "fashion.txt", 20
_BEFORE_SIGN = re.compile(r" (?=[.,!?;:])")
_APOSTROPHE = re.compile(r"(?<=\w) ?[’'] ?(?=(?:s|t|m|d|re|ve|ll)\b)")


class Exchange(NamedTuple):
    """The turns before a reply, a line each, and the reply."""

    turns: str
    reply: str


def untokenized(text: str) -> str:
    """A turn of DailyDialog as people write it: `I ’ m fine , thanks .` is *I'm fine, thanks.*"""
    return _BEFORE_SIGN.sub("", _APOSTROPHE.sub("'", text)).strip()


def dailydialog(part: str) -> Iterator[list[str]]:
    """The dialogues of a part of DailyDialog."""
    lines = (data_directory() / "dailydialog_dev_test" / part / "dialogues.txt").read_text(encoding="utf-8")
    for line in lines.splitlines():
        turns = [untokenized(turn) for turn in line.split(TURN_ENDS)]
        yield [turn for turn in turns if turn]


class Dialogues:
    """The data of both sides for so many minutes."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    @property
    def folder(self) -> Path:
        """Where the runs of this time are."""
        return WORK / self.budget.name

    @cached_property
    def recipe(self) -> Recipe:
        """What `glassformer train chat` does with these dialogues and minutes; nothing else is set."""
        folder = data_directory().resolve() / "self_dialogue"
        files = [str(path) for path in sorted(folder.glob("*.txt*"))]
        # Nine dialogues have one turn.
        settings: dict[str, object] = {"train.seed": self.budget.seed, "data.on_bad_row": "skip"}
        if self.budget.steps is None:
            settings["train.minutes"] = self.budget.minutes
        else:
            files = [str(folder / TRIED)]
            settings |= {"train.steps": self.budget.steps, "tokenizer.vocabulary": 1000, "train.compile": "off"}
            settings |= {"model.size": "tiny", "train.batch_tokens": 512}
        if self.budget.threads is not None:
            settings["train.threads"] = self.budget.threads
        return requested_recipe("chat", files, settings=settings, assignments=())

    @property
    def data(self) -> ChatData:
        """How dialogues are read."""
        assert isinstance(self.recipe.data, ChatData)
        return self.recipe.data

    @cached_property
    def train(self) -> list[Exchange]:
        """The exchanges that ours learns from: those of the training split."""
        shares = {"validation": self.data.validation, "test": self.data.test}
        return [
            Exchange(str(record.values["text"]), str(record.values["target"]))
            for record in Chat.records(self.data, self.data.files, Skipped())
            if split_of(hash_fraction(text_hash(Chat.split_text(record)), self.data.seed), shares) == "train"
        ]

    @cached_property
    def test(self) -> list[Exchange]:
        """The exchanges of DailyDialog's test part, each once."""
        dialogues = list(dailydialog("test"))
        file = WORK / "dailydialog-test.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as draft:
            draft.write_text(as_text(dialogues[: FEW if self.budget.steps is not None else None]), encoding="utf-8")
        records = Chat.records(self.data, [str(file)], Skipped())
        return list(dict.fromkeys(Exchange(str(each.values["text"]), str(each.values["target"])) for each in records))
