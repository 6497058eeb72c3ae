"""Masks that the data brings along."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from glassformer.data.given import GivenMasks, given_batch, read_all_given, read_given

from glassformer.data.corrupt import IGNORED
from glassformer.data.lines import Skipped
from glassformer.errors import DataError
from glassformer.text.special import SpecialTokens
from glassformer.text.train import Kind, train_tokenizer

SLIDES = ("She likes the summer better", "He loves to stay healthy", "They go hiking quite often")
GIVEN = (
    GivenMasks("She [MASK] [MASK] summer better", ("likes", "the")),
    GivenMasks("He loves to [MASK] healthy", ("stay",)),
    GivenMasks("They go hiking quite [MASK]", ("often",)),
)


def test_the_slides_sentences_with_their_four_masks() -> None:
    tokenizer = train_tokenizer("words", SLIDES, vocabulary=15, lowercase=False, special=SpecialTokens())
    batch, hidden = given_batch(GIVEN, tokenizer)
    assert batch.ids.shape == (3, 5)
    assert [tokenizer.decode(row) for row in batch.ids.tolist()] == list(SLIDES)
    assert np.argwhere(hidden.hidden).tolist() == [[0, 1], [0, 2], [1, 3], [2, 4]]
    assert (hidden.ids[hidden.hidden] == 0).all()
    assert [tokenizer.piece(int(id_)) for id_ in hidden.labels.flat[hidden.places]] == ["likes", "the", "stay", "often"]
    assert (hidden.labels[~hidden.hidden] == IGNORED).all()
    assert batch.real.all()
    assert not batch.special.any()


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram", "words"])
def test_answers_of_several_pieces_are_several_masks(kind: Kind) -> None:
    tokenizer = train_tokenizer(kind, SLIDES, vocabulary=300 if kind == "bpe" else 60, lowercase=False)
    batch, hidden = given_batch(GIVEN, tokenizer)
    for row, (example, text) in enumerate(zip(GIVEN, SLIDES, strict=True)):
        plain = tokenizer.encode(text)
        assert batch.ids[row, batch.real[row]].tolist() == plain.ids
        answer = hidden.labels[row, hidden.hidden[row]].tolist()
        assert tokenizer.decode(answer).split() == list(example.answers)
        assert (hidden.ids[row, hidden.hidden[row]] == tokenizer.mask_id).all()
    assert not (hidden.hidden & (batch.special | ~batch.real)).any()


def test_they_are_read_from_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps({"text": e.text, "answers": e.answers}) + "\n" for e in GIVEN))
    assert [(e.text, e.answers) for e in read_given(path)] == [(e.text, e.answers) for e in GIVEN]
    table = tmp_path / "x.tsv"
    table.write_text("text\tanswers\n" + "".join(f"{e.text}\t{' '.join(e.answers)}\n" for e in GIVEN))
    assert [(e.text, e.answers) for e in read_given(table)] == [(e.text, e.answers) for e in GIVEN]


def test_of_a_folder_only_the_tables_are_read(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("about these tables")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    with pytest.raises(DataError) as caught:
        read_all_given([tmp_path])
    assert str(tmp_path) in caught.value.wanted
    assert "notes.md" in caught.value.got
    assert "picture.png" in caught.value.got
    for number, example in enumerate(GIVEN):
        row = json.dumps({"text": example.text, "answers": example.answers})
        (tmp_path / f"{number}.jsonl").write_text(row + "\n")
    assert [example.text for example in read_all_given([tmp_path])] == [example.text for example in GIVEN]
    with pytest.raises(DataError, match=r"notes.md must be a table"):  # asked for by its own name
        read_all_given([tmp_path / "notes.md"])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "She [MASK]", "answers": ["likes", "the"]}, r"line 1: .* got 1 masks and 2 answers in 'She"),
        ({"text": "She likes", "answers": []}, r"needs \[MASK\] .* got 0 masks"),
        ({"text": "She [MASK]", "answers": [3]}, "must hold a text and a list of words; got 'She"),
        ({"text": "She [MASK].", "answers": [""]}, r"line 1: an answer must be a word; got an empty one in 'She"),
        ({"text": "She [MASK].", "answers": [" "]}, "an answer must be a word"),
        ({"text": "She [MASK]"}, "must have a column 'answers'"),
    ],
)
def test_rows_that_do_not_fit_are_named(row: dict[str, object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=message):
        list(read_given(path))
    bad = Skipped()
    assert list(read_given(path, bad=bad)) == []
    assert bad.count == 1


def test_an_answer_needs_a_mask() -> None:
    with pytest.raises(DataError, match="got 1 masks and 0 answers"):
        GivenMasks("[MASK]", ())


def test_an_answer_that_is_no_piece_is_refused_with_its_row() -> None:
    """Nothing would be asked there: the loss would be zero."""
    tokenizer = train_tokenizer("wordpiece", SLIDES, vocabulary=60)
    with pytest.raises(DataError, match=r"x.jsonl, line 2: an answer must be a word .* got '\\u200d'"):
        given_batch([*GIVEN, GivenMasks("She [MASK] [MASK]", ("likes", "\u200d"), "x.jsonl, line 2")], tokenizer)


def test_a_text_that_is_too_long_is_refused_with_its_row() -> None:
    tokenizer = train_tokenizer("words", SLIDES, vocabulary=60)
    longest = len(tokenizer.encode(SLIDES[0]))
    given_batch(GIVEN, tokenizer, length=longest)
    row = GivenMasks("She likes the summer [MASK] better", ("often",), "x.jsonl, line 4")
    with pytest.raises(DataError, match=rf"x.jsonl, line 4: .* a row of {longest} pieces; got {longest + 1} pieces"):
        given_batch([*GIVEN, row], tokenizer, length=longest)
