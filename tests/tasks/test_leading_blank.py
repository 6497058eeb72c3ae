"""`tokenizer.leading_blank`: the first word of a text is the same token as inside, and nobody sees the blank."""

from pathlib import Path
from typing import Any

import pytest
import tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from glassformer.api.model import Model
from glassformer.base.errors import ConfigError, TokenizerError
from glassformer.decode.request import forbidden_ids
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.saved.foreign import read_foreign, write_foreign
from glassformer.saved.recipe import resolve
from glassformer.tasks.writing.translation import unknown_characters
from glassformer.text.load import load_tokenizer
from glassformer.text.special import MARIAN
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import Kind, train_tokenizer
from glassformer.training.progress import NoProgress
from tests.contracts.tasks import TASKS
from tests.refusals import refused
from tests.translators import ENGLISH, FRENCH, translating

TEXTS = [
    *ENGLISH,
    *FRENCH,
    "winter",
    "Winter.",
    "été",
    "«été», l'été",
    "\U00020000 winter",
    "the  winter",
    "a",
    "1 winter",
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    texts = [*ENGLISH, *FRENCH] * 3
    return train_tokenizer("bpe", texts, vocabulary=330, lowercase=False, leading_blank=True, special=MARIAN)


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer) -> Model:
    plain = translating()
    assert plain.tokenizer.vocabulary_size == tokenizer.vocabulary_size
    return Model(plain.module, tokenizer, length=24)


def test_a_word_alone_is_the_token_that_it_is_inside_a_text(tokenizer: Tokenizer) -> None:
    (alone,) = tokenizer.ids("the")
    inside = tokenizer.encode(ENGLISH[0], special=False)
    assert [inside.tokens[place] for place, id_ in enumerate(inside.ids) if id_ == alone] == ["Ġthe"] * 2
    assert tokenizer.encode("", special=False).ids == []


def test_texts_come_back_without_the_blank_as_other_programs_read_them(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tokenizer.save(tmp_path)
    theirs, raw = PreTrainedTokenizerFast(tokenizer_file=str(path)), tokenizers.Tokenizer.from_file(str(path))
    again = load_tokenizer(tmp_path)
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        assert again.encode(text).ids == theirs(text)["input_ids"] == raw.encode(text).ids == ids
        assert again.decode(ids) == theirs.decode(ids, skip_special_tokens=True) == raw.decode(ids) == text


def test_places_in_a_text_are_those_of_its_characters(tokenizer: Tokenizer) -> None:
    for text in TEXTS:
        found = tokenizer.encode(text, special=False)
        assert found.offsets[0][0] == 0
        assert found.offsets[-1][1] == len(text)
        parts = [text[start:end] for start, end in found.offsets]
        written = [tokenizer.text(id_).strip() for id_ in found.ids]
        whole = [(part, its) for part, its in zip(parts, written, strict=True) if its.isascii() and "<0x" not in its]
        assert all(part.strip() == its for part, its in whole if its)
    assert unknown_characters(tokenizer, "Elle aime l'été") == ""
    assert unknown_characters(tokenizer, "\U00020000 winter") == "\U00020000"


def test_a_translation_has_no_blank_before_it_also_word_by_word(model: Model) -> None:
    for text in ENGLISH:
        found = model.translate(text, beams=2, max_tokens=12)
        assert found.translation == found.translation.strip() != ""
        assert "".join(model.stream_translation(text, beams=2, max_tokens=12)) == found.translation
        begins = [each for each in found.tokens if each.end > each.start]
        assert begins[0].start == 0
        for each in begins:
            assert found.translation[each.start : each.end] in each.text or not each.text.isascii()


def test_words_put_first_and_forbidden_are_found_at_each_place(model: Model, tokenizer: Tokenizer) -> None:
    begun = model.translate(ENGLISH[1], max_tokens=10, prefix="Elle aime")
    assert begun.translation.startswith("Elle aime")
    spellings = forbidden_ids(["hiver"], tokenizer.ids)
    for text in ("hiver", "l'hiver", "un hiver", "«hiver»"):
        ids = tokenizer.ids(text)
        places = [(start, start + len(word)) for word in spellings for start in range(len(ids))]
        assert any(tuple(ids[start:end]) in spellings for start, end in places), text


def test_an_export_keeps_the_blank(model: Model, tmp_path: Path) -> None:
    write_foreign(model, tmp_path)
    back, _ = read_foreign(tmp_path, Model)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        ids = model.tokenizer.encode(text).ids
        assert back.tokenizer.encode(text).ids == theirs(text)["input_ids"] == ids
        assert back.tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=True) == text
    assert back.translate(ENGLISH[0], beams=1, max_tokens=8) == model.translate(ENGLISH[0], beams=1, max_tokens=8)


def prepared(task: str, folder: Path, **changes: Any) -> Prepared:
    row = next(row for row in TASKS if row.task == task)
    named = {name.replace("__", "."): value for name, value in changes.items()}
    return prepare_run(resolve(row.recipe(folder), named), folder / "run", NoProgress())


def test_a_run_of_pairs_learns_both_sides_with_it_and_other_runs_refuse_it(tmp_path: Path) -> None:
    made = prepared("translate", tmp_path, tokenizer__leading_blank=True, tokenizer__shared=False)
    for side in made.tokenizer.sides:
        assert side.settings["pre_tokenizer"]["pretokenizers"][0]["add_prefix_space"]
        assert side.encode("a", special=False).tokens[0].startswith("Ġ")
    with refused(ConfigError, wanted="tokenizer.leading_blank", got=("unigram", "translate")):
        prepared("translate", tmp_path, tokenizer__leading_blank=True, tokenizer__kind="unigram")
    with refused(ConfigError, wanted="tokenizer.leading_blank", got="language-model"):
        prepared("language-model", tmp_path, tokenizer__leading_blank=True)


@pytest.mark.parametrize("kind", ["wordpiece", "unigram", "words"])
def test_other_kinds_refuse_it(kind: Kind) -> None:
    with refused(TokenizerError, got=kind, do="leading_blank"):
        train_tokenizer(kind, ENGLISH, vocabulary=300, leading_blank=True)
