"""What other programs do with a folder and glassformer does not: said when it is opened."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import glassformer as gf
from glassformer.api.model import Model
from glassformer.convert.unlike import unlike_others
from glassformer.features.vectors import VectorsOf
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.run.serving.forms import embed_form
from glassformer.tasks.sentence_vectors import SentenceTeacher
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
    (dense,) = model.notes
    assert "Dense" in dense
    cases: tuple[tuple[dict[str, object], str, str], ...] = (
        ({"pooling_mode_mean_tokens": True}, "mean", ""),
        ({"pooling_mode": "mean"}, "mean", ""),
        ({"pooling_mode": "lasttoken"}, "last-token", ""),
        ({"pooling_mode_cls_token": True, "pooling_mode_max_tokens": True}, "mean", "cls_token and max_tokens"),
        ({"pooling_mode": "weightedmean"}, "mean", "weightedmean"),
    )
    for said, pooling, named in cases:
        modules(folder, said, "Normalize")
        model = gf.load(folder)
        assert model.pooling == pooling
        assert len(model.notes) == bool(named)
        assert named in "".join(model.notes)


def test_a_damaged_list_of_modules_and_an_adapter(folder: Path) -> None:
    modules(folder, None)
    assert gf.load(folder).notes == ()
    for text in ("[", "{}", "[" * 100_000, '["a"]', '[{"type": "st.Pooling", "path": "nowhere"}]'):
        (folder / "modules.json").write_text(text, encoding="utf-8")
        assert len(gf.load(folder).notes) == (text != "{}")
    if hasattr(os, "mkfifo"):
        modules(folder, None, "Pooling")
        (folder / "1_Pooling").mkdir()
        os.mkfifo(folder / "1_Pooling" / "config.json")
        assert len(gf.load(folder).notes) == 1
    (folder / "modules.json").unlink()
    (folder / "adapter_config.json").write_text("{}", encoding="utf-8")
    (note,) = gf.load(folder).notes
    assert "adapter" in note


def test_a_prompt_before_each_text_is_named(folder: Path) -> None:
    modules(folder, {"pooling_mode": "mean"})
    for name, notes in (("query", 1), ("passage", 0), (None, 0)):
        said = {"prompts": {"query": "query: ", "passage": ""}, "default_prompt_name": name}
        (folder / "config_sentence_transformers.json").write_text(json.dumps(said), encoding="utf-8")
        assert len(gf.load(folder).notes) == notes


def test_settings_of_generation_that_are_not_applied(tmp_path: Path) -> None:
    (note,) = unlike_others(tmp_path, {"sequence_bias": "the decoding loop has no such setting"})
    assert "sequence_bias" in note


def test_the_pooling_of_sentence_transformers_is_that_of_every_verb(folder: Path, tmp_path: Path) -> None:
    """Of `embed`, an index, a served model and an export; it is saved with the imported model."""
    assert gf.load(folder).pooling == "mean"
    modules(folder, {"pooling_mode": "cls"})
    model = gf.load(folder)
    model.save(tmp_path / "saved")
    model = gf.load(tmp_path / "saved")
    text = "the stone and the star"
    first, mean = (model.embed(text, pooling=pooling) for pooling in ("first", "mean"))
    assert not np.array_equal(first, mean)
    assert np.array_equal(model.embed(text), first)
    assert set(model.embed(text, strategy=["last", "1"])) == {"last.first", "1.first"}
    assert set(model.embed(text, words=True).vectors) == {"last.mean"}
    index = gf.SearchIndex.build(tmp_path / "index", [text, "a song"], model)
    assert (index.facts.pooling, index.facts.per) == ("first", "text")
    embed = embed_form()
    maker = embed.predictor(model, {"strategy": ("last",), "pooling": None, "per_word": False})
    assert isinstance(maker, VectorsOf)
    assert [each.name for each in maker.features] == ["last.first"]
    assert any("first" in each for each in model.export(tmp_path / "exported").left_behind)


def test_a_tuned_model_keeps_the_pooling_of_its_start_and_a_student_learns_it(folder: Path, tmp_path: Path) -> None:
    modules(folder, {"pooling_mode": "cls"})
    (tmp_path / "table.csv").write_text(
        "text,label\n" + "".join(f"{text},{n % 2}\n" for n, text in enumerate(SENTENCES))
    )
    train = {"steps": 1, "batch": 4, "compile": "off"}
    data = {"files": [str(tmp_path / "table.csv")], "validation": 0.0, "length": 24}
    recipe = {"task": {"name": "classify"}, "data": data, "model": {"start": str(folder)}, "train": train}
    assert gf.train(recipe, out=tmp_path / "tuned").pooling == "first"
    model = gf.load(folder)
    teacher = SentenceTeacher(model.module, model.tokenizer, 32, False, model.pooling)
    theirs = teacher.vectors(SENTENCES[:3]).numpy()
    assert np.abs(theirs - model.embed(SENTENCES[:3])).max() < 1e-5  # in batches of other widths
