"""An original Marian folder, with SentencePiece models, cuts text and translates as in `transformers`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from glassformer.api.model import Model
from glassformer.base.errors import MissingExtraError, TokenizerError
from glassformer.saved.foreign import read_foreign, write_foreign
from glassformer.text.load import load_tokenizer
from tests.convert.sources import save
from tests.refusals import refused

ENGLISH = ["I am a student.", "The cat sleeps on the table.", "Where is the station, please?", "She sees a small dog."]
FRENCH = ["Je suis étudiant.", "Le chat dort sur la table.", "Où est la gare, s'il vous plaît ?", "Elle voit un chien."]
LANGUAGE = ">>fra<<"
# A normalizer of punctuation that transformers asks for and never uses when it cuts a text.
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")


def piece_model(texts: list[str], path: Path, **more: Any) -> list[str]:
    """A model of SentencePiece learned from texts; its pieces."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is of the extra of this name")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts * 4), model_prefix=str(path.with_suffix("")), vocab_size=60,
        hard_vocab_limit=False, minloglevel=2, **more,
    )  # fmt: skip
    path.with_suffix(".model").rename(path)
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.id_to_piece(id_) for id_ in range(model.get_piece_size())]


def pieces(folder: Path, **more: Any) -> None:
    """The files of Marian's tokenizer."""
    folder.mkdir(exist_ok=True)
    both = [*piece_model(ENGLISH, folder / "source.spm", **more), *piece_model(FRENCH, folder / "target.spm")]
    text = [piece for piece in dict.fromkeys(both) if piece not in ("<s>", "</s>", "<unk>")]
    ids = {token: id_ for id_, token in enumerate(["</s>", "<unk>", LANGUAGE, *text, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(ids))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MarianTokenizer"}))


def separate_pieces(folder: Path) -> tuple[int, int]:
    """The same with a vocabulary for each side; their sizes."""
    folder.mkdir()
    sizes = []
    for texts, model, vocabulary in ((ENGLISH, "source", "vocab"), (FRENCH, "target", "target_vocab")):
        text = [piece for piece in piece_model(texts, folder / f"{model}.spm") if piece not in ("<s>", "</s>", "<unk>")]
        ids = {token: id_ for id_, token in enumerate(["</s>", "<unk>", "<pad>", *text])}
        (folder / f"{vocabulary}.json").write_text(json.dumps(ids))
        sizes.append(len(ids))
    settings = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return sizes[0], sizes[1]


def test_text_is_cut_as_in_transformers(tmp_path: Path) -> None:
    pieces(tmp_path)
    theirs = transformers.MarianTokenizer.from_pretrained(tmp_path)
    ours = load_tokenizer(tmp_path)
    assert (ours.pad_id, ours.end_id, ours.unknown_id) == (
        theirs.pad_token_id,
        theirs.eos_token_id,
        theirs.unk_token_id,
    )
    texts = [
        *ENGLISH,
        "  the   student’s ﬁne table ",
        f"{LANGUAGE} Where is the dog?",
        "a 東 student",
        "",
        "asleep! catalog",
    ]
    for text in texts:
        ids = theirs(text)["input_ids"]
        assert ours.encode(text).ids == ids
        assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True).removeprefix(LANGUAGE).strip()
    saved = load_tokenizer(ours.save(tmp_path / "saved"))
    assert [saved.encode(text).ids for text in texts] == [ours.encode(text).ids for text in texts]


def test_it_translates_as_in_transformers_and_goes_out_as_a_fast_tokenizer(tmp_path: Path) -> None:
    pieces(tmp_path / "theirs")
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "theirs")
    pad = tokenizer.pad_token_id
    sizes: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "decoder_vocab_size": len(tokenizer),
        "max_position_embeddings": 64,
    }
    tokens: dict[str, Any] = {
        "pad_token_id": pad,
        "eos_token_id": 0,
        "decoder_start_token_id": pad,
        "forced_eos_token_id": 0,
    }
    save("MarianMTModel", tmp_path / "theirs", **sizes, **tokens)
    said = {**tokens, "max_length": 20, "num_beams": 3, "bad_words_ids": [[pad]]}
    (tmp_path / "theirs" / "generation_config.json").write_text(json.dumps(said))
    model, report = read_foreign(tmp_path / "theirs", Model)
    assert "target.spm" in report.settings_aside
    write_foreign(model, tmp_path / "again")
    theirs: Any = transformers.MarianMTModel.from_pretrained(tmp_path / "theirs", dtype=torch.float64)
    fast = transformers.AutoTokenizer.from_pretrained(tmp_path / "again")
    model.module.double()
    for text in ENGLISH:
        given = tokenizer(text, return_tensors="pt")
        assert fast(text)["input_ids"] == given["input_ids"][0].tolist()
        answer = theirs.generate(**given)[0]
        assert model.translate(text).translation == tokenizer.decode(answer, skip_special_tokens=True).strip()


