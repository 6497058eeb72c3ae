"""What a person asks to be trained, and the recipe that comes of it."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.base.errors import ConfigError, DataError
from glassformer.cli.train.plan import plan
from glassformer.cli.train.recipe_options import requested_recipe
from glassformer.cli.train.train import train
from glassformer.models.families.bert import BERT_SIZES
from glassformer.models.families.modernbert import MODERNBERT_SIZES
from glassformer.run.vocabulary import body_config as model_config
from glassformer.saved.recipe import Recipe, resolve
from glassformer.saved.sections import ModelSection, TokenizerSection
from glassformer.tasks import TASKS
from glassformer.tasks.labels.classify.settings import ClassifyData
from tests.cli.conftest import Run


def recipe(what: str = "masked-lm", *assignments: str, **settings: object) -> Recipe:
    """What is asked for by single options, `model_size` for model.size."""
    named = {name.replace("_", ".", 1): value for name, value in settings.items()}
    return requested_recipe(what, ["x.txt"], settings=named, assignments=assignments)


def layers_and_width(recipe: Recipe) -> tuple[int, int]:
    stack = model_config(recipe.model, recipe.data.length, 100).output_stack
    return len(stack.blocks), stack.width


def test_naming_the_family_that_it_is_anyway_changes_nothing() -> None:
    assert recipe(model_family="modernbert") == recipe("masked-lm", "model.family=modernbert") == recipe()
    assert layers_and_width(recipe()) == (6, 192)


def test_a_size_stays_where_the_other_family_knows_it() -> None:
    assert layers_and_width(recipe(model_family="bert")) == (4, 256)
    assert recipe(model_family="roberta").model.size is None
    assert layers_and_width(recipe(model_family="roberta")) == (12, 768)
    assert layers_and_width(recipe(model_family="modernbert", model_size="tiny")) == (2, 128)


def test_a_recipe_file_keeps_the_size_of_its_own_family(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[task]\nname = "masked-lm"\n[model]\nfamily = "modernbert"\nsize = "small"\n')
    assert layers_and_width(recipe(str(path), model_family="modernbert")) == (4, 512)
    path.write_text('[task]\nname = "masked-lm"\n[model]\nsize = "6x256"\n')  # bert, when none is named
    assert layers_and_width(recipe(str(path), model_family="bert")) == (6, 256)
    assert recipe(str(path), model_family="modernbert").model.size is None


def test_a_student_with_layers_of_its_teacher_has_no_size_of_its_own(run: Run, text_file: Path) -> None:
    for option, value in (("--size", "tiny"), ("--vocabulary", "100")):
        done = run("distil", "english", text_file, option, value)
        assert (done.code, done.out) == (2, "")
        assert f"got {option}" in done.err
        assert "--vectors" in done.err


@pytest.mark.parametrize("task", TASKS)
def test_a_task_has_its_own_recipe_with_and_without_a_model_to_start_from(task: str) -> None:
    alone, started = recipe(task), recipe(task, model_start="hub:owner/name")
    assert alone.task.name == started.task.name == task
    assert (alone.model.start, alone.model.family != ModelSection().family or alone.model.size is not None) == (
        None,
        True,
    )
    assert started.model == ModelSection(start="hub:owner/name")
    for own, name in ((alone, TASKS[task].recipe), (started, TASKS[task].tuning)):
        assert own.train == resolve(name).train


def test_a_size_with_a_model_to_start_from_is_not_dropped_in_silence() -> None:
    both = recipe(model_start="hub:owner/name", model_size="tiny")
    assert both.model.size == "tiny"  # which is refused where it is known


def test_columns_are_options() -> None:
    data = recipe("classify", data_text="0", data_pair="1", data_label="2").data
    assert isinstance(data, ClassifyData)
    assert (data.text, data.pair, data.label) == ("0", "1", "2")
    with pytest.raises(ConfigError) as caught:
        recipe("masked-lm", data_label="2")
    assert "'data.label'" in caught.value.wanted


@pytest.mark.parametrize("end", ["steps", "epochs", "minutes"])
def test_an_end_that_is_asked_for_is_the_only_one(end: str) -> None:
    for task in TASKS:
        own = recipe(task, **{f"train_{end}": 3}).train
        assert {name: getattr(own, name) for name in ("steps", "epochs", "minutes")} == {
            "steps": None,
            "epochs": None,
            "minutes": None,
            end: 3,
        }


@pytest.mark.parametrize("brought", [{"model_start": "hub:owner/name"}, {"tokenizer_file": "there.json"}])
def test_who_brings_a_tokenizer_learns_none(tmp_path: Path, brought: dict[str, str]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[task]\nname = "masked-lm"\n[tokenizer]\nkind = "bpe"\nvocabulary = 16000\n')
    assert recipe(str(path)).tokenizer.vocabulary == 16000
    own = recipe(str(path), **brought).tokenizer
    assert own.model_copy(update={"file": None}) == TokenizerSection()
    assert (own.file is None) == ("model_start" in brought)
    # With what is brought it is refused, where it is known.
    assert recipe(**brought, tokenizer_vocabulary=500).tokenizer.vocabulary == 500


def test_the_text_is_named_once() -> None:
    with pytest.raises(ConfigError) as caught:
        recipe("masked-lm", "data.files=other.txt")
    assert caught.value.got == "files and --set data.files"


@pytest.mark.parametrize("task", TASKS)
def test_a_task_needs_files(task: str) -> None:
    with pytest.raises(DataError) as caught:
        requested_recipe(task, [], settings={}, assignments=())
    assert caught.value.got == "no files"
    assert f"train {task} " in caught.value.do
    with pytest.raises(DataError) as caught:
        requested_recipe(task, ["-"], settings={}, assignments=())
    assert caught.value.got == "standard input"


@pytest.mark.parametrize("command", [train, plan])
def test_help_names_the_sizes_that_there_are(command: Callable[..., None]) -> None:
    words = inspect.signature(command).parameters["size"].annotation.__metadata__[0].help
    named = [size for size in BERT_SIZES if "x" not in size]
    assert f"bert ({', '.join(named)}, or" in words
    assert f"modernbert ({', '.join(MODERNBERT_SIZES)})" in words
    with torch.device("meta"):
        for family, sizes in (("bert", [*named, "6x256"]), ("modernbert", list(MODERNBERT_SIZES))):
            for size in sizes:
                assert layers_and_width(recipe(model_family=family, model_size=size)) > (0, 0)
    for family in ("roberta", "distilbert", "slides"):  # of which the help says that they have none
        assert family in words
        with pytest.raises(ConfigError) as caught:
            layers_and_width(recipe(model_family=family, model_size="mini"))
        assert "'size'" in caught.value.wanted


def test_each_option_of_a_training_is_a_setting_that_there_is() -> None:
    """And `train` and `plan` have the same."""
    shared = {"what", "files", "set", "json"}
    options = set(inspect.signature(plan).parameters) - shared
    assert set(inspect.signature(train).parameters) - shared == options | {"out", "resume", "processes", "shard"}
    columns = {"text_column", "pair_column", "label_column", "answers_column"}
    for name, value in {"train_epochs": 1, "train_threads": 1, "train_seed": 5, "train_device": "cpu"}.items():
        given: dict[str, Any] = {name: value}
        assert recipe(**given) != recipe()
    assert columns <= options
