"""The word that was hidden, given to `fill` and `explain`: as the tokens that it has, each with its probability."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import glassformer as gf
from glassformer.base.errors import ConfigError, DataError
from glassformer.cli.__main__ import main
from glassformer.page.documents import expected
from glassformer.tasks.words.guesses import expected_tokens
from glassformer.text.special import BERT
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer

MASKED = replace(BERT, mask="<mask>")
SKIT = "Let's stick to [MASK] in this skit"


@pytest.fixture(scope="module")
def english() -> gf.Model:
    return gf.load("english")


def test_a_word_of_several_tokens_is_hidden_whole(english: gf.Model) -> None:
    """What `fill` answers is what the run itself computes where as many tokens are masked."""
    found = english.fill(SKIT, expect=["improvisation"])
    (word,) = found.expected
    text, (ids,) = expected_tokens(english.tokenizer, SKIT, ["improvisation"])
    assert found.text == text == SKIT.replace("[MASK]", "[MASK]" * len(ids))
    assert len(word.tokens) == len(found.masks) == len(ids) > 1
    assert english.tokenizer.decode(ids) == "improvisation"
    probabilities = english.trace(text)["head.probabilities"]  # [N, V]
    for place, (id_, piece) in enumerate(zip(ids, word.tokens, strict=True)):
        assert piece.probability == pytest.approx(float(probabilities[place, id_]), rel=1e-4)
        assert piece.rank == int((probabilities[place] > probabilities[place, id_]).sum()) + 1


def test_each_mask_has_its_word_and_without_words_nothing_changes(english: gf.Model) -> None:
    (one, two) = english.fill("She [MASK] the [MASK].", expect=["likes", "summer"]).expected
    assert (one.word, two.word) == ("likes", "summer")
    plain, found = english.fill(SKIT), english.fill(SKIT, expect=["it"])
    assert plain.masks == found.masks
    assert "expected" not in plain.to_dict()
    best = plain.masks[0].guesses[0]
    assert (found.expected[0].tokens[0].probability, found.expected[0].tokens[0].rank) == (best.probability, 1)


def test_more_guesses_ask_the_tokenizer_no_more_often(english: gf.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call keeps what the library prints from the screen, which takes longer than to decode a token."""
    calls = list[int]()
    batch = Tokenizer.decode_batch

    def counted(self: Tokenizer, rows: Sequence[Sequence[int]], *, skip_special: bool = True) -> list[str]:
        calls.append(len(rows))
        return batch(self, rows, skip_special=skip_special)

    monkeypatch.setattr(Tokenizer, "decode_batch", counted)
    few, many = english.fill(SKIT, top=2), english.fill(SKIT, top=500)
    assert calls == [1 + 2, 2, 1 + 500, 500]  # with the token before, and alone
    assert many.masks[0].guesses[:2] == few.masks[0].guesses


@pytest.mark.parametrize("words", [["it", "that"], ["漢字"], [" "]])
def test_words_that_do_not_fit_are_refused(english: gf.Model, words: list[str]) -> None:
    with pytest.raises(DataError):
        english.fill(SKIT, expect=words)
    with pytest.raises(ConfigError):
        english.ask("score", SKIT, options={"expect": words})


@pytest.mark.long
def test_explain_and_its_page_tell_the_hidden_word(
    english: gf.Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "english", SKIT, "--expect", "improvisation", "--json"]) == 0
    steps = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (step,) = (step for step in steps if "improvisation" in step["title"])
    pieces = english.fill(SKIT, expect=["improvisation"]).expected[0].tokens
    for (token, (probability, rank)), piece in zip(step["tables"][0]["rows"], pieces, strict=True):
        assert (token, rank) == (piece.token, piece.rank)
        assert probability == pytest.approx(piece.probability, rel=1e-4)
    assert main(["explain", "english", SKIT, SKIT, "--expect", "it"]) == 2
    assert main(["explain", "writer", SKIT, "--expect", "it"]) == 2
    assert expected(english.trace(SKIT)) == []


def test_the_mask_of_the_tokenizer_is_one_to_expect_a_word_at() -> None:
    tokenizer = train_tokenizer("wordpiece", ["the dog sees the cat"] * 20, vocabulary=320, special=MASKED)
    once = expected_tokens(tokenizer, "the [MASK] sees the [MASK]", ["dog", "cat"])
    assert expected_tokens(tokenizer, "the <mask> sees the [MASK]", ["dog", "cat"]) == once
    with pytest.raises(DataError):
        expected_tokens(tokenizer, "the <mask> sees the [MASK]", ["dog"])
