"""A few texts are answered in numpy as torch answers them, and torch is not imported for it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from glassformer.answering import answers as asked
from glassformer.answering.engines import quick
from glassformer.answering.engines.arrays import ArrayModel
from glassformer.answering.engines.compared import equal
from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.json_text import file_checksum
from glassformer.config import changed
from glassformer.models.families import FAMILIES as FAMILIES_BY_NAME
from glassformer.models.transformer import Transformer
from glassformer.saved.described import Described
from glassformer.saved.store import write_weights
from glassformer.tasks import TASKS, data_of, section_of, task_named
from glassformer.tasks.rows import Row, collate
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
    assert quick.opened("\ud800", "fill", 20) is None  # no file can have this name, nor the next one
    assert quick.opened("a\0b", "fill", 20) is None
    assert quick.opened("english", "fill", 1_000_000) is None  # longer than torch takes to be imported
    assert quick.opened("english", "fill", 20) is not None


def test_weights_that_the_settings_do_not_have_are_refused(tmp_path: Path) -> None:
    model = model_for("classify", {"labels": LABELS}, "modernbert")
    assert quickly(model, tmp_path / "model", "classify") is not None
    path = tmp_path / "model" / "model.safetensors"
    weights = {**load_file(path), "more": np.zeros(3, np.float32)}
    save_file(weights, path)
    with pytest.raises(CheckpointError):
        ArrayModel(model.config, path, file_checksum(path))
    del weights["more"], weights["sentence_head.output.bias"]
    save_file(weights, path)
    with pytest.raises(CheckpointError):
        ArrayModel(model.config, path, file_checksum(path))


RMS = {"kind": "rms", "epsilon": 1e-6, "bias": False}
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "another norm": {"encoder": {"norm": RMS, "blocks": {"self_attention": {"norm": RMS}}}},
    "norms elsewhere": {
        "encoder": {"blocks": {"self_attention": {"norm_at": "before"}, "feed_forward": {"norm_at": "branch"}}}
    },
    "no norm, no residual": {
        "encoder": {
            "blocks": {"self_attention": {"norm": "none", "norm_at": "none"}, "feed_forward": {"residual": False}}
        }
    },
    "shared heads": {"encoder": {"blocks": {"self_attention": {"body": {"key_value_heads": 1, "divided_by": 2}}}}},
    "turned, near ones": {
        "encoder": {
            "blocks": {"self_attention": {"body": {"rotary": {"base": 100.0}, "window": 2, "fill": {"value": "-inf"}}}}
        }
    },
    "gates": {"encoder": {"blocks": {"feed_forward": {"body": {"gated": True, "activation": "silu"}}}}},
    "no network": {"encoder": {"blocks": {"feed_forward": "none"}}},
    "words alone": {
        "encoder": {"embed": {"segments": 0, "position": {"kind": "none"}, "scaled": True, "norm": "none"}}
    },
    "a table of the head": {"head": {"tied": False, "bias": False, "scaled": True, "transform": False, "norm": "none"}},
    **{
        pooling: {"sentence_head": {"labels": 3, "pooling": pooling, "dropout": 0.0}}
        for pooling in ("first", "mean", "max", "pooler", "mean_pooler", "pair")
    },
    "words": {"sentence_head": {"labels": 3, "pooling": "mean", "dropout": 0.0, "words": 11}},
    "labels of tokens": {"token_head": {"labels": 2, "transform": True, "activation": "relu", "norm": RMS}},
}
REFUSED: dict[str, dict[str, Any]] = {
    "waves": {"encoder": {"embed": {"position": {"kind": "sinusoidal"}}}},
    "words without vectors": {"encoder": {"embed": {"masked_words": "zero_sum"}}},
    "the future": {"encoder": {"causal": True}},
    "a finite mask": {"encoder": {"blocks": {"self_attention": {"body": {"window": 2}}}}},
    "another activation": {"encoder": {"blocks": {"feed_forward": {"body": {"activation": "mish"}}}}},
    "stretched": {
        "encoder": {"blocks": {"self_attention": {"body": {"rotary": {"stretch": {"kind": "linear", "factor": 2.0}}}}}}
    },
    "a CRF": {"token_head": {"labels": 2, "crf": True}},
    "no labels": {"sentence_head": {"labels": 0}},
}


def written(changes: dict[str, Any], path: Path) -> Transformer:
    body = FAMILIES_BY_NAME["bert"](**SIZES, vocabulary=40, max_length=30)
    config = changed(body, changes)
    model = random_weights(Transformer(config), seed=5).float().eval()
    write_weights(path, model)
    return model


@pytest.mark.parametrize("name", VARIANTS)
def test_every_setting_is_computed_as_torch_does(name: str, tmp_path: Path) -> None:
    model = written(VARIANTS[name], path := tmp_path / "model.safetensors")
    arrays = ArrayModel(model.config, path, file_checksum(path))
    row = Row(ids=[5, 2, 9, 33, 33, 7, 1, 0], segments=[0, 0, 0, 1, 1, 1, 1, 1], scored_at=[1, 6])
    batch = collate([row], pad_id=0)
    with torch.inference_mode():
        found = model(batch.inputs, scored_at=batch.scored_at)
    theirs = {
        "head": found.logits,
        "sentence_head": None if found.sentence_logits is None else found.sentence_logits[0],
        "token_head": None if found.token_logits is None else found.token_logits[0],
    }
    for head in arrays.heads:
        ours = arrays.answers(row, head)
        assert ours.dtype == np.float32
        assert np.allclose(ours, np.asarray(theirs[head]), rtol=1e-4, atol=1e-4)
    assert arrays.heads.keys() == {head for head, value in theirs.items() if value is not None}


@pytest.mark.parametrize("name", REFUSED)
def test_other_settings_are_left_to_torch(name: str, tmp_path: Path) -> None:
    model = written(REFUSED[name], path := tmp_path / "model.safetensors")
    with pytest.raises(ConfigError):
        ArrayModel(model.config, path, file_checksum(path))


def test_settings_of_tasks_are_found_without_their_classes() -> None:
    for name in TASKS:
        kind = task_named(name)
        assert section_of(name) is kind.Section
        assert data_of(name) is kind.Data
        if kind.Section.labels_pairs:
            assert kind.of_pairs
            assert "classify" in kind.verbs.values()
