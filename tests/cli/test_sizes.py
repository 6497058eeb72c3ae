"""Sizes that are chosen by the text and the time, where the user has not chosen them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from glassformer.base.errors import ConfigError
from glassformer.cli.train.recipe_options import requested_recipe
from glassformer.models.families.modernbert import MODERNBERT_SIZES
from glassformer.run.sizes import SIZES, TRANSLATORS, VOCABULARIES, Size, sizes_for, translator_sizes
from glassformer.saved.recipe import Recipe, resolve
from tests.refusals import refused

LINE = "the cat sat on the mat .\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(LINE * 10)
    return path


def asked(text: Path, *, recorded: Recipe | None = None, **settings: object) -> Recipe:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return requested_recipe("masked-lm", [str(text)], settings=named, assignments=(), recorded=recorded)


@pytest.mark.parametrize("size", SIZES)
def test_more_time_gets_a_larger_model(text: Path, size: Size) -> None:
    recipe = asked(text, train__minutes=size.core_minutes / 2 + 0.01, train__threads=2)
    assert (recipe.model.size, recipe.train.batch) == (size.name, size.batch)
    assert size.name in MODERNBERT_SIZES


def test_a_larger_text_gets_a_larger_vocabulary(tmp_path: Path) -> None:
    found = []
    for _, least in VOCABULARIES:
        path = tmp_path / f"{least:.0f}.txt"
        with path.open("wb") as file:
            file.write(LINE.encode())
            file.truncate(int(least) + len(LINE))  # a sparse file: nothing reads it here
        found.append(sizes_for([str(path)], 1.0).settings["tokenizer.vocabulary"])
    assert found == [tokens for tokens, _ in VOCABULARIES]
    assert list(VOCABULARIES) == sorted(VOCABULARIES)


def test_what_the_user_chose_stays_and_what_was_chosen_is_said(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe = asked(text, train__minutes=1.0, train__threads=2, model__size="small", tokenizer__vocabulary=300)
    assert (recipe.model.size, recipe.tokenizer.vocabulary) == ("small", 300)
    assert recipe.train.batch == SIZES[-1].batch
    said = capsys.readouterr().err
    assert "--batch" in said
    assert "--size" not in said
    assert "--vocabulary" not in said


def test_a_run_by_steps_keeps_the_size_of_the_recipe(text: Path) -> None:
    recipe = asked(text, train__steps=10)
    assert recipe.model.size == "mini"
    assert recipe.tokenizer.vocabulary == VOCABULARIES[0][0]


def test_another_family_keeps_its_own_size(text: Path) -> None:
    recipe = asked(text, train__minutes=1.0, model__family="bert", model__size="tiny")
    assert (recipe.model.size, recipe.tokenizer.vocabulary) == ("tiny", 8000)


def test_a_resumed_run_keeps_the_sizes_it_began_with(text: Path) -> None:
    began = asked(text, train__minutes=1.0, train__threads=2)
    longer = asked(text, train__minutes=1000.0, train__threads=2, recorded=began)
    assert longer.model == began.model
    assert longer.tokenizer == began.tokenizer
    assert longer.train.batch == began.train.batch


def test_the_cores_are_those_that_the_run_will_use(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with threads(1):
        recipe = asked(text, train__minutes=7.5)
    assert recipe.model.size == "tiny"
    assert "and 7.5 minutes of one core" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("steps", "tokens"), [(1, 512), (1000, 512), (2500, 512), (4999, 512), (5000, 4096), (100_000, 4096)]
)
def test_a_run_by_steps_has_the_steps_of_one_by_its_minutes(tmp_path: Path, steps: int, tokens: int) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_bytes(b"a\tb\n" * 500_000)
    by_steps = translator_sizes([str(pairs)], None, steps=steps).settings
    assert by_steps["train.batch_tokens"] == tokens
    speed = {name: speed for name, speed, _ in TRANSLATORS}["tiny"]
    minutes = steps * tokens / speed / 60 + 1e-6
    by_minutes = translator_sizes([str(pairs)], minutes, size="tiny").settings
    assert by_minutes == by_steps
    assert translator_sizes([str(pairs)], minutes, size="tiny", steps=10).settings["train.batch_tokens"] == 512
    of_an_epoch = 500_000 * 4 / 2 / 4.3
    assert translator_sizes([str(pairs)], None, epochs=steps * tokens / of_an_epoch + 1e-6).settings == by_steps
    chosen = translator_sizes([str(pairs)], None, steps=steps, step_tokens=64)
    assert f"{steps:,} steps" in chosen.sentence(chosen.settings)


def test_a_few_pairs_are_learned_in_few_steps_unless_an_end_is_chosen(tmp_path: Path) -> None:
    pairs = tmp_path / "turns.tsv"
    pairs.write_text("turn\treply\nHi how are you\tI am fine\n")
    ends: list[dict[str, object]] = [{}, {"train.minutes": 2.0}, {"train.epochs": 3}, {"train.steps": 7}]
    steps = [requested_recipe("chat", [str(pairs)], settings=end, assignments=()).train.steps for end in ends]
    assert steps == [600, None, None, 7]
    pairs.write_text("turn\treply\n" + "Hi how are you\tI am fine\n" * 400)
    assert requested_recipe("chat", [str(pairs)], settings={}, assignments=()).train.steps is None


def test_a_step_is_asked_for_in_tokens(tmp_path: Path) -> None:
    """--batch counts rows, which the tokens of a step would make idle."""
    pairs = tmp_path / "pairs.tsv"
    pairs.write_bytes(b"a\tb\n" * 9)
    both = ["train.batch=8", "train.batch_tokens=64"]
    for settings, assignments in (
        ({"train.batch": 8}, []),
        ({}, ["train.batch=8"]),
        ({}, both),
        ({"train.batch": 8}, both[1:]),
    ):
        with refused(ConfigError, wanted="train.batch_tokens", got="8", do="train.batch_tokens"):
            requested_recipe("translate", [str(pairs)], settings=settings, assignments=assignments)
    with refused(ConfigError, wanted="train.batch_tokens", got="8"):
        resolve("translate", {"train.batch": 8})
    assert resolve("masked-lm-mini", {"train.batch": 8}).train.batch == 8


def test_rows_are_not_chosen_where_a_step_is_asked_for_in_tokens(text: Path) -> None:
    began = asked(text, train__minutes=1.0, train__batch_tokens=64)
    resumed = asked(text, train__minutes=2.0, train__batch_tokens=64, recorded=began)
    assert began.train.batch_tokens == resumed.train.batch_tokens == 64
    assert began.train.batch == resumed.train.batch == resolve("masked-lm-mini").train.batch


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Inside, torch has so many threads, as after OMP_NUM_THREADS or taskset."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
