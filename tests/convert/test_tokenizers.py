"""The tokenizer goes out with the weights, and `transformers` cuts text as ours does."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import transformers

from glassformer.convert import read_huggingface, write_huggingface
from glassformer.text.load import load_tokenizer
from glassformer.text.special import BERT
from glassformer.text.train import train_tokenizer
from tests.contracts.families import Row
from tests.text.plain import of_bert_alone

Kind = Literal["wordpiece", "unigram", "bpe", "words"]
TEXTS = ["She likes summer better than winter.", "The quick brown fox jumps over the lazy dog; it never rests!"]


@pytest.mark.parametrize(("kind", "family"), [("wordpiece", "bert"), ("unigram", "distilbert"), ("bpe", "gpt2")])
def test_both_sides_cut_alike(kind: Kind, family: str, tmp_path: Path) -> None:
    tokenizer = train_tokenizer(kind, TEXTS * 20, vocabulary=320)
    model = Row(family, family, {"vocabulary": tokenizer.vocabulary_size}).model()
    write_huggingface(tmp_path, model.config, model.state_dict(), tokenizer)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        assert theirs(text)["input_ids"] == tokenizer.encode(text).ids
    assert theirs.mask_token == tokenizer.special.mask
    assert theirs.pad_token_id == tokenizer.pad_id
    assert theirs.model_max_length == 16
    again = read_huggingface(tmp_path)
    assert again.tokenizer is not None
    assert again.tokenizer.special == tokenizer.special
    assert again.tokenizer.fingerprint == tokenizer.fingerprint
    assert again.report.token_settings.get("pad_token_id") == tokenizer.pad_id


@pytest.mark.parametrize("lowercase", [True, False])
def test_a_bert_tokenizer_goes_out_as_its_vocabulary_too(lowercase: bool, tmp_path: Path) -> None:
    texts = [*TEXTS, "Élan, déjà vu: 東京 and [MASK]"]
    tokenizer = of_bert_alone(train_tokenizer("wordpiece", texts * 20, vocabulary=200, lowercase=lowercase))
    model = Row("bert", "bert", {"vocabulary": tokenizer.vocabulary_size}).model()
    write_huggingface(tmp_path, model.config, model.state_dict(), tokenizer)
    assert (tmp_path / "vocab.txt").read_text(encoding="utf-8").splitlines() == list(tokenizer.vocabulary())
    (tmp_path / "tokenizer.json").unlink()
    ours = load_tokenizer(tmp_path)
    theirs = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    for text in texts:
        assert ours.encode(text).ids == tokenizer.encode(text).ids
        assert theirs(text)["input_ids"] == tokenizer.encode(text).ids
    assert ours.fingerprint == tokenizer.fingerprint


@pytest.mark.parametrize(("kind", "special"), [("words", None), ("bpe", None), ("wordpiece", "<mask>")])
def test_what_a_vocabulary_cannot_say_goes_out_without_one(kind: Kind, special: str | None, tmp_path: Path) -> None:
    roles = None if special is None else replace(BERT, mask=special)
    tokenizer = train_tokenizer(kind, TEXTS * 20, vocabulary=320, special=roles)
    model = Row("bert", "bert", {"vocabulary": tokenizer.vocabulary_size}).model()
    write_huggingface(tmp_path, model.config, model.state_dict(), tokenizer)
    assert (tmp_path / "tokenizer.json").is_file()
    assert not (tmp_path / "vocab.txt").exists()
