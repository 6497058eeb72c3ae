from __future__ import annotations

import math
from pathlib import Path

import pytest

from glassformer.artefact.prepare import body_config as model_config
from glassformer.artefact.resolve import Recipe, parse_changes, ready_recipes, resolve
from glassformer.config import FillConfig, read_settings, read_toml, toml_of
from glassformer.errors import ConfigError
from glassformer.models.transformer import Transformer


@pytest.mark.parametrize("name", ready_recipes())
def test_every_ready_recipe_is_one_and_its_model_can_be_built(name: str) -> None:
    import torch

    recipe = resolve(name)
    config = model_config(recipe, recipe.tokenizer.vocabulary)
    with torch.device("meta"):
        assert sum(parameter.numel() for parameter in Transformer(config).parameters()) > 0


def test_the_ready_recipes_are_those_we_speak_of() -> None:
    assert ready_recipes() == ("bert-paper", "masked-lm-mini", "masked-lm-small", "slides")


def test_the_constants_of_bert(tmp_path: Path) -> None:
    """N-13: google-research/bert, run_pretraining.py, optimization.py, create_pretraining_data.py, bert_config.json."""
    recipe = resolve("bert-paper")
    train, task = recipe.train, recipe.task
    assert (train.learning_rate, train.warmup, train.schedule) == (1e-4, 10_000, "linear")
    assert (train.optimizer, train.beta1, train.beta2, train.epsilon) == ("bert-adam", 0.9, 0.999, 1e-6)
    assert (train.decay, train.clip) == (0.01, 1.0)
    assert (task.rate, task.mask, task.random, task.keep) == (0.15, 0.8, 0.1, 0.1)
    assert (task.static, task.duplicates, task.max_predictions) == (True, 10, 20)
    config = model_config(recipe, 30522)
    assert config.encoder is not None
    block = config.encoder.blocks[0]
    assert block.feed_forward is not None
    drops = {config.encoder.embed.dropout, block.self_attention.dropout, block.self_attention.body.dropout}
    assert drops | {block.feed_forward.dropout} == {0.1}
    assert (config.initial.kind, config.initial.deviation) == ("truncated_normal", 0.02)
    assert (len(config.encoder.blocks), config.encoder.width, config.encoder.max_length) == (12, 768, 512)


def test_paths_in_a_recipe_file_are_meant_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "recipe.toml").write_text('[data]\nfiles = ["a.txt", "/b.txt"]\n[model]\nvectors = "glove.txt"\n')
    monkeypatch.chdir(tmp_path)
    recipe = resolve("project/recipe.toml")
    assert recipe.data.files == (str(folder / "a.txt"), "/b.txt")
    assert recipe.model.vectors == str(folder / "glove.txt")
    changed = resolve("project/recipe.toml", {"data.files": "c.txt", "train.steps": 3})
    assert changed.data.files == (str(tmp_path / "c.txt"),)
    assert changed.train.steps == 3
    # What a run writes down can be read from anywhere.
    (tmp_path / "elsewhere.toml").write_text(toml_of(recipe), encoding="utf-8")
    assert resolve(tmp_path / "elsewhere.toml") == recipe


def test_a_hub_id_is_no_path(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text('[model]\nstart = "hub:owner/name"\n')
    assert resolve(tmp_path / "recipe.toml").model.start == "hub:owner/name"
    assert resolve("masked-lm-mini", {"model.start": "hub:owner/name"}).model.start == "hub:owner/name"
    assert resolve("masked-lm-mini", {"model.start": "owner/name"}).model.start == str(Path.cwd() / "owner/name")


def test_settings_as_people_type_them() -> None:
    typed = [
        "train.steps=10",
        "train.learning_rate=1e-4",
        "model.size=tiny",
        "task.whole_words=true",
        "data.files=['a','b']",
    ]
    assert parse_changes(typed) == {
        "train.steps": 10,
        "train.learning_rate": 1e-4,
        "model.size": "tiny",
        "task.whole_words": True,
        "data.files": ["a", "b"],
    }
    for wrong in ("steps=10", "train.steps"):
        with pytest.raises(ConfigError, match=r"section\.key=value"):
            parse_changes([wrong])


def test_a_change_goes_as_deep_as_it_says() -> None:
    recipe = resolve("slides", {"model.settings.layers": 2, "model.settings.norm": True})
    assert recipe.model.settings == {"layers": 2, "norm": True}
    assert recipe.model.family == "slides"


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("[trian]\nsteps = 3\n", "no setting 'trian'; did you mean 'train'"),
        ("[train]\nstep = 3\n", "no setting 'train.step'; did you mean 'steps'"),
        ("[train]\nsteps = 'three'\n", "train.steps: Input should be a valid integer"),
        ("[train]\nsteps = 0\n", "train.steps: Input should be greater than or equal to 1; got 0"),
        ("[task]\nmask = 0.9\n", "must sum to 1"),
        ("[train\n", "must be TOML"),
    ],
)
def test_a_recipe_that_is_wrong(tmp_path: Path, toml: str, told: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(toml)
    with pytest.raises(ConfigError, match=told.replace("(", r"\(")) as caught:
        resolve(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"family": "brt"}, "there is no family 'brt'; did you mean 'bert'"),
        ({"size": "tniy"}, "there is no size 'tniy'; did you mean 'tiny'"),
        ({"settings": {"heads": 7}}, "multiple of heads"),
        ({"settings": {"headz": 2}}, "no setting 'headz'; did you mean 'heads'"),
        ({"settings": {"max_length": 64}}, "must fit the model; got one that numbers 64"),
        ({"family": "llama"}, "an encoder with a vocabulary head; got the family llama"),
        ({"family": "t5"}, "an encoder with a vocabulary head"),
    ],
)
def test_a_model_that_cannot_be(model: dict[str, object], told: str) -> None:
    recipe = read_settings(Recipe, {"model": model})
    with pytest.raises(ConfigError, match=told):
        model_config(recipe, 100)


def test_longer_rows_get_longer_positions() -> None:
    recipe = read_settings(Recipe, {"data": {"length": 700}, "model": {"size": "tiny"}})
    config = model_config(recipe, 100)
    assert config.encoder is not None
    assert config.encoder.max_length == 700


def test_read_toml_of_a_missing_file() -> None:
    with pytest.raises(ConfigError, match="got no such file"):
        read_toml("nowhere.toml")


def test_a_recipe_may_begin_with_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_bytes(b"\xef\xbb\xbf[train]\nsteps = 3\n")
    assert read_toml(path) == {"train": {"steps": 3}}


def test_a_folder_is_no_recipe(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"must be a recipe, a TOML file; got Is a directory"):
        read_toml(tmp_path)


def test_numbers_beyond_all_bounds_are_refused_where_they_mean_nothing() -> None:
    for name, value in (("decay", math.inf), ("checkpoint_minutes", math.nan), ("seed", -(2**63) - 1)):
        with pytest.raises(ConfigError, match=rf"train\.{name}"):
            read_settings(Recipe, {"train": {name: value}})
    assert read_settings(Recipe, {"train": {"seed": -(2**63)}}).train.seed == -(2**63)
    assert read_settings(FillConfig, {"value": -math.inf}).value == -math.inf
