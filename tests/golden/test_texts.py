"""The small texts say what the source documents say."""

import tomllib
from importlib import resources

from glassformer.bundled.texts import quick_brown_fox, score_table, slides, thinking_machines


def test_the_slides_hide_four_of_fifteen_words() -> None:
    texts = slides()
    assert [sentence.masked for sentence in texts.sentences] == [
        "She [MASK] [MASK] summer better",
        "He loves to [MASK] healthy",
        "They go hiking quite [MASK]",
    ]
    assert [sentence.answers for sentence in texts.sentences] == [("likes", "the"), ("cook",), ("often",)]
    assert texts.sentences[0].text == "She likes the summer better"
    assert len(texts.vocabulary) == len(set(texts.vocabulary)) == 15


def test_the_mask_matrix_post() -> None:
    post = quick_brown_fox()
    assert post.sentence.masked == "the quick brown [MASK] jumps over the lazy dog"
    assert [len(row) for row in post.features] == [2] * 9
    assert [len(row) for row in post.matrix] == [9] * 9
    assert len(post.first_pair_vectors) == len(post.second_pair_vectors) == 9


def test_the_score_table_is_square() -> None:
    table = score_table()
    assert table.words == ("Hi", "how", "are", "you")
    assert {len(row) for row in (*table.scores, *table.weights)} == {4}
    assert len(table.scores) == len(table.weights) == 4


def test_thinking_machines() -> None:
    example = thinking_machines()
    assert example.words == ("Thinking", "Machines")
    assert (example.query_size, example.scores, example.scaled) == (64, (112.0, 96.0), (14.0, 12.0))


def test_each_table_in_the_package_is_toml_with_a_source() -> None:
    for entry in resources.files("glassformer.bundled").iterdir():
        if entry.name.endswith(".toml"):
            text = entry.read_text(encoding="utf-8")
            assert text.startswith("# "), f"{entry.name} does not say where its numbers come from"
            assert tomllib.loads(text)
