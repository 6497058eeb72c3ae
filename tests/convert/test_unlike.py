"""What other programs do with a folder and glassformer does not: said when it is opened."""

import json
from pathlib import Path

import numpy as np
import pytest

import glassformer as gf
from glassformer.api.model import Model
from glassformer.convert.unlike import unlike_others
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.text.train import train_tokenizer
from tests.contracts.tasks import SENTENCES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model of sentence-transformers that pools by the first token, with a dense layer after it."""
    tokenizer = train_tokenizer("wordpiece", SENTENCES * 3, vocabulary=160)
    module = build(bert(size="tiny", layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=32))
    Model(module, tokenizer).export(tmp_path / "made", "huggingface")
    return tmp_path / "made"


def modules(folder: Path, pooling: dict[str, object] | None, *more: str) -> None:
    kinds = ["Transformer", *(["Pooling"] if pooling is not None else []), *more]
    stated = [{"path": f"{n}_{kind}" if n else "", "type": f"st.models.{kind}"} for n, kind in enumerate(kinds)]
    (folder / "modules.json").write_text(json.dumps(stated), encoding="utf-8")
    if pooling is not None:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")


def test_another_pooling_and_other_modules_are_named(folder: Path) -> None:
    assert gf.load(folder).notes == ()
    modules(folder, {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "Dense")
    model = gf.load(folder)
    pooling, dense = model.notes
    assert "'first'" in pooling
    assert "Dense" in dense
    first = model.embed("the stone", pooling="first")
    assert np.abs(first - model.embed("the stone")).max() > 1e-3  # so that the note matters
    cases: tuple[tuple[dict[str, object], str], ...] = (
        ({"pooling_mode_mean_tokens": True}, ""),
        ({"pooling_mode": "mean"}, ""),
        ({"pooling_mode": "lasttoken"}, "'last-token'"),
        ({"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}, "no such pooling"),
        ({"pooling_mode": "weightedmean"}, "no such pooling"),
    )
    for said, named in cases:
        modules(folder, said, "Normalize")
        found = gf.load(folder).notes
        assert len(found) == bool(named)
        assert named in "".join(found)


def test_a_damaged_list_of_modules_and_an_adapter(folder: Path) -> None:
    modules(folder, None)
    assert gf.load(folder).notes == ()
    for text in ("[", "{}", "[" * 100_000, '["a"]', '[{"type": "st.Pooling", "path": "nowhere"}]'):
        (folder / "modules.json").write_text(text, encoding="utf-8")
        assert len(gf.load(folder).notes) == (text != "{}")
    (folder / "modules.json").unlink()
    (folder / "adapter_config.json").write_text("{}", encoding="utf-8")
    (note,) = gf.load(folder).notes
    assert "adapter" in note


def test_settings_of_generation_that_are_not_applied(tmp_path: Path) -> None:
    (note,) = unlike_others(tmp_path, {"sequence_bias": "the decoding loop has no such setting"})
    assert "sequence_bias" in note
