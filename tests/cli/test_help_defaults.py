"""--help tells the default of every option, and it is the one that is used."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from glassformer.bundled.recipes import ready_recipe
from glassformer.cli.__main__ import _command, main
from glassformer.cli.train import recipe_options
from glassformer.cli.train.recipe_options import _OPTIONS
from glassformer.cli.verbs import PARTS, VERBS
from glassformer.config import ModelConfig
from glassformer.models.families import FAMILIES
from glassformer.models.families.marian import MARIAN_SIZES
from glassformer.models.families.t5 import T5_SIZES
from glassformer.models.families.vaswani import VASWANI_SIZES
from glassformer.saved.recipe import resolve
from glassformer.tasks import TASKS, data_of, task_named


def test_every_option_that_takes_a_value_tells_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    silent = []
    parts = [f"{verb} {part}" for verb, its in PARTS.items() for part in its]
    for verb in (*parts, *(verb for group in VERBS.values() for verb in group)):
        for name, parameter in inspect.signature(_command(verb), eval_str=True).parameters.items():
            option: Any = getattr(parameter.annotation, "__metadata__", (None,))[0]
            if type(option).__name__ != "OptionInfo" or isinstance(parameter.default, bool):
                continue
            told = "[default: " in (option.help or "")
            # What is a value is shown by typer itself; what is None would not be.
            if told == (parameter.default is not None):
                silent.append((verb, name))
    assert silent == []


@pytest.mark.parametrize(("setting", "line"), [(setting, line) for _, _, setting, line in _OPTIONS])
def test_the_default_is_that_of_the_recipe_that_is_used(setting: str, line: str) -> None:
    first, *others = recipe_options.told(setting).removeprefix("[default: ").removesuffix("]").split("; ")
    by_task: dict[bool, dict[str, str]] = {False: dict.fromkeys(TASKS, first), True: {}}
    for other in others:
        found = re.fullmatch(r"(if --start is given: )?(.*) \((.*)\)", other)
        assert found is not None
        starts, value, tasks = found.groups()
        by_task[bool(starts)] |= dict.fromkeys(tasks.split(", "), value)
    section, key = setting.split(".")[:2]  # a table in it, tune.adapters, is absent by default
    known: dict[tuple[str, bool], Any] = {}
    for task, entry in TASKS.items():
        for starts in (False, True)[: 2 if section in ("train", "data") else 1]:  # the rest comes with the model
            table = getattr(resolve(ready_recipe(entry.tuning if starts else entry.recipe)), section)
            if hasattr(table, key):
                found = getattr(table, key)
                by_rule = setting == "train.epochs" and table.fitted_epochs is not None
                known[task, starts] = str(table.fitted_epochs) if by_rule else found
    assert known
    for (task, starts), value in known.items():
        shown = by_task[starts].get(task, by_task[False][task])
        if TASKS[task].sized and not starts and shown == "chosen by text size and minutes":
            assert setting in ("model.size", "tokenizer.vocabulary", "train.batch")
        elif setting == "train.batch" and "batch_tokens" in ready_recipe(TASKS[task].recipe)["train"]:
            assert shown == "none, as train.batch_tokens is set"
        elif value is None:
            assert shown in ("none", "no limit", "all", "the family's own", "chosen by the size of the weights")
        elif isinstance(value, tuple):
            assert shown == (", ".join(value) or "none")
        else:
            assert shown == str(value) or float(shown) == pytest.approx(value, rel=1e-5)
    assert not re.search(r"default", line)


def test_the_help_tells_what_fine_tuning_does_otherwise() -> None:
    for setting, value in (
        ("train.epochs", "3 to 20 depending on the data"),
        ("train.learning_rate", "chosen by the size of the weights"),
    ):
        assert re.search(rf"; if --start is given: {value} \([a-z, -]*classify", recipe_options.told(setting))


@pytest.mark.parametrize("verb", ["train", "plan"])
def test_help_of_a_task_has_only_its_own_options_and_defaults(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert main([verb, "tag", "--help"]) == 0
    told = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert {"--tags-column", "--quiet"} <= set(re.findall(r"--[a-z-]+", told))
    assert not {"--target-column", "--choices-column"} & set(re.findall(r"--[a-z-]+", told))
    assert re.search(r"--epochs [^\]]*\[default: 10; if --start is given: 3 to 20 depending on the data\]", told)


def test_help_names_every_family_that_can_be_trained_and_its_sizes() -> None:
    lines = {setting: set(re.findall(r"\w+", line)) for _, _, setting, line in _OPTIONS}
    bodies = {name: config for name, config in families() if config.head is not None}
    translate = {name for name, config in bodies.items() if config.encoder is not None and config.decoder is not None}
    assert translate
    assert translate <= lines["model.family"]
    for sizes in (MARIAN_SIZES, VASWANI_SIZES, T5_SIZES):
        assert set(sizes) <= lines["model.size"]


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
        told = capsys.readouterr().out
        assert suffixes <= set(re.findall(r"\.[a-z]+\b", told)), verb
        assert "('" not in told


def test_the_class_of_a_tasks_data_is_the_one_that_is_named() -> None:
    for name in TASKS:
        assert data_of(name) is task_named(name).Data
