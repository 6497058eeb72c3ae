"""Recipes and settings of any depth, size and type: one short sentence, before anything is built."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.base.errors import ConfigError, GlassformerError
from glassformer.base.plain import DEEPEST, LARGEST
from glassformer.base.settings import Settings, parse_toml
from glassformer.saved.recipe import Recipe, parse_changes, recipe_class, resolve
from tests.cli.conftest import Run

MANY = 100_000
# A sentence on a screen, whatever came.
SHORT = 1500

TEXTS: dict[str, tuple[str, str]] = {
    "open brackets": ("a = " + "[" * MANY, "brackets"),
    "brackets": ("a = " + "[" * MANY + "]" * MANY, "brackets"),
    "tables in each other": ("a = " + "{a = " * MANY, "brackets"),
    "a dotted key": ("a" + ".a" * MANY + " = 1", str(DEEPEST)),
    "a quoted dotted key": ('"a"' + " . 'a'" * MANY + " = 1", str(DEEPEST)),
    "a dotted heading": ("[model.settings" + ".a" * MANY + "]\nx = 1", str(DEEPEST)),
    "a dotted key in a table": ("a = {b" + ".a" * MANY + " = 1}", str(DEEPEST)),
    "digits": ("[train]\nsteps = " + "1" * 10_000, "10000 digits"),
    "hexadecimal digits": ("[train]\nsteps = 0x" + "f" * 10_000, "train.steps"),
    "nan": ("[train]\nsteps = nan", "train.steps"),
    "inf": ("[train]\nlearning_rate = inf", "train.learning_rate"),
    "a date": ("[train]\nsteps = 2020-01-31", "2020-01-31"),
    "a time": ("[data]\nfiles = [10:00:00]", "data.files.0"),
    "a date and time": ("[data]\nfiles = 2020-01-31T10:00:00Z", "data.files"),
    "a number for a table": ("train = 1", "train"),
    "a list for a table": ("[[train]]\nsteps = 1", "train"),
    "a long key": ("[train]\n" + "x" * 1_000_000 + " = 1", "train.xxx"),
    "a long word": ("[train]\nprecision = '" + "y" * 1_000_000 + "'", "train.precision"),
    "half a letter": ('[data]\nlicence = "\\ud800"', "line 2"),
    "a zero byte in a path": ('[data]\nfiles = ["a\\u0000b"]', r"a\x00b"),
    "deep settings": ("[model.settings]\nx = " + "[" * 60 + "]" * 60, "model.settings.x"),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", TEXTS)
def test_a_recipe_that_is_none(run: Run, tmp_path: Path, name: str) -> None:
    text, message = TEXTS[name]
    path = tmp_path / "recipe.toml"
    path.write_text(f"{text}\n[task]\nname = 'masked-lm'\n", encoding="utf-8")
    for verb in ("train", "plan"):
        done = run(verb, path)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("glassformer: ")
        assert done.err.count("\n") == 1
        assert len(done.err) < SHORT
        assert message in done.err
    assert list(tmp_path.iterdir()) == [path]


VALUES = ("[" * MANY, "{a=" * MANY, "{a" + ".a" * MANY + " = 1}", "1" * 10_000, '"' + "x" * MANY + '"', "2020-01-31")


@pytest.mark.sampled(10)
@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
@pytest.mark.parametrize("name", ["train.steps", "model.settings.width", "data.files", "a.b", "a" + ".a" * MANY])
def test_a_setting_that_is_none(run: Run, text_file: Path, name: str, value: str) -> None:
    done = run("plan", "masked-lm", *([] if name == "data.files" else [text_file]), "--set", f"{name}={value}")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1].startswith("glassformer: ")
    assert len(done.err) < SHORT


def whole_numbers(group: type[Settings]) -> list[str]:
    found = []
    for name, field in group.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Settings):
            found += [f"{name}.{inner}" for inner in whole_numbers(field.annotation)]
        elif field.annotation in (int, int | None):
            found.append(name)
    return found


LEAST = {"task": {"name": "masked-lm"}}
MASKED = recipe_class("masked-lm")
NUMBERS = whole_numbers(MASKED)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30, 10**4000, True, 12.0, "12", [12], {"a": 12}])
def test_what_is_no_whole_number(name: str, value: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(LEAST, {name: value})
    assert name in caught.value.wanted
    assert len(str(caught.value)) < SHORT


def test_all_whole_numbers_are_met() -> None:
    assert {"train.steps", "train.batch", "data.length", "tokenizer.vocabulary", "task.duplicates"} <= set(NUMBERS)


@pytest.mark.parametrize("name", ["train.batch", "data.length", "tokenizer.vocabulary"])
@pytest.mark.parametrize("value", [2**31, LARGEST])
def test_sizes_beyond_any_training(name: str, value: int) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(LEAST, {name: value})
    assert name in caught.value.wanted
    assert str(value) in caught.value.got


def test_a_second_line_is_no_second_setting() -> None:
    assert parse_changes(["data.licence=1\nb = 2"]) == {"data.licence": "1\nb = 2"}


def test_words_with_dots_are_no_keys() -> None:
    text = "[data]\nlicence = 'Mine ... and yours. See 1.2.3 " + "and so on. " * 200 + "'\n"
    assert parse_toml(text) == tomllib.loads(text)
    assert parse_toml("a.b.c.'d'.\"e\" = 1") == {"a": {"b": {"c": {"d": {"e": 1}}}}}


WORDS = st.text(max_size=8) | st.sampled_from(["train", "steps", "data", "files", "masked-lm", "\ud800", "a\0b", "~/x"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.dates() | st.times()
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3))
SECTIONS: dict[str, Any] = {name: field.annotation for name, field in MASKED.model_fields.items()}
SETTINGS_OF = {name: sorted(section.model_fields) for name, section in SECTIONS.items()}
PLACES = st.sampled_from([(section, key) for section, keys in SETTINGS_OF.items() for key in keys])


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(PLACES, ANYTHING, max_size=4), st.dictionaries(WORDS, ANYTHING, max_size=1))
def test_any_recipe_is_read_or_refused(values: dict[tuple[str, str], Any], more: dict[str, Any]) -> None:
    recipe: dict[str, Any] = {**LEAST, **more}
    for (section, key), value in values.items():
        table = recipe.get(section)
        recipe[section] = {**(table if isinstance(table, dict) else {}), key: value}
    check_refusal(lambda: resolve(recipe))


@settings(max_examples=150, deadline=None)
@given(PLACES.map(".".join) | WORDS, WORDS | ANYTHING.map(lambda value: toml(value)))
def test_any_change_is_read_or_refused(name: str, value: str) -> None:
    check_refusal(lambda: resolve(LEAST, parse_changes([f"{name}={value}"])))


@settings(max_examples=150, deadline=None)
@given(ANYTHING)
def test_any_value_is_settings_or_refused(value: Any) -> None:
    check_refusal(lambda: resolve({**LEAST, "model": {"settings": {"x": value}}}))


def toml(value: Any) -> str:
    try:
        return tomli_w.dumps({"value": value}).partition("=")[2]
    except (TypeError, ValueError):
        return repr(value)


def check_refusal(call: Callable[[], Recipe]) -> None:
    sentence = "read"
    try:
        call()
    except GlassformerError as error:
        sentence = str(error)
    assert 0 < len(sentence) < 4 * SHORT
