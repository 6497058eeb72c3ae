"""Cells called by words."""

import pytest

from glassformer.base.errors import UnknownNameError
from glassformer.look.formulas.named import read_cell, split_name
from glassformer.look.trace.cell import Axes, Words, find_cell, find_word, name_cell
from tests.look.rows import ANSWERS, ATTENTION, SENTENCE, VOCABULARY, slides_trace
from tests.refusals import refused

WORDS = Words(inputs=[SENTENCE], vocabulary=VOCABULARY, labels=("no", "yes"), answers=ANSWERS)
WEIGHTS = Axes("weights", ("sentence", "head", "query", "key"), (1, 2, 5, 5))


@pytest.mark.parametrize(
    ("asked", "cell"),
    [
        ("head=1,query=likes,key=She", (0, 1, 1, 0)),
        ("head=1, query=the , key=better", (0, 1, 2, 4)),
        ("[head=1,query=likes,key=She]", (0, 1, 1, 0)),
        ("[head=0,key=0,query=[MASK]@2]", (0, 0, 2, 0)),
        ("head=0,query=[MASK]@2,key=-1", (0, 0, 2, 4)),
        ("key=0,query=3,head=1,sentence=0", (0, 1, 3, 0)),
        ('head=0,query="She",key="[MASK]"@1', (0, 0, 0, 1)),
    ],
)
def test_words_and_indices(asked: str, cell: tuple[int, ...]) -> None:
    assert tuple(find_cell(WEIGHTS, read_cell(asked), WORDS).values()) == cell


@pytest.mark.parametrize(
    ("asked", "wanted", "got", "do"),
    [
        ("head=0,query=[MASK],key=0", "'[MASK]'", "[1, 2]", "query=[MASK]@1, query=[MASK]@2"),
        ("head=0,query=her,key=0", "query 'her' in weights", "", "'She'"),
        ("head=0,query=She@3,key=0", "'She'", "", "[0]"),
        ("head=0,query=0", "key (0 to 4)", "", "sentence, head, query, key"),
        ("head=2,query=0,key=0", "head of weights counts from 0 to 1", "2", ""),
        ("hed=1,query=0,key=0", "'hed'", "", "'head'"),
        ("head", "axis=word", "head", ""),
    ],
)
def test_what_cannot_be_found(asked: str, wanted: str, got: str, do: str) -> None:
    with refused(UnknownNameError, wanted=wanted, got=got, do=do):
        find_cell(WEIGHTS, read_cell(asked), WORDS)


def test_vocabulary_labels_and_places() -> None:
    axes = Axes("head.logits", ("place", "vocabulary"), (2, 15), positions=((0, 1), (0, 2)))
    assert find_cell(axes, {"place": "the", "vocabulary": "cook"}, WORDS) == {"place": 1, "vocabulary": 8}
    labels = Axes("sentence_head.logits", ("sentence", "label"), (1, 2))
    assert find_cell(labels, {"label": "yes"}, WORDS) == {"sentence": 0, "label": 1}
    with refused(UnknownNameError, do="no, yes"):
        find_cell(labels, {"label": "perhaps"}, WORDS)


@pytest.mark.parametrize(
    ("asked", "index", "named"),
    [("[MASK]@1", 0, "[MASK]@1"), ("[MASK]@4", 1, "[MASK]@4"), ("[MASK]@0", 2, "[MASK]@0"), ("-1", 3, "cook")],
)
def test_a_place_is_named_by_the_position_of_its_token_in_the_text(asked: str, index: int, named: str) -> None:
    """The axis counts 0, 1, 2; `@` counts the tokens of the text."""
    words = Words(inputs=[["She", "[MASK]", "the", "summer", "[MASK]"], ["[MASK]", "cook"]], vocabulary=VOCABULARY)
    axes = Axes("head.logits", ("place", "vocabulary"), (4, 15), positions=((0, 1), (0, 4), (1, 0), (1, 1)))
    cell = find_cell(axes, {"place": asked, "vocabulary": "cook"}, words)
    assert cell["place"] == index
    assert name_cell(axes, cell, words)["place"] == named
    assert find_cell(axes, {"place": named, "vocabulary": "cook"}, words) == cell


def test_places_that_words_cannot_tell_apart_are_called_by_their_indices() -> None:
    words = Words(inputs=[["a", "[MASK]"], ["a", "[MASK]"]])
    axes = Axes("head.hidden", ("place",), (2,), positions=((0, 1), (1, 1)))
    assert [name_cell(axes, {"place": index}, words)["place"] for index in (0, 1)] == ["0", "1"]
    with refused(UnknownNameError, wanted="'[MASK]'", do="place=0, place=1"):
        find_cell(axes, {"place": "[MASK]@1"}, words)


def test_the_mark_of_a_blank_may_be_left_out() -> None:
    words = Words(inputs=[["al", "\u0120the", "\u2581sea", "the", "\u0120b"]], vocabulary=("b", "\u0120b", "\u0120sea"))
    axes = Axes("x", ("token", "vocabulary"), (5, 3))
    assert find_cell(axes, {"token": "sea", "vocabulary": "sea"}, words) == {"token": 2, "vocabulary": 2}
    assert find_cell(axes, {"token": "\u0120the", "vocabulary": "b"}, words) == {"token": 1, "vocabulary": 0}
    with refused(UnknownNameError, do="token=the@1, token=the@3"):
        find_cell(axes, {"token": "the", "vocabulary": 0}, words)
    for token in range(5):
        asked = name_cell(axes, {"token": token, "vocabulary": 1}, words)
        assert find_cell(axes, asked, words) == {"token": token, "vocabulary": 1}