@pytest.mark.long
def test_two_vocabularies_are_read_and_go_out_again(tmp_path: Path) -> None:
    source, target = separate_pieces(tmp_path / "theirs")
    tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path / "theirs")
    tokens: dict[str, Any] = {"pad_token_id": 2, "eos_token_id": 0, "decoder_start_token_id": 2}
    sizes: dict[str, Any] = {"vocab_size": source, "decoder_vocab_size": target, "max_position_embeddings": 64}
    save("MarianMTModel", tmp_path / "theirs", share_encoder_decoder_embeddings=False, **sizes, **tokens)
    said = {**tokens, "max_length": 20, "num_beams": 3, "bad_words_ids": [[2]]}
    (tmp_path / "theirs" / "generation_config.json").write_text(json.dumps(said))
    model, report = read_foreign(tmp_path / "theirs", Model)
    assert "target.spm" not in report.settings_aside
    for text in FRENCH:
        assert model.tokenizer.target.encode(text).ids == tokenizer(text_target=text)["input_ids"]
    write_foreign(model, tmp_path / "again")
    again, _ = read_foreign(tmp_path / "again", Model)
    theirs: Any = transformers.MarianMTModel.from_pretrained(tmp_path / "theirs", dtype=torch.float64)
    for mine in (model, again):
        mine.module.double()
        for text in ENGLISH:
            answer = theirs.generate(**tokenizer(text, return_tensors="pt"))[0]
            assert mine.translate(text).translation == tokenizer.decode(answer, skip_special_tokens=True).strip()


def test_without_sentencepiece_an_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("source.spm", "target.spm"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "vocab.json").write_text(json.dumps({"</s>": 0, "<unk>": 1, "<pad>": 2}))
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with refused(MissingExtraError, wanted="sentencepiece", do="pip install 'glassformer[sentencepiece]'"):
        load_tokenizer(tmp_path)


def test_a_vocabulary_without_padding_is_refused(tmp_path: Path) -> None:
    for name in ("source.spm", "target.spm"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "vocab.json").write_text(json.dumps({"</s>": 0, "<unk>": 1}))
    with refused(TokenizerError, wanted=str(tmp_path / "vocab.json"), got="<pad>"):
        load_tokenizer(tmp_path)


def test_a_damaged_model_and_one_of_another_kind_are_refused(tmp_path: Path) -> None:
    pieces(tmp_path)
    whole = (tmp_path / "source.spm").read_bytes()
    (tmp_path / "source.spm").write_bytes(whole[: len(whole) // 2])
    with refused(TokenizerError, wanted=str(tmp_path / "source.spm")):
        load_tokenizer(tmp_path)
    (tmp_path / "source.spm").unlink()
    pieces(tmp_path, model_type="bpe")
    with refused(TokenizerError, wanted=str(tmp_path / "source.spm"), got="another"):
        load_tokenizer(tmp_path)
