"""Sentences are cut where they end, in no other place; nothing of a text is lost when it is put together again."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.base.errors import ShapeError
from glassformer.data.readers.paragraphs import Sentence, join_sentences, split_sentences
from tests.refusals import refused


def sentences(text: str) -> list[str]:
    return [text[each.start : each.end] for each in split_sentences(text)]


def parts(text: str, most: int) -> list[str]:
    """One token for each character."""
    return [text[each.start : each.end] for each in split_sentences(text, length=len, most=most)]


@pytest.mark.parametrize(
    "marked",  # | stands where a sentence begins
    [
        "I am a student. |You are not! |Why? |3 of us are.",
        "Mr. Smith met Dr. J. K. Rowling. |Mrs. Jones did not.",
        "It costs 3.50 dollars, e.g. Two for 7. |See p. 12 and Fig. 3. |Cf. Knuth 1997, vol. 2.",
        "He came at 5 a.m. |She left on Jan. 5. |The company, Smith Inc., knew it.",
        "I said no. |Then she saw me. |He left, etc. |All was over.",
        "He answered no. 5. |No. |Nothing else.",
        "They live in the U.S. Army base.",
        '"Stop!" he said. |"I will not." |(Really?) |[He did.]',
        "“Stop!” she said. |‘No.’ |She went.",
        "Il vint... |Elle partit… |Et après ?! |Rien.",
        "M. Dupont et Mme. Martin vinrent. |MM. Durand aussi. |Av. J.-C. Rome existait, p.ex. Ostie.",
        "« Venez. » |Il partit. |« Vraiment ? » |Oui !",
        "Il dit : « Non. » |Elle rit.",
        "Quoi ? |Rien ! |C’est n°. 5 ; voilà.",
        "— Oui. |— Non ! |— Pourquoi ? demanda-t-il.",
        "¿Qué? |¡Nada! |Él es así. |¿Y tú?",
        "Das ist z.B. Berlin. |Hr. Meier wohnt dort.",
        "Am 3. Mai war es kalt. |Im 19. Jahrhundert waren es 20. |Maiers kamen 1990. |Mai war es.",
        "我是学生。|你呢？|他说：「不。」|好！",
        "هو طالب. |هل أنت؟ |نعم.",
        "वह छात्र है। |तुम कौन हो?",
        "ის მოვიდა. |ის წავიდა.",
        "1. First things first. |Then the rest.\n|2. Second.\n|a. Third.",
        "A title without a stop\n|And its text. |\n\n|More",
        "lower case. stays one, and 3.14 too",
        "   |Blank around.   \n\n",
        "e\u0301te\u0301. |E\u0301te\u0301.",
    ],
)
def test_sentences_begin_where_they_do(marked: str) -> None:
    expected = [part.strip() for part in marked.split("|")]
    assert sentences(marked.replace("|", "")) == [part for part in expected if part]


@pytest.mark.parametrize("text", ["", " ", "\n \n", "\u00a0\u3000"])
def test_blanks_are_no_sentence(text: str) -> None:
    assert split_sentences(text) == []
    assert join_sentences(text, [], []) == text


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        ("one two; three four, five", 18, ["one two;", "three four, five"]),  # the best mark, not the last
        ("one two three, four five", 18, ["one two three,", "four five"]),
        ("one, two three four five", 14, ["one, two three", "four five"]),  # a mark at the beginning says little
        ("one two three", 8, ["one two", "three"]),
        ("10:30, 3,5 and more", 9, ["10:30,", "3,5 and", "more"]),  # no cut inside numbers
        ("我是学生，你是老师，他是谁", 6, ["我是学生，", "你是老师，", "他是谁"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("e\u0301" * 5, 3, ["e\u0301"] * 5),
        ("short. Also short.", 12, ["short.", "Also short."]),
        ("xyz", 1, ["x", "y", "z"]),
    ],
)
def test_a_sentence_that_is_too_long_is_cut_at_its_marks(text: str, most: int, expected: list[str]) -> None:
    assert parts(text, most) == expected


def test_parts_of_a_sentence_are_distinguished() -> None:
    found = split_sentences("Short. One two three; four five six.", length=len, most=16)
    assert found == [Sentence(0, 6, 1, 1), Sentence(7, 21, 1, 2), Sentence(22, 36, 2, 2)]


def test_a_letter_of_many_tokens_is_a_part_of_its_own() -> None:
    found = split_sentences("a😀b", length=lambda text: len(text.encode()), most=2)
    assert [each.start for each in found] == [0, 1, 2]


@settings(deadline=None)
@given(
    st.text(alphabet=st.sampled_from("ab.,;:!?… \n\t\u00a0«»\"'—()1Aé\u0301\u200d。，我"), max_size=60),
    st.integers(1, 9),
)
def test_nothing_is_lost_and_all_fits(text: str, most: int) -> None:
    for found in (split_sentences(text), split_sentences(text, length=len, most=most)):
        inside = [text[each.start : each.end] for each in found]
        assert join_sentences(text, found, inside) == text
        assert all(part and part == part.strip() for part in inside)
        assert join_sentences(text, found, [""] * len(found)).strip() == ""
    assert all(len(part) <= most for part in inside)


def test_blanks_and_lines_between_sentences_stay() -> None:
    text = "\tTitle\n\n  One.  Two;\u00a0three.\r\n\n* Four\n"
    found = split_sentences(text, length=len, most=8)
    assert join_sentences(text, found, [str(number) for number in range(len(found))]) == "\t0\n\n  1  2\u00a03\r\n\n4\n"


def test_another_number_of_translations_is_refused() -> None:
    with refused(ShapeError, wanted="2", got="1"):
        join_sentences("One. Two.", split_sentences("One. Two."), ["Un."])


@pytest.mark.parametrize("unit", ["x", "x ", ".", "a.\u00a0", "我", "x, ", '."', "1. "])
def test_an_endless_line_takes_no_square_of_time(unit: str) -> None:
    """100,000 characters; a length that reads the whole rest for each part would read 100 times as much."""
    text = unit * (100_000 // len(unit))
    read = 0

    def length(part: str) -> int:
        nonlocal read
        read += len(part)
        return len(part)

    began = time.process_time()
    found = split_sentences(text, length=length, most=100)
    assert join_sentences(text, found, [text[each.start : each.end] for each in found]) == text
    assert read <= 30 * len(text)
    assert time.process_time() - began < 10  # seconds; about 1 at most
