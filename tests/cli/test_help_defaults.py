"""--help shows the default of every option, and it is the one that is used."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from glassformer.bundled.recipes import about, ready_recipe, ready_recipes
from glassformer.cli.__main__ import _command, main
from glassformer.cli.terminal.opened import bundled_for
from glassformer.cli.terminal.options import COLUMNS
from glassformer.cli.train.training_options import _OPTIONS, OF_VECTORS, _generates, _of_kinds, default_of
from glassformer.cli.verbs import PARTS, VERBS
from glassformer.config import ModelConfig
from glassformer.models.families import FAMILIES
from glassformer.models.families.bert import BERT_WIDTHS
from glassformer.models.families.gpt2 import GPT2_SIZES
from glassformer.models.families.llama import LLAMA_SIZES
from glassformer.models.families.marian import MARIAN_SIZES
from glassformer.models.families.modernbert import MODERNBERT_SIZES
from glassformer.models.families.t5 import T5_SIZES
from glassformer.models.families.vaswani import VASWANI_SIZES
from glassformer.saved.recipe import resolve
from glassformer.tasks import TASKS, data_of, task_named


def test_every_option_that_takes_a_value_shows_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    silent = []
    parts = [f"{verb} {part}" for verb, its in PARTS.items() for part in its]
    for verb in (*parts, *(verb for group in VERBS.values() for verb in group)):
        for name, parameter in inspect.signature(_command(verb), eval_str=True).parameters.items():
            option: Any = getattr(parameter.annotation, "__metadata__", (None,))[0]
            if type(option).__name__ != "OptionInfo" or isinstance(parameter.default, bool):
                continue
            shows = "[default: " in (option.help or "")
            # What is a value is shown by typer itself; what is None would not be.
            if shows == (parameter.default is not None):
                silent.append((verb, name))
    assert silent == []


def test_help_shows_every_argument_and_option_and_which_model_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    parts = [f"{verb} {part}" for verb, its in PARTS.items() for part in its]
    for verb in (*parts, *(verb for group in VERBS.values() for verb in group)):
        assert main([*verb.split(), "--help"]) == 0
        shown = re.sub(r"\s+", " ", capsys.readouterr().out)
        usage = shown.partition("Arguments:")[0].partition("Options:")[0]
        assert "[[" not in usage
        assert "True" not in shown
        for name, parameter in inspect.signature(_command(verb), eval_str=True).parameters.items():
            info: Any = parameter.annotation.__metadata__[0]
            if type(info).__name__ == "ArgumentInfo":
                words = (info.metavar or name.upper()).replace("[", "").replace("]", "").split()
                assert all(word in usage for word in words), (verb, name)
            else:
                assert re.search(rf"(^|[ /]){re.escape(info.default.split('/')[0])} ", shown), (verb, name)
        if "[MODEL]" in usage:
            name_of_model = bundled_for(verb)
            model = re.search(r" MODEL The model: [^\[]*\[([^\]]*)\]", shown)
            assert model is not None
            assert "required" in model[1] if name_of_model is None else name_of_model in model[1]


CHOSEN = "chosen to suit the size of the text and --minutes"


@pytest.mark.parametrize(("setting", "line"), [(setting, line) for _, _, setting, line in _OPTIONS])
def test_the_default_of_a_task_is_that_of_the_recipe_that_is_used(setting: str, line: str) -> None:
    assert "default" not in line
    section, key = setting.split(".")[:2]  # a table in it, tune.adapters, is absent by default
    known = 0
    for task, entry in TASKS.items():
        shown, _, starting = (
            default_of(setting, [task]).removeprefix("[default: ").removesuffix("]").partition("; with --start: ")
        )
        for starts in (False, True)[: 2 if section in ("train", "data") else 1]:  # the rest comes with the model
            table = getattr(resolve(ready_recipe(entry.tuning if starts else entry.recipe)), section)
            if not hasattr(table, key):
                assert not shown
                continue
            known += 1
            value, its = getattr(table, key), (starting or shown) if starts else shown
            if setting == "train.epochs" and table.fitted_epochs is not None:
                value = str(table.fitted_epochs)
            if entry.sized and not starts and its == CHOSEN:
                assert setting in ("model.size", "tokenizer.vocabulary", "train.batch")
            elif setting == "train.batch" and "batch_tokens" in ready_recipe(entry.recipe)["train"]:
                assert "train.batch_tokens" in its
            elif value is None:
                assert its
                assert not re.fullmatch(r"[0-9.]+", its)
            elif isinstance(value, tuple):
                assert its == (", ".join(value) or "none")
            else:
                assert its == str(value) or float(its) == pytest.approx(value, rel=1e-5)
    assert known


def test_where_tasks_differ_the_help_of_all_says_so_and_that_of_a_task_has_its_default() -> None:
    for setting in ("train.epochs", "train.learning_rate", "model.family", "data.text"):
        values = {default_of(setting, [task]) for task in TASKS} - {""}
        assert len(values) > 1
        assert default_of(setting) not in values
    assert default_of("train.seed") == "[default: 0]"


def test_a_bundled_recipe_is_a_task_or_begins_with_a_sentence_that_help_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert about("vaswani2017") == "Task translate, with the model and settings of Vaswani et al. 2017."
    others = [name for name in ready_recipes() if name not in TASKS]
    for name in others:
        begin = f"Task {ready_recipe(name)['task']['name']}, "
        assert about(name).startswith(begin), f"{name}.toml begins with a comment that says what it trains"
        assert len(about(name)) <= 100, f"the first sentence of {name}.toml is too long for --help"
    assert main(["train", "--help"]) == 0
    assert {*others, *TASKS} <= set(capsys.readouterr().out.split())


def test_distil_has_the_options_of_its_tasks_alone(capsys: pytest.CaptureFixture[str]) -> None:
    taught = {name for name in TASKS if task_named(name).soft}
    assert taught == {name for name, entry in TASKS.items() if not _generates(entry)}
    assert main(["distil", "--help"]) == 0
    shown = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert {"--label-column", "--layers", *OF_VECTORS.values()} <= shown
    assert not {"--family", "--target-column", "--target-file"} & shown


@pytest.mark.parametrize("verb", ["evaluate", "compare"])
def test_help_names_the_tasks_that_have_a_column_and_others_refuse_it(
    verb: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([verb, "--help"]) == 0
    shown = re.sub(r"\s+", " ", capsys.readouterr().out)
    for role in set(COLUMNS) - {"text"}:
        found = re.search(rf"--{role}-column COLUMN .*?For ([a-z, -]+)\.", shown)
        assert found, role
        assert set(found[1].split(", ")) == {name for name in TASKS if role in data_of(name).model_fields}
    (tmp_path / "some.jsonl").write_text('{"turns": ["Hi", "I am fine"]}\n', encoding="utf-8")
    models = ["chat"] * (2 if verb == "compare" else 1)
    assert main([verb, *models, str(tmp_path / "some.jsonl"), "--target-column", "reply"]) == 2
    assert "a column for target" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["train", "plan"])
def test_help_of_a_task_has_only_its_own_options_and_defaults(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert main([verb, "tag", "--help"]) == 0
    shown = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert {"--tags-column", "--quiet"} <= set(re.findall(r"--[a-z-]+", shown))
    assert not {"--target-column", "--choices-column"} & set(re.findall(r"--[a-z-]+", shown))
    assert re.search(r"--epochs [^\]]*\[default: 10; with --start: 3 to 20 depending on the data\]", shown)


def test_help_names_every_family_that_can_be_trained_and_its_sizes() -> None:
    named, sizes = (set(re.findall(r"\w+", _of_kinds(which, list(TASKS)))) for which in (0, 1))
    bodies = {name: config for name, config in families() if config.head is not None}
    translate = {name for name, config in bodies.items() if config.encoder is not None and config.decoder is not None}
    assert translate
    assert translate <= named
    for of in (BERT_WIDTHS, GPT2_SIZES, LLAMA_SIZES, MARIAN_SIZES, MODERNBERT_SIZES, T5_SIZES, VASWANI_SIZES):
        assert set(of) <= sizes


def families() -> Iterator[tuple[str, ModelConfig]]:
    """The config of each family with its own settings."""
    for name, function in FAMILIES.items():
        yield name, function()


def test_help_names_the_files_that_a_verb_reads(capsys: pytest.CaptureFixture[str]) -> None:
    every = {".jsonl", ".csv", ".tsv", ".parquet"}
    asked = {"fill": every, "classify": every, "tag": {*every, ".conll", ".conllu"}, "answer": {*every, ".json"}}
    measured = {*every, ".conll", ".conllu", ".json"}
    for verb, suffixes in {
        **asked,
        "train": measured,
        "plan": measured,
        "evaluate": measured,
        "compare": measured,
    }.items():
        assert main([verb, "--help"]) == 0
        shown = capsys.readouterr().out
        assert suffixes <= set(re.findall(r"\.[a-z]+\b", shown)), verb
        assert "('" not in shown


def test_the_class_of_a_tasks_data_is_the_one_that_is_named() -> None:
    for name in TASKS:
        assert data_of(name) is task_named(name).Data
