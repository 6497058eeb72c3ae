"""`tokenizer_config.json` next to `tokenizer.json`, and `vocab.txt` alone: as transformers reads them, or refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tokenizers import pre_tokenizers

from glassformer.base.errors import TokenizerError
from glassformer.text.load import load_tokenizer
from glassformer.text.special import ROBERTA
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.contracts.tasks import SENTENCES
from tests.refusals import refused
from tests.text.plain import of_bert_alone

TEXT = "Ada Lives in a café 你好"
SAID: list[dict[str, Any]] = [
    {"tokenizer_class": "BertTokenizer"},
    {"tokenizer_class": "BertTokenizer", "do_lower_case": False},
    {"tokenizer_class": "DistilBertTokenizer", "strip_accents": False},
    {"tokenizer_class": "ElectraTokenizerFast", "tokenize_chinese_chars": False, "do_lower_case": False},
    {"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": False},
]


@pytest.fixture(scope="module")
def pieces() -> Tokenizer:
    return of_bert_alone(train_tokenizer("wordpiece", [*SENTENCES * 3, TEXT, TEXT.lower(), "cafe"], vocabulary=300))


def written(folder: Path, tokenizer: Tokenizer, said: dict[str, Any], **parts: Any) -> Path:
    settings = tokenizer.settings
    for name, values in parts.items():
        settings[name] |= values
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(said), encoding="utf-8")
    return folder


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("lowercase", [True, False])
def test_words_are_normalized_as_transformers_does(
    tmp_path: Path, pieces: Tokenizer, said: dict[str, Any], lowercase: bool
) -> None:
    from transformers import AutoTokenizer

    roles = {
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "mask_token": "[MASK]",
    }
    folder = written(tmp_path / "said", pieces, {**roles, **said}, normalizer={"lowercase": lowercase})
    theirs = AutoTokenizer.from_pretrained(folder)(TEXT, add_special_tokens=False)["input_ids"]
    assert load_tokenizer(folder).ids(TEXT) == theirs


@pytest.mark.parametrize("config", [{"model_type": "distilbert"}, {"tokenizer_class": "BertTokenizer"}, {}])
@pytest.mark.parametrize("settings", [{}, {"do_lower_case": False}])
def test_the_class_of_a_tokenizer_is_that_of_its_model(
    tmp_path: Path, pieces: Tokenizer, config: dict[str, str], settings: dict[str, Any]
) -> None:
    from transformers import AutoTokenizer

    for normalized in (True, False):
        folder = written(tmp_path / "folder", pieces, settings, normalizer={"lowercase": normalized})
        (folder / "config.json").write_text(json.dumps({"model_type": "bert", **config}))
        theirs = AutoTokenizer.from_pretrained(folder)(TEXT, add_special_tokens=False)["input_ids"]
        assert load_tokenizer(folder).ids(TEXT) == theirs


@pytest.mark.parametrize("prefixed", [True, False, None])
def test_a_space_before_a_text_of_roberta(tmp_path: Path, prefixed: bool | None) -> None:
    from transformers import AutoTokenizer

    trained = train_tokenizer("bpe", SENTENCES * 3, vocabulary=300, special=ROBERTA)
    own = json.loads(pre_tokenizers.ByteLevel(add_prefix_space=False).__getstate__())
    said = {"tokenizer_class": "RobertaTokenizer"} | ({} if prefixed is None else {"add_prefix_space": prefixed})
    folder = written(tmp_path / "said", trained, said, pre_tokenizer=own)
    text = "the stone was moved"
    theirs = AutoTokenizer.from_pretrained(folder)(text, add_special_tokens=False)["input_ids"]
    assert load_tokenizer(folder).ids(text) == theirs


def test_what_a_vocabulary_alone_cannot_say_is_refused(tmp_path: Path, pieces: Tokenizer) -> None:
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in pieces.vocabulary()), encoding="utf-8")
    right = load_tokenizer(tmp_path)
    said = tmp_path / "tokenizer_config.json"
    for settings, got in (
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "BertJapaneseTokenizer"),
        ({"added_tokens_decoder": {"300": {"content": "[E1]"}}}, "[E1]"),
    ):
        said.write_text(json.dumps(settings), encoding="utf-8")
        with refused(TokenizerError, got=got, do="AutoTokenizer"):
            load_tokenizer(tmp_path)
    known = {"tokenizer_class": "BertTokenizerFast", "added_tokens_decoder": {"0": {"content": "[PAD]"}}}
    said.write_text(json.dumps(known), encoding="utf-8")
    assert load_tokenizer(tmp_path).ids(TEXT) == right.ids(TEXT)
    (tmp_path / "added_tokens.json").write_text('{"[E2]": 300}', encoding="utf-8")
    with refused(TokenizerError, got="[E2]"):
        load_tokenizer(tmp_path)


def test_a_line_of_a_vocabulary_ends_at_a_line_feed_alone(tmp_path: Path, pieces: Tokenizer) -> None:
    tokens = [*pieces.vocabulary(), "a\u2028b", "a"]
    tokens = list(dict.fromkeys(tokens))
    (tmp_path / "vocab.txt").write_bytes("".join(f"{token}\r\n" for token in tokens).encode())
    assert list(load_tokenizer(tmp_path).vocabulary()) == tokens


def test_a_damaged_file_is_named(tmp_path: Path, pieces: Tokenizer) -> None:
    for number, text in enumerate(("[]", "{", '{"normalizer": 3, "pre_tokenizer": 4}', "null")):
        folder = written(tmp_path / str(number), pieces, {"tokenizer_class": "BertTokenizer"})
        (folder / "tokenizer.json").write_text(text, encoding="utf-8")
        with refused(TokenizerError, wanted="tokenizer.json"):
            load_tokenizer(folder)
    shutil.rmtree(tmp_path / "0")
