"""A bit that has changed on the disk is noticed, or changes nothing."""

import json
from pathlib import Path

import pytest
import torch

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError, ConfigError, GlassformerError
from glassformer.cli.__main__ import main
from glassformer.saved.recipe import read_saved_recipe, resolve
from glassformer.saved.store import changed_files
from glassformer.tasks.labels.classify.settings import ClassifySection
from tests.damage import flipped_bits
from tests.refusals import refused
from tests.run.runs import same_weights


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_flipped_bit_is_noticed(saved: Path, name: str) -> None:
    for place in flipped_bits(saved / name, count=60):  # a checksum notices any
        with pytest.raises(GlassformerError) as caught:
            load(saved)
        assert "\n" not in str(caught.value), place
    load(saved)


def test_a_flipped_bit_of_the_settings_is_noticed_or_changes_nothing(saved: Path) -> None:
    known, noticed = load(saved), 0
    for place in flipped_bits(saved / "glassformer.json"):
        try:
            again = load(saved)
        except CheckpointError as error:
            noticed += "\n" not in str(error)
        else:
            assert same_weights(again, known), place
            assert (again.info(), again.config) == (known.info(), known.config), place
    assert noticed > 190


def test_a_flipped_bit_of_the_recipe_is_noticed_or_changes_nothing(model: Model, tmp_path: Path) -> None:
    model.recipe = resolve("classify")
    saved, noticed = model.save(tmp_path / "saved"), 0
    for place in flipped_bits(saved / "recipe.toml"):
        try:
            assert read_saved_recipe(saved) == model.recipe, place
        except ConfigError as error:
            noticed += "\n" not in str(error) and str(saved) in error.wanted
    assert noticed > 150  # the others are in the line of the checksum itself
    assert load(saved).recipe == model.recipe


def test_metrics_that_are_damaged_keep_no_good_model_from_being_opened(model: Model, tmp_path: Path) -> None:
    model.metrics = {"scores": {"loss": 1.5}}
    saved = model.save(tmp_path / "saved")
    for place in flipped_bits(saved / "metrics.json", count=20):
        again = load(saved)
        assert same_weights(model, again), place
        assert again.metrics == {}
        (note,) = again.info()["notes"]
        assert "metrics.json" in note
    assert load(saved).metrics == model.metrics
    assert load(saved).info()["notes"] == []
    (saved / "metrics.json").write_text("[" * 100_000)
    assert load(saved).metrics == {}


def test_weights_of_another_model_of_the_same_sizes_are_noticed(model: Model, saved: Path, tmp_path: Path) -> None:
    with torch.no_grad():
        model.module.word_table.add_(1)
    other = model.save(tmp_path / "other")
    (saved / "model.safetensors").write_bytes((other / "model.safetensors").read_bytes())
    with refused(CheckpointError, wanted=str(saved / "model.safetensors"), got="other bytes"):
        load(saved)


def test_a_model_that_was_saved_without_checksums_is_opened(model: Model, saved: Path) -> None:
    path = saved / "glassformer.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    del values["checksum"], values["checksums"]
    path.write_text(json.dumps(values), encoding="utf-8")
    assert same_weights(load(saved), model)


def test_who_changes_a_model_by_hand_deletes_the_line_of_the_checksum(model: Model, tmp_path: Path) -> None:
    model.task = ClassifySection(labels=("0", "1"))
    saved = model.save(tmp_path / "saved")
    path = saved / "glassformer.json"
    before = path.read_text(encoding="utf-8")
    changed = before.replace('"0"', '"no"').replace('"1"', '"yes"')
    assert changed != before
    path.write_text(changed, encoding="utf-8")
    with refused(CheckpointError, wanted=str(path), got="checksum", do='"checksum"'):
        load(saved)
    lines = [line for line in changed.splitlines() if not line.startswith('  "checksum":')]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert load(saved).labels == ("no", "yes")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["README.md", "metrics.json", "recipe.toml"])
def test_damage_where_no_answer_depends_on_it_is_reported(
    model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    model.recipe, model.card, model.metrics = resolve("classify"), "# A card\n", {"scores": {"loss": 1.5}}
    saved = model.save(tmp_path / "saved")
    whole = (saved / name).read_bytes()
    assert (changed_files(saved), load(saved).info()["changed_files"]) == ((), [])
    for place in flipped_bits(saved / name, count=20):
        assert changed_files(saved) == (name,), place
    lines = whole.splitlines(keepends=True)
    for damaged in (b"".join(lines[:-1]), None):
        (saved / name).unlink()
        if damaged is not None:
            (saved / name).write_bytes(damaged)
        assert same_weights(model, load(saved))
        for words in (["info", str(saved)], ["verify", str(saved), "a text"]):
            main(words)
            assert name in capsys.readouterr().err
    facts = json.loads((saved / "glassformer.json").read_text())
    facts["checksums"] = {"model.safetensors": facts["checksums"]["model.safetensors"]}
    del facts["checksum"]
    (saved / "glassformer.json").write_text(json.dumps(facts))
    assert (load(saved).info()["changed_files"], changed_files(saved)) == ([], ())  # saved by an older version
