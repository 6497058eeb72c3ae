import math
from pathlib import Path

import numpy as np
import pytest

import glassformer
from glassformer.base.errors import ConfigError
from glassformer.base.settings import read_settings, read_toml, toml_of
from glassformer.bundled.recipes import ready_recipe, ready_recipes, recipe_files
from glassformer.config import FillConfig
from glassformer.models.transformer import Transformer
from glassformer.run.vocabulary import body_config as model_config
from glassformer.saved.recipe import parse_changes, read_recipe, resolve
from glassformer.tasks import TASKS, task_named
from glassformer.training.budget import Budget, RunProgress, Schedule
from glassformer.training.settings import TrainSection
from tests.refusals import Values, refused

MASKED = {"name": "masked-lm"}


@pytest.mark.parametrize("name", ready_recipes())
def test_every_ready_recipe_is_one_and_its_model_can_be_built(name: str) -> None:
    import torch

    recipe = resolve(name)
    config = model_config(recipe.model, recipe.data.length, recipe.tokenizer.vocabulary)
    with torch.device("meta"):
        assert sum(parameter.numel() for parameter in Transformer(config).parameters()) > 0


def test_a_recipe_of_a_task_is_in_its_folder_and_no_two_have_one_name() -> None:
    package = Path(glassformer.__file__).parent
    there = [path for path in package.rglob("*.toml") if path.parent.name == "recipes"]
    assert sorted(map(str, there)) == sorted(map(str, recipe_files().values()))
    for task, entry in TASKS.items():
        home = package.joinpath(*task_named(task).__module__.split(".")[1:-1], "recipes")
        assert {Path(str(recipe_files()[name])).parent for name in (entry.recipe, entry.tuning)} == {home}


def test_the_package_has_no_recipe_of_another_name() -> None:
    with pytest.raises(ConfigError) as caught:
        ready_recipe("clasify")
    assert "classify" in str(caught.value.do)


@pytest.mark.parametrize("step", [1, 400, 4000, 10_000, 100_000])
def test_the_recipe_of_the_paper_has_its_learning_rate(step: int) -> None:
    """Equation 3 of Vaswani et al. 2017."""
    train = resolve("vaswani2017").train
    schedule = Schedule.of(train, Budget.of(train, steps_per_epoch=1.0))
    rate = train.rate * schedule(RunProgress(step=step - 1))
    assert rate == pytest.approx(512**-0.5 * min(step**-0.5, step * 4000**-1.5))


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_its_recipes_and_its_own_tables(task: str) -> None:
    for name in (TASKS[task].recipe, TASKS[task].tuning):
        recipe = resolve(name)
        assert recipe.task.name == task
        assert type(recipe.task) is task_named(task).Section
        assert type(recipe.data) is task_named(task).Data


def test_paths_in_a_recipe_file_are_meant_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "recipe.toml").write_text(
        '[task]\nname = "masked-lm"\n[data]\nfiles = ["a.txt", "/b.txt"]\n[model]\nvectors = "glove.txt"\n'
    )
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
    (tmp_path / "recipe.toml").write_text('[task]\nname = "masked-lm"\n[model]\nstart = "hub:owner/name"\n')
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
        with pytest.raises(ConfigError) as caught:
            parse_changes([wrong])
        assert caught.value.got == repr(wrong)
        assert "section.key=value" in caught.value.wanted


def test_a_change_goes_as_deep_as_it_says() -> None:
    recipe = resolve("slides", {"model.settings.layers": 2, "model.settings.norm": True})
    assert recipe.model.settings == {"layers": 2, "norm": True}
    assert recipe.model.family == "slides"


@pytest.mark.parametrize(
    ("toml", "wanted", "got", "do"),
    [
        ("[trian]\nsteps = 3\n", "'trian'", "", "'train'"),
        ("[train]\nstep = 3\n", "'train.step'", "", "'steps'"),
        ("[train]\nsteps = 'three'\n", "train.steps", "'three'", ""),
        ("[train]\nsteps = 0\n", ("train.steps", "1"), "0", ""),
        ("[task]\nmask = 0.9\n", ("mask", "1.1"), "", ""),
        ("[data]\nlabel = 'x'\n", "'data.label'", "", "document_mask"),  # a setting of another task
        ("[train\n", "TOML", "line 3, column 7", ""),
    ],
)
def test_a_recipe_that_is_wrong(tmp_path: Path, toml: str, wanted: Values, got: str, do: str) -> None:
    path = tmp_path / "recipe.toml"
    named = "[task]\nname = 'masked-lm'\n"
    path.write_text(toml.replace("[task]\n", named) if "[task]" in toml else named + toml)
    with refused(ConfigError, wanted=wanted, got=got, do=do) as caught:
        resolve(path)
    assert str(path) in caught.value.wanted


