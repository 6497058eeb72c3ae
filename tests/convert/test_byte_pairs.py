"""`vocab.json` with `merges.txt`, as GPT-2 and RoBERTa were published: read as in `transformers`, or refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers

from glassformer.base.errors import TokenizerError
from glassformer.convert import read_huggingface
from glassformer.text.load import load_tokenizer
from glassformer.text.special import SpecialTokens
from glassformer.text.train import train_tokenizer
from tests.convert.sources import save
from tests.refusals import refused

TEXTS = ["She likes summer better than winter.", "The quick brown fox jumps over the lazy dog; it never rests!"]
STRANGE = ["", " hello", "naïve 東京 x", "a  b\n c", "She <mask> the summer", "one<|endoftext|>two", "I'm 42"]
MASK = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": False}
END = SpecialTokens(begin="<|endoftext|>", end="<|endoftext|>")


def written(folder: Path, special: SpecialTokens | None, **settings: Any) -> Path:
    """The two files of a tokenizer that was trained here."""
    model = train_tokenizer("bpe", TEXTS * 20, vocabulary=330, lowercase=False, special=special).settings["model"]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
    folder.mkdir(exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("prefixed", [False, True])
@pytest.mark.parametrize(
    ("kind", "special", "more"), [("GPT2", END, {}), ("Roberta", None, {"mask_token": MASK})], ids=["gpt2", "roberta"]
)
def test_text_is_cut_as_there(
    kind: str, special: SpecialTokens | None, more: dict[str, Any], prefixed: bool, tmp_path: Path
) -> None:
    folder = written(tmp_path, special, add_prefix_space=prefixed, **more)
    ours, theirs = load_tokenizer(folder), getattr(transformers, f"{kind}Tokenizer").from_pretrained(folder)
    for text in [*TEXTS, *STRANGE]:
        assert ours.encode(text).ids == theirs(text)["input_ids"], text
    assert ours.encode("a b", "c").ids == theirs("a b", "c")["input_ids"]
    assert ours.special.mask == theirs.mask_token
    assert ours.special.end == theirs.eos_token


def test_tokens_that_were_added_later_keep_their_ids(tmp_path: Path) -> None:
    folder = written(tmp_path, END, pad_token="[PAD]")
    size = len(json.loads((folder / "vocab.json").read_text()))
    (folder / "added_tokens.json").write_text(json.dumps({"[MORE]": size + 1, "[PAD]": size}))
    ours, theirs = load_tokenizer(folder), transformers.GPT2Tokenizer.from_pretrained(folder)
    assert ours.pad_id == theirs.pad_token_id == size
    assert ours.encode("a[MORE]b").ids == theirs("a[MORE]b")["input_ids"]


def test_a_folder_without_a_tokenizer_json_has_a_tokenizer(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(written(tmp_path, None))
    assert tokenizer.pad_id is not None
    save("RobertaForMaskedLM", tmp_path, vocab_size=tokenizer.vocabulary_size, pad_token_id=tokenizer.pad_id)
    found = read_huggingface(tmp_path).tokenizer
    assert found is not None
    assert found.fingerprint == tokenizer.fingerprint
    (tmp_path / "merges.txt").unlink()
    assert read_huggingface(tmp_path).tokenizer is None  # Marian has such a file alone, for another kind of tokenizer


def change(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


BROKEN: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "no merges": (lambda folder: (folder / "merges.txt").unlink(), "merges.txt", "no such file"),
    "merges of one": (change("merges.txt", "#version\nc\n"), "line 2", "'c'"),
    "merges of three": (change("merges.txt", "a b c\n"), "line 1", "'a b c'"),
    "merges of unknown tokens": (change("merges.txt", "#version\nq q\n"), "line 2", "'qq'"),
    "no vocabulary": (change("vocab.json", "{"), "vocab.json", ""),
    "a list": (change("vocab.json", "[]"), "vocab.json", "list"),
    "words for numbers": (change("vocab.json", '{"a": "b"}'), "vocab.json", "'b'"),
    "a number twice": (change("vocab.json", '{"a": 0, "b": 0}'), "vocab.json", "2 tokens"),
    "a number left out": (change("vocab.json", '{"a": 0, "b": 2}'), "vocab.json", "2 tokens"),
    "an added token far away": (change("added_tokens.json", '{"[MORE]": 5000}'), "added_tokens.json", "5000"),
    "an added token without number": (change("added_tokens.json", '{"[MORE]": null}'), "added_tokens.json", ""),
    "a prefix of words": (change("tokenizer_config.json", '{"add_prefix_space": "no"}'), "add_prefix_space", "'no'"),
}


@pytest.mark.parametrize(("damage", "wanted", "got"), BROKEN.values(), ids=BROKEN)
def test_a_damaged_one_is_reported_in_a_sentence(
    damage: Callable[[Path], object], wanted: str, got: str, tmp_path: Path
) -> None:
    damage(written(tmp_path, None))
    with refused(TokenizerError, wanted=wanted, got=got):
        load_tokenizer(tmp_path / "vocab.json")