def test_a_number_that_heads_and_queries_share_is_found_by_any_of_them() -> None:
    found = slides_trace()
    name = f"{ATTENTION}.may_look"
    assert found[name].shape == (1, 1, 1, 5)
    asked = [
        found.explain(f"{name}[head={head},query={query},key=[MASK]@1]") for head in (0, 1) for query in (0, "likes")
    ]
    assert {(each.where, each.value) for each in asked} == {("key=(likes)", 0.0)}
    with refused(UnknownNameError, wanted=f"{name} counts from 0 to 1", got="2"):
        found.explain(f"{name}[head=2,query=0,key=0]")


def test_the_words_of_each_side() -> None:
    words = Words(inputs=[["she", "reads"]], decoder_inputs=[["sie", "liest", "nie"]])
    crossing = Axes("weights", ("sentence", "head", "query", "key"), (1, 1, 3, 2), "decoder_inputs", "inputs")
    assert find_cell(crossing, {"query": "nie", "key": "reads"}, words)["query"] == 2
    with refused(UnknownNameError, wanted="key 'nie'"):
        find_cell(crossing, {"query": "nie", "key": "nie"}, words)


def test_the_name_of_a_cell_finds_it_again() -> None:
    words = Words(inputs=[["a", "3", ",", "a", "x@1", 'quo"te', '"', ',"', '",']])
    axes = Axes("weights", ("query", "key"), (9, 9))
    for query in range(9):
        asked = name_cell(axes, {"query": query, "key": 0}, words)
        text = ",".join(f"{axis}={index}" for axis, index in asked.items())
        assert find_cell(axes, read_cell(text), words) == {"query": query, "key": 0}


def test_names_with_brackets() -> None:
    assert split_name("a.b[head=1,query=[MASK]@2]") == ("a.b", "head=1,query=[MASK]@2")
    with refused(UnknownNameError, got="a.b[head=1"):
        split_name("a.b[head=1")


def test_a_hidden_word_in_brackets_finds_its_place_again() -> None:
    answers = {(0, 1): "the", (0, 2): "the", (1, 1): "cat", (1, 2): "3,4"}
    rows = [["a", "[MASK]", "[MASK]", "(the)"], ["a", "[MASK]", "[MASK]", "cat"]]
    words = Words(inputs=rows, answers=answers)
    axes = Axes("logits", ("place",), (4,), positions=tuple(answers))
    shown = [name_cell(axes, {"place": place}, words)["place"] for place in range(4)]
    assert shown == ["(the)@1", "(the)@2", "(cat)", "3"]
    for place, name in enumerate(shown):
        assert find_cell(axes, read_cell(f"place={name}"), words) == {"place": place}


@pytest.mark.parametrize(
    ("asked", "place"),
    [("walking", 1), ("the", 0), ("walk", 1), ("sun", 4), ("2", 2), ('"2"', 5), ("2@5", 5), ("moon", 6), ("(moon)", 6)],
)
def test_a_word_of_a_text_is_found_by_its_name_its_place_or_its_beginning(asked: str, place: int) -> None:
    words = Words(inputs=[["the", "walk", "##ing", "##s", "Ġsun", "2", "[MASK]"]], answers={(0, 6): "moon"})
    if asked == "walking":
        words = Words(inputs=[["the", "walk", "##ing", "Ġsun"]])
    assert find_word(words, asked, option="--word") == place


def test_a_word_that_occurs_twice_is_chosen_by_its_place() -> None:
    words = Words(inputs=[["the", "dog", "Ġthe", "cat"]])
    assert find_word(words, "the@2", option="--word") == 2
    with refused(UnknownNameError, got="2 in the text", do="--word the@0, --word the@2"):
        find_word(words, "the", option="--word")
    with refused(UnknownNameError, do="dog"):
        find_word(words, "dig", option="--word")
    with refused(UnknownNameError, wanted="0 to 3", got="4"):
        find_word(words, "4", option="--word")


def test_a_trace_takes_cells_in_its_names() -> None:
    found = slides_trace()
    one = found.explain(f"{ATTENTION}.weights[head=1,query=likes,key=She]")
    two = found.explain(f"{ATTENTION}.weights", {"head": 1, "query": 1, "key": "She"})
    assert one == two
    assert one.where == "head=1,query=(likes),key=She"
    assert found.explain(f"{ATTENTION}.weights[{one.where}]") == one
    assert found.explain("head.logits[place=likes,vocabulary=cook]").cell == {"place": 0, "vocabulary": 8}
    with refused(UnknownNameError, do="query=[MASK]@1, query=[MASK]@2"):
        found.explain(f"{ATTENTION}.weights[head=1,query=[MASK],key=She]")


def test_a_word_is_found_in_the_case_of_its_text() -> None:
    words = Words([["[CLS]", "she", "likes", "May", "may", "[SEP]"]])
    assert find_word(words, "She", option="--word") == 1
    assert find_word(words, "May", option="--word") == 3
    with refused(UnknownNameError, wanted="--word", got="MAY"):
        find_word(words, "MAY", option="--word")
