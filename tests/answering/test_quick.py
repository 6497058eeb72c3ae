"""A few texts are answered in numpy as torch answers them, and torch is not imported for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.answering import answers as asked
from glassformer.answering.engines import quick
from glassformer.answering.engines.compared import equal
from glassformer.api.model import Model
from glassformer.saved.described import Described
from glassformer.tasks import TASKS, data_of, predictor_of, section_of, task_named
from glassformer.text.tokenizer import MASK
from tests.cli.conftest import Run, run  # noqa: F401 - the fixture
from tests.run.heads import TAGS, TEXTS, model_for

LABELS = ("no", "perhaps", "yes")
# By task, what its section has, and records of the verb.
ASKED: dict[str, tuple[dict[str, Any], str, list[dict[str, object]]]] = {
    "classify": ({"labels": LABELS}, "classify", [{"text": text} for text in TEXTS]),
    "several labels": ({"labels": LABELS, "several": True}, "classify", [{"text": TEXTS[0], "pair": TEXTS[1]}]),
    "regress": ({}, "classify", [{"text": text} for text in (*TEXTS, " ".join(TEXTS * 9))]),
    "choose": ({}, "choose", [{"text": TEXTS[0], "choices": ["Berlin", "Rome", "a cold day"]}]),
    "tag": ({"labels": TAGS}, "tag", [{"text": text} for text in (*TEXTS, " ".join(TEXTS * 9))]),
}
FAMILIES = ("bert", "distilbert", "roberta", "modernbert")


def quickly(model: Model, folder: Path, verb: str, characters: int = 100) -> Described | None:
    model.save(folder)
    return quick.opened(folder, verb, characters)


def answers(model: Any, verb: str, records: list[dict[str, object]]) -> list[Any]:
    return asked.answers(model, verb, records, {"top": 7} if verb == "fill" else {})


def same(quickly: Described | None, model: Model, verb: str, records: list[dict[str, object]]) -> None:
    assert quickly is not None
    ours, theirs = answers(model, verb, records), answers(quickly, verb, records)
    assert equal(ours, theirs)
    assert [list(each.to_dict()) for each in ours] == [list(each.to_dict()) for each in theirs]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ASKED)
def test_labels_and_numbers_are_those_of_torch(name: str, family: str, tmp_path: Path) -> None:
    settings, verb, records = ASKED[name]
    model = model_for("classify" if "labels" in name else name, settings, family)
    same(quickly(model, tmp_path / "model", verb), model, verb, records)
