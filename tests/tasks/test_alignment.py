"""Words are aligned where the attention of their tokens was put."""

import numpy as np
import pytest

from glassformer.base.errors import ShapeError
from glassformer.tasks.writing.alignment import Link, align, owner_words
from glassformer.text.words import Span, find_words
from tests.refusals import refused

SOURCE, TARGET = "The black dogs.", "Les chiens noirs."
# The, black, dog, s, ., the end; Les, chi, ens, noirs, ., the end
SOURCE_TOKENS: list[Span] = [(0, 3), (3, 9), (10, 13), (13, 14), (14, 15), (0, 0)]
TARGET_TOKENS: list[Span] = [(0, 3), (3, 7), (7, 10), (10, 16), (16, 17), (0, 0)]
LOOKS_AT = [0, 2, 3, 1, 4, 5]
EXPECTED = ["The-Les", "dogs-chiens", "black-noirs", ".-."]


def planted(places: list[int], noise: float = 0.0) -> np.ndarray:
    table = np.full((len(places), len(SOURCE_TOKENS)), noise)
    table[range(len(places)), places] = 1
    return table / table.sum(axis=1, keepdims=True)


def aligned(attention: np.ndarray) -> list[Link]:
    return align(attention, SOURCE_TOKENS, TARGET_TOKENS, find_words(SOURCE), find_words(TARGET))


def in_words(links: list[Link]) -> list[str]:
    return [f"{SOURCE[slice(*link.source)]}-{TARGET[slice(*link.target)]}" for link in links]


def test_planted_attention_is_found() -> None:
    links = aligned(planted(LOOKS_AT))
    assert in_words(links) == EXPECTED
    assert [link.weight for link in links] == [1.0] * 4


def test_tokens_of_a_word_count_together() -> None:
    """`dog` and `s` have 0.3 each, `black` 0.4: the word `dogs` has more."""
    table = planted(LOOKS_AT)
    table[1] = table[2] = [0, 0.4, 0.3, 0.3, 0, 0]
    links = aligned(table)
    assert in_words(links) == EXPECTED
    assert links[1].weight == pytest.approx(0.6)


def test_attention_to_the_end_counts_for_no_word() -> None:
    table = 0.1 * planted(LOOKS_AT)
    table[:, 5] += 0.9
    links = aligned(table)
    assert in_words(links) == EXPECTED
    assert [link.weight for link in links] == pytest.approx([1.0] * 4)
    table[3] = np.eye(6)[5]
    assert in_words(aligned(table)) == ["The-Les", "dogs-chiens", ".-."]


def test_a_weight_is_the_share_of_the_attention_to_words() -> None:
    links = aligned(planted(LOOKS_AT, noise=0.2))
    assert len(links) == 4
    # A whole row has 1 + 5 · 0.2, of which 0.2 goes to the end; of two tokens of `dogs` one has the 1.
    assert [link.weight for link in links] == pytest.approx([1 / 1.8, 1.2 / 1.8, 1 / 1.8, 1 / 1.8])


def test_a_token_belongs_to_the_word_of_which_it_has_most() -> None:
    words = [(0, 3), (4, 9), (9, 10)]
    tokens = [(0, 2), (2, 6), (3, 4), (8, 10), (0, 0), (4, 4), (9, 30), (0, 10), (12, 14)]
    assert owner_words(words, tokens).tolist() == [0, 1, -1, 1, -1, -1, 2, 1, -1]
    assert owner_words([], tokens).tolist() == [-1] * 9
    assert owner_words(words, []).tolist() == []


def test_no_words_have_no_links() -> None:
    assert align(np.ones((1, 1)), [(0, 0)], [(0, 0)], [], []) == []
    assert align(np.ones((0, 1)), [(0, 3)], [], [(0, 3)], []) == []


def test_attention_of_other_tokens_is_refused() -> None:
    with refused(ShapeError, got=("[6, 5]", "6")):
        aligned(planted(LOOKS_AT)[:, :5])
