"""Words of the settings become tokens, in each spelling that a tokenizer has for them."""

import pytest

import glassformer as gf
from glassformer.base.errors import ConfigError
from glassformer.decode.loop import decode
from glassformer.decode.request import ForcedWord, contains, forbidden_ids, forced_words, occurs, with_marks
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.step import Wanted
from glassformer.text.words import spellings
from tests.decode.sentences import BEAM, IDS, answers, named, requests, words
from tests.refusals import refused

PIECES = {"a": 9, " a": 10, "cat": 3, " cat": 4, "fish": 5, " fish": 6, "er": 7, "c": 8, "-": 12}


def ids_of(text: str) -> list[int]:
    """The longest pieces, from left to right; a space belongs to the word after it."""
    found = []
    while text:
        piece = next(text[:size] for size in range(len(text), 0, -1) if text[:size] in PIECES)
        found.append(PIECES[piece])
        text = text[len(piece) :]
    return found


def test_a_word_has_a_spelling_for_each_place() -> None:
    assert forbidden_ids(("cat", "cat fish", "cat"), ids_of) == ((3,), (4,), (3, 6), (4, 6))
    assert forced_words(("fisher", " cat ", "cat"), ids_of) == (
        ForcedWord((6, 7), (5, 7), "fisher"),
        ForcedWord((4,), (3,), "cat"),
    )


def test_a_long_text_has_its_shortest_spellings() -> None:
    tokenizer = gf.load("writer").tokenizer
    usual = tuple(tokenizer.ids("I am not a man, but I am not a king"))
    found = spellings(tokenizer, usual)
    assert len(found) == len(set(found)) == 1000
    assert usual in found
    assert [len(each) for each in found] == sorted(len(each) for each in found)
    assert {tokenizer.decode(each) for each in found} == {tokenizer.decode(usual)}


def test_a_forbidden_word_is_forbidden_in_all_its_tokens() -> None:
    model = gf.load("en-fr")
    tokenizer = model.tokenizer.target
    usual = tokenizer.ids("chiens")
    found = spellings(tokenizer, usual)
    assert found[0] == tuple(usual)
    assert len(found) == len(set(found)) > 10
    assert {tokenizer.decode(ids).strip() for ids in found} == {"chiens"}
    text = "Two dogs are running."
    assert "chiens" in model.translate(text).translation
    for beams in (1, 5):
        assert "chiens" not in model.translate(text, forbidden="chiens", beams=beams).translation


def test_where_words_cannot_be_separated_the_word_is_taken_alone() -> None:
    def joined(text: str) -> list[int]:
        return [len(text)]

    assert forced_words(("cat",), joined) == (ForcedWord((3,), (3,), "cat"),)


def test_what_contains_a_word() -> None:
    for text in ("cat", "a cat.", "l'cat", "(cat)", "no-cat"):
        assert contains(text, "cat")
    for text in ("cats", "a scat", "Cat", "cat2", "électricat"):
        assert not contains(text, "cat")
    assert contains("100 % sure", "% sure")
    assert contains("say: ça va?", "ça va?")
    assert contains("a.b", ".")


def test_words_of_the_settings_hold_for_every_request() -> None:
    model = named("marian").model()
    asked = requests(model, 4, forced=words((11,)))
    settings = BEAM.model_copy(update={"forced": ("fisher",), "forbidden": ("cat", "a")})
    for found in answers(model, asked, settings, ids_of=ids_of, slots=2, forced=True).values():
        assert found
        for answer in found:
            assert occurs((6, 7), answer.ids) or answer.ids[:2] == (5, 7)
            assert 11 in answer.ids
            assert not {3, 4, 9, 10} & set(answer.ids)


def test_a_mark_is_forbidden_in_every_token_that_has_it() -> None:
    pieces = ("", " cat", ".", " dog.\u201d", "\u2026", " a.b")
    assert with_marks((".", "cat"), lambda ids: "".join(pieces[id_] for id_ in ids), len(pieces)) == ((2,), (3,), (5,))


def test_a_word_has_limits_where_its_script_has_blanks() -> None:
    assert contains("the cat, it is", "cat")
    assert not contains("the cathedral", "cat")
    assert not contains("3.14 and 15", "5")
    assert contains("\u3053\u308c\u306fAI\u3067\u3059", "AI")  # Latin letters between kana
    assert contains("foo_bar", "foo")
    assert contains("\u79c1\u306f\u732b\u304c\u597d\u304d", "\u732b")  # Japanese: a cat between kana
    assert contains("\u0e09\u0e31\u0e19\u0e23\u0e31\u0e01\u0e41\u0e21\u0e27", "\u0e23\u0e31\u0e01")  # Thai


@pytest.mark.parametrize("words", ["forced", "forbidden"])
def test_words_without_a_tokenizer_are_refused(words: str) -> None:
    settings = DecodeSettings.model_validate({"method": "beam", "beams": 2, words: ("cat",)})
    with refused(ConfigError, wanted="ids_of", got="None"):
        list(decode(named("gpt2").model(), [], Wanted(settings, ids=IDS)))