@pytest.mark.parametrize("tables", ["", "[task]\n", "[task]\nname = 3\n", "task = 'bert'\n"])
def test_a_recipe_without_a_task_is_refused_with_the_names(tmp_path: Path, tables: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(tables + "[train]\nsteps = 3\n")
    with pytest.raises(ConfigError) as caught:
        resolve(path)
    assert str(path) in caught.value.wanted
    assert all(task in caught.value.do for task in TASKS)


def test_a_task_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_recipe({"task": {"name": "clasify"}}, where="mine.toml")
    assert "'clasify'" in caught.value.wanted
    assert "'classify'" in caught.value.do


@pytest.mark.parametrize(
    ("model", "wanted", "got", "do"),
    [
        ({"family": "brt"}, "'brt'", "", "'bert'"),
        ({"size": "tniy"}, "'tniy'", "", "'tiny'"),
        ({"settings": {"heads": 7}}, ("heads", "768 / 7"), "", ""),
        ({"settings": {"headz": 2}}, "'headz'", "", "'heads'"),
        ({"settings": {"max_length": 64}}, "128", "64", ""),
        ({"family": "llama"}, "", "llama", ""),
        ({"family": "t5"}, "", "t5", ""),
    ],
)
def test_a_model_that_cannot_be(model: dict[str, object], wanted: Values, got: str, do: str) -> None:
    recipe = read_recipe({"task": MASKED, "model": model}, where="the recipe")
    with refused(ConfigError, wanted=wanted, got=got, do=do):
        task_named("masked-lm").check_body(recipe.task, model_config(recipe.model, recipe.data.length, 100))


def test_longer_rows_get_longer_positions() -> None:
    tables = {"task": MASKED, "data": {"length": 700}, "model": {"size": "tiny"}}
    recipe = read_recipe(tables, where="the recipe")
    config = model_config(recipe.model, recipe.data.length, 100)
    assert config.encoder is not None
    assert config.encoder.max_length == 700


def test_read_toml_of_a_missing_file() -> None:
    with pytest.raises(ConfigError) as caught:
        read_toml("nowhere.toml")
    assert "nowhere.toml" in caught.value.wanted
    assert caught.value.got == "no such file"


def test_a_recipe_may_begin_with_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_bytes(b"\xef\xbb\xbf[train]\nsteps = 3\n")
    assert read_toml(path) == {"train": {"steps": 3}}


def test_a_folder_is_no_recipe(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_toml(tmp_path)
    assert str(tmp_path) in caught.value.wanted
    assert caught.value.got


def test_numbers_beyond_all_bounds_are_refused_where_they_mean_nothing() -> None:
    for name, value in (("decay", math.inf), ("checkpoint_minutes", math.nan), ("seed", -1), ("seed", 2**63)):
        with pytest.raises(ConfigError) as caught:
            read_recipe({"task": MASKED, "train": {name: value}}, where="the recipe")
        assert f"train.{name}" in caught.value.wanted
    assert read_settings(TrainSection, {"seed": 2**63 - 1}).seed == 2**63 - 1
    assert read_settings(FillConfig, {"value": -math.inf}).value == "-inf"  # which JSON can hold


def test_numbers_of_numpy_and_paths_are_settings() -> None:
    given = {
        "data.files": [Path("a.txt")],
        "data.validation_files": Path("b.txt"),
        "train.steps": np.int64(3),
        "train.learning_rate": np.float64(1e-3),
    }
    found = resolve("masked-lm-mini", given)
    assert (found.train.steps, found.train.learning_rate) == (3, 1e-3)
    files = (*found.data.files, *found.data.validation_files)
    assert files == tuple(str(Path(name).resolve()) for name in ("a.txt", "b.txt"))


def test_a_recipe_made_in_python_is_refused_as_one_in_a_file() -> None:
    with refused(ConfigError, got="nothing"):
        glassformer.Recipe()  # type: ignore[call-arg]
