"""What a person asks to be trained, and the recipe that comes of it."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.artefact.prepare import body_config as model_config
from glassformer.artefact.recipe import Recipe, TokenizerSection
from glassformer.cli import recipe_options
from glassformer.cli.recipe_options import requested_recipe
from glassformer.errors import ConfigError
from glassformer.models.families.bert import BERT_SIZES
from glassformer.models.families.modernbert import MODERNBERT_SIZES

NOTHING: dict[str, Any] = {
    name: None
    for name, parameter in inspect.signature(requested_recipe).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
} | {"assignments": ()}


def recipe(what: str = "masked-lm", **words: Any) -> Recipe:
    return requested_recipe(what, ["x.txt"], **{**NOTHING, **words})


def layers_and_width(recipe: Recipe) -> tuple[int, int]:
    stack = model_config(recipe, 100).output_stack
    return len(stack.blocks), stack.width


@pytest.mark.parametrize("words", [{"family": "modernbert"}, {"assignments": ["model.family=modernbert"]}])
def test_naming_the_family_that_it_is_anyway_changes_nothing(words: dict[str, Any]) -> None:
    assert recipe(**words) == recipe()
    assert layers_and_width(recipe()) == (4, 256)


def test_a_size_stays_where_the_other_family_knows_it() -> None:
    assert layers_and_width(recipe(family="bert")) == (4, 256)
    assert recipe(family="roberta").model.size is None
    assert layers_and_width(recipe(family="roberta")) == (12, 768)
    assert layers_and_width(recipe(family="modernbert", size="tiny")) == (2, 128)


def test_a_recipe_file_keeps_the_size_of_its_own_family(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[model]\nfamily = "modernbert"\nsize = "small"\n')
    assert layers_and_width(recipe(str(path), family="modernbert")) == (4, 512)
    path.write_text('[model]\nsize = "6x256"\n')  # bert, when none is named
    assert layers_and_width(recipe(str(path), family="bert")) == (6, 256)
    assert recipe(str(path), family="modernbert").model.size is None


def test_a_model_to_start_from_has_its_own_size() -> None:
    started = recipe(start="hub:owner/name")
    assert (started.model.start, started.model.size) == ("hub:owner/name", None)


@pytest.mark.parametrize("brought", [{"start": "hub:owner/name"}, {"assignments": ["tokenizer.file=there.json"]}])
def test_who_brings_a_tokenizer_learns_none(tmp_path: Path, brought: dict[str, Any]) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[tokenizer]\nkind = "bpe"\nvocabulary = 16000\n')
    assert recipe(str(path)).tokenizer.vocabulary == 16000
    own = recipe(str(path), **brought).tokenizer
    assert own.model_copy(update={"file": None}) == TokenizerSection()
    assert (own.file is None) == ("start" in brought)
    assert recipe(vocabulary=500, **brought).tokenizer.vocabulary == 500  # which is refused where it is known


def test_the_text_is_named_once() -> None:
    with pytest.raises(ConfigError, match=r"got files and --set data\.files"):
        recipe(assignments=["data.files=other.txt"])


def test_help_names_the_sizes_that_there_are() -> None:
    # To the checker an alias is no object: what typer reads from it is not there.
    words = recipe_options.Size.__metadata__[0].help  # type: ignore[attr-defined]
    named = [size for size in BERT_SIZES if "x" not in size]
    assert words.startswith(", ".join(named[:-1]) + f" or {named[-1]}")
    assert list(MODERNBERT_SIZES) == named
    with torch.device("meta"):
        for family, sizes in (("bert", [*named, "6x256"]), ("modernbert", named)):
            for size in sizes:
                assert layers_and_width(recipe(family=family, size=size)) > (0, 0)
    for family in ("roberta", "distilbert", "slides"):  # of which the help says that they have none
        assert family in words
        with pytest.raises(ConfigError, match="no setting 'size'"):
            model_config(recipe(family=family, size="mini"), 100)
