"""A search on a terminal: every line fits, however deep it is, and blanks of tokens can be seen."""

import re

import pytest

from glassformer.base.lines import columns_of
from glassformer.decode.record import Fate, Node
from glassformer.decode.settings import DecodeSettings
from glassformer.look.texts.tree import SearchTree, tree_lines

DEEP = 60


def node(number: int, step: int, parent: int | None, token: int, fate: Fate) -> Node:
    total = -float(step + 1)
    return Node(
        number=number, step=step, parent=parent, token=token, log_probability=-1.0, total=total, score=total, rank=1,
        hypothesis=0, fate=fate, finished=fate == "answer",
    )  # fmt: skip


@pytest.fixture(scope="module")
def tree() -> SearchTree:
    """A way of many steps, each with another token that was not taken."""
    nodes: list[Node] = []
    parent = None
    for step in range(DEEP):
        way = node(len(nodes), step, parent, 1 + step % 3, "answer" if step == DEEP - 1 else "kept")
        nodes += [way, node(len(nodes) + 1, step, parent, 0, "unlikely")]
        parent = way.number
    texts = {0: " ", 1: " likes", 2: "ing", 3: " mountains"}
    return SearchTree(DecodeSettings(), None, (0,), tuple(nodes), texts)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_deep_levels_fit_and_have_their_number_and_words(tree: SearchTree, width: int) -> None:
    lines = list(tree_lines(tree, width))
    assert max(map(columns_of, lines)) <= width
    numbered = {int(found[1]): found[2] for line in lines if (found := re.fullmatch(r" +(\d+) [▶·] (\S+) .*", line))}
    assert max(numbered) == DEEP - 1
    assert [*numbered] == list(range(min(numbered), DEEP))
    assert 5 < min(numbered) <= width // 4
    words = ("▁likes", "ing", "▁mountains")
    assert all(words[level % 3].startswith(word.removesuffix("…")) for level, word in numbered.items())


def test_a_blank_alone_can_be_seen(tree: SearchTree) -> None:
    lines = list(tree_lines(tree))
    assert sum("less likely: ▁ -" in line for line in lines) == DEEP
