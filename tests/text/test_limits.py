"""A tokenizer.json of strangers: whatever it says, one sentence or a tokenizer, and never much memory."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.base.errors import DataError, TokenizerError
from glassformer.text.library import refusing
from glassformer.text.load import load_tokenizer
from glassformer.text.special import NONE
from glassformer.text.tokenizer import Tokenizer

VOCABULARY = {"[UNK]": 0, "[MASK]": 1, "fox": 2}


def settings(**changed: object) -> dict[str, Any]:
    """A small tokenizer.json of whole words."""
    empty = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    model = {"type": "WordLevel", "vocab": VOCABULARY, "unk_token": "[UNK]"}
    return {"version": "1.0", "added_tokens": [], "model": model} | empty | changed


def words(vocabulary: dict[str, Any]) -> str:
    return json.dumps(settings(model={"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}))


@pytest.mark.parametrize(
    ("vocabulary", "value"),
    [
        ({"[UNK]": 0, "a": 2**31}, str(2**31)),
        ({"[UNK]": 0, "a": 1004}, "1004"),
        ({"[UNK]": 0, "a": -1}, "-1"),
        ({"[UNK]": 0, "a": 1.5}, "1.5"),
        ({"[UNK]": 0, "a": 2**32}, str(2**32)),
        ({"[UNK]": 0, "left": 7, "right": 7}, "'left'"),
    ],
)
def test_ids_must_number_the_tokens(vocabulary: dict[str, Any], value: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        Tokenizer(words(vocabulary), NONE)
    assert value in caught.value.got


def test_some_gaps_between_ids_are_allowed() -> None:
    tokenizer = Tokenizer(words({"[UNK]": 0, "a": 1003}), NONE)
    assert tokenizer.vocabulary_size == 1004
    assert tokenizer.token(500) == ""
    assert tokenizer.id("a") == 1003


def test_an_added_token_keeps_the_id_that_the_file_gives_it() -> None:
    added = {"content": "[X]", "special": True} | dict.fromkeys(
        ("single_word", "lstrip", "rstrip", "normalized"), False
    )
    assert Tokenizer(json.dumps(settings(added_tokens=[added | {"id": 3}])), NONE).id("[X]") == 3
    with pytest.raises(TokenizerError) as caught:
        Tokenizer(json.dumps(settings(added_tokens=[added | {"id": 2**31}])), NONE)
    assert caught.value.got == str(2**31)


TEMPLATE: dict[str, Any] = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {},
}
BOMB = {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": "x"}


@pytest.mark.parametrize(("part", "value"), [("post_processor", TEMPLATE), ("normalizer", BOMB)])
@pytest.mark.parametrize(
    "call",
    [
        lambda tokenizer: tokenizer.encode("a" * 50 + "b"),
        lambda tokenizer: tokenizer.encode_batch(["fox", "a" * 50 + "b"]),
        lambda tokenizer: (
            tokenizer.frame_ids if tokenizer.settings["post_processor"] else tokenizer.encode("a" * 50 + "b")
        ),
    ],
)
def test_a_panic_of_the_library_is_a_tokenizer_error(
    part: str, value: object, call: Callable[[Tokenizer], object], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(TokenizerError) as caught:
        call(Tokenizer(json.dumps(settings(**{part: value})), NONE))
    assert caught.value.got
    assert capfd.readouterr().err == ""  # nothing of the library's panic


def test_what_others_print_meanwhile_comes_after_it(capfd: pytest.CaptureFixture[str]) -> None:
    with refusing(TokenizerError):
        os.write(2, b"mine")
    assert capfd.readouterr().err == "mine"


@pytest.mark.long
def test_special_tokens_that_would_fill_the_memory_are_refused() -> None:
    many = TEMPLATE | {
        "single": [*TEMPLATE["single"][:1] * 100_000, *TEMPLATE["single"][1:]],
        "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [0], "tokens": ["[CLS]"]}},
    }
    with pytest.raises(TokenizerError) as caught:
        Tokenizer(json.dumps(settings(post_processor=many)), NONE)
    assert caught.value.got == "100,000"


def test_a_panic_while_the_refused_word_is_looked_for() -> None:
    model = {"type": "WordLevel", "vocab": {"fox": 0}, "unk_token": ""}
    tokenizer = Tokenizer(json.dumps(settings(model=model, normalizer=BOMB)), NONE)
    with pytest.raises(TokenizerError):
        tokenizer.encode("a" * 50 + "b")
    with pytest.raises(TokenizerError):
        tokenizer.encode("\ud800")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, DataError("mine"), GeneratorExit])
def test_what_is_not_the_librarys_passes(error: BaseException | type[BaseException]) -> None:
    wanted = error if isinstance(error, type) else type(error)
    with pytest.raises(wanted), refusing(lambda message: TokenizerError(message)):
        raise error


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        ({"model": {"type": "WordPiece", "vocab": VOCABULARY, "unk_token": "[UNK]", "max_input_chars_per_word": 10**9,
                    "continuing_subword_prefix": "##"}}, str(10**9)),
        ({"normalizer": {"type": "Sequence", "normalizers": [BOMB | {"content": "a" * 100}] * 4}}, "10,000"),
        ({"normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Sequence", "normalizers": [BOMB | {"content": "aa"}] * 4}] * 4}}, "128"),
    ],
)  # fmt: skip
def test_what_would_take_forever_or_all_memory_is_refused(changed: dict[str, object], value: str) -> None:
    with pytest.raises(TokenizerError) as caught:
        Tokenizer(json.dumps(settings(**changed)), NONE)
    assert value in caught.value.got


@pytest.mark.parametrize("content", ["[]", "3", "null", '"text"', "[" * 100_000, '{"model":' * 100_000, "{", "\ud800"])
@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"])
def test_json_that_is_no_such_file_is_named(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(settings()))
    load_tokenizer(tmp_path)
    (tmp_path / name).write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(TokenizerError) as caught:
        load_tokenizer(tmp_path)
    assert str(tmp_path / name) in caught.value.wanted
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("value", [["[MASK]"], 3, True, {"content": ["[MASK]"]}, {"content": {}}, "x" * 100_000])
@pytest.mark.parametrize("name", ["tokenizer_config.json", "special_tokens_map.json"])
def test_a_role_of_another_type_is_named(name: str, value: object, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(settings()))
    (tmp_path / name).write_text(json.dumps({"mask_token": value}))
    with pytest.raises(TokenizerError) as caught:
        load_tokenizer(tmp_path)
    assert "mask_token" in caught.value.wanted
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("key", ["do_lower_case", "strip_accents", "tokenize_chinese_chars"])
def test_a_switch_of_another_type_is_named(key: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nfox")
    for value in ("no", 0, [True]):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({key: value}))
        with pytest.raises(TokenizerError) as caught:
            load_tokenizer(tmp_path)
        assert key in caught.value.wanted
        assert repr(value) in caught.value.got
