"""A few texts are answered in numpy as torch answers them, and torch is not imported for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from glassformer.answering import answers as asked
from glassformer.answering.engines import quick
from glassformer.answering.engines.arrays import ArrayModel
from glassformer.answering.engines.compared import equal
from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError
from glassformer.base.json_text import file_checksum
from glassformer.models.families import FAMILIES as FAMILIES_BY_NAME
from glassformer.models.transformer import Transformer
from glassformer.saved.described import Described
from glassformer.tasks import TASKS, data_of, section_of, task_named
from glassformer.tasks.words.masked_lm.settings import MaskedLMSection
from glassformer.text.tokenizer import MASK
from tests.contracts.families import random_weights
from tests.run.heads import SIZES, TAGS, TEXTS, model_for, small_tokenizer

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


@pytest.mark.parametrize("family", FAMILIES)
def test_masked_words_are_those_of_torch(family: str, tmp_path: Path) -> None:
    tokenizer = small_tokenizer()
    sizes = {**SIZES, "layers": 2, "vocabulary": tokenizer.vocabulary_size}
    module = random_weights(Transformer(FAMILIES_BY_NAME[family](**sizes)), seed=3).float()
    model = Model(module, tokenizer, task=MaskedLMSection())
    records: list[dict[str, object]] = [{"text": f"{MASK} went to {MASK}."}, {"text": " ".join([TEXTS[0], MASK] * 30)}]
    same(quickly(model, tmp_path / "model", "fill"), model, "fill", records)


def test_torch_answers_what_numpy_cannot(tmp_path: Path) -> None:
    crf = model_for("tag", {"labels": TAGS, "crf": True})
    assert quickly(crf, tmp_path / "crf", "tag") is None
    assert quickly(model_for("classify", {"labels": LABELS}), tmp_path / "labels", "tag") is None
    assert quick.opened("slides", "fill", 20) is None
    assert quick.opened("en-fr", "translate", 20) is None
    assert quick.opened("english", "classify", 20) is None
    assert quick.opened(tmp_path / "nothing", "fill", 20) is None
    assert quick.opened("english", "fill", 1_000_000) is None  # longer than torch takes to be imported
    assert quick.opened("english", "fill", 20) is not None


def test_weights_that_the_settings_do_not_have_are_refused(tmp_path: Path) -> None:
    model = model_for("classify", {"labels": LABELS}, "modernbert")
    assert quickly(model, tmp_path / "model", "classify") is not None
    path = tmp_path / "model" / "model.safetensors"
    weights = {**load_file(path), "more": np.zeros(3, np.float32)}
    save_file(weights, path)
    with pytest.raises(CheckpointError):
        ArrayModel(model.config, path, checksum=file_checksum(path))
    del weights["more"], weights["sentence_head.output.bias"]
    save_file(weights, path)
    with pytest.raises(CheckpointError):
        ArrayModel(model.config, path, checksum=file_checksum(path))


def test_settings_of_tasks_are_found_without_their_classes() -> None:
    for name in TASKS:
        kind = task_named(name)
        assert section_of(name) is kind.Section
        assert data_of(name) is kind.Data
        if kind.Section.labels_pairs:
            assert kind.of_pairs
            assert "classify" in kind.verbs.values()
