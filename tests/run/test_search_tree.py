"""The search for a translation as a tree: that of the travelling translator, and what is refused."""

import json
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import ConfigError, DataError
from glassformer.bundled.texts import slides_model
from glassformer.look.texts.tree import tree_lines
from tests.refusals import refused

TEXT = "A man is playing the guitar."


@pytest.fixture(scope="module")
def model() -> Model:
    return gf.load("en-fr")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"beams": 1},
        {"beams": 7, "n_best": 4, "prefix": "Un"},
        {"search": gf.DecodeSettings(method="beam", beams=4, coverage_penalty=0.3, length_penalty=1.0)},
        {"search": gf.DecodeSettings(method="beam", beams=4, forced=("guitare",), forbidden=("un",))},
        {"search": gf.DecodeSettings(method="sample", temperature=0.8, top_p=0.9, seed=3)},
    ],
)
def test_the_best_way_is_the_translation_to_the_bit(model: Model, more: dict[str, object]) -> None:
    options: dict[str, Any] = more
    tree, found = model.search_tree(TEXT, **options), model.translate(TEXT, **options)
    assert tree.best is not None
    path = tree.path(tree.best)
    assert tree.answer == found.translation
    assert tree.best.score == found.score
    prefix = len(tree.prompt) - 1
    assert [node.log_probability for node in path] == [each.log_probability for each in found.tokens][prefix:]
    if found.n_best:
        scores = dict[str, float]()
        for node in tree.answers[:4]:  # the same text in other tokens is another node, and no other translation
            scores.setdefault(model.tokenizer.decode(tree.decoder_ids(node)), node.score)
        assert list(scores.items()) == [(each.translation, each.score) for each in found.n_best]


def test_a_node_opens_as_a_trace_with_the_numbers_of_its_score(model: Model) -> None:
    tree = model.search_tree(TEXT)
    lost = [node for node in tree.nodes if node.fate == "below"]
    for node in (lost[3], lost[-1], tree.answers[0], tree.answers[-1]):
        ids = tree.decoder_ids(node)
        trace = model.trace(TEXT, target_ids=ids)
        assert trace.facts["decoder_inputs.ids"].tolist() == [list(ids)]
        scores = trace["head.log_probabilities"].double()
        # The search shares the probability of tokens that no answer has among the others.
        scores = scores - torch.log1p(-scores[:, list(tree.never)].exp().sum(dim=1, keepdim=True))
        for place, each in enumerate(tree.path(node)):
            assert float(scores[place, each.token]) == pytest.approx(each.log_probability, abs=2e-5)
    assert trace.origin is not None
    assert trace.origin.target_ids == (ids,)
    assert trace.verify().holds


def test_a_tree_is_written_as_json_and_as_text(model: Model) -> None:
    tree = model.search_tree(TEXT, beams=3)
    record = json.loads(json.dumps(tree.to_dict(), allow_nan=False))
    assert record["answers"] == [node.number for node in tree.answers]
    assert [node["number"] for node in record["nodes"]] == list(range(len(tree.nodes)))
    assert all(node["parent"] is None or node["parent"] < node["number"] for node in record["nodes"])
    lines = list(tree_lines(tree))
    assert all(len(line) <= 80 for line in lines)
    assert f"→ {tree.answer}" in lines
    assert any("answer 1" in line and f"{tree.answers[0].score:.3f}" in line for line in lines)


def test_beams_beyond_the_vocabulary_and_an_answer_without_words(model: Model) -> None:
    wide = gf.DecodeSettings(method="beam", beams=1000, max_tokens=2)
    assert len(model.search_tree("Dogs.", search=wide).steps) == 2
    tree = model.search_tree("Dogs.", search=gf.DecodeSettings(method="beam", beams=2, max_tokens=1))
    assert len(tree.steps) == 1
    # A model whose first token is its last: the answer has no words, and its trace reads the start alone.
    head = model.module.head
    assert head is not None
    assert head.bias is not None
    with torch.no_grad():
        before = head.bias.clone()
        head.bias[1] += 100.0
    try:
        empty = model.search_tree(TEXT)
        assert empty.answer == ""
        assert empty.best is not None
        assert empty.decoder_ids(empty.best) == empty.prompt
        assert "answer 1" in str(empty)
    finally:
        with torch.no_grad():
            head.bias.copy_(before)


def test_what_has_no_search_is_refused_in_a_sentence(model: Model) -> None:
    with pytest.raises(ConfigError, match="only a decoder writes"):
        gf.load(slides_model()).search_tree("She likes the summer")
    with pytest.raises(DataError, match="one sentence"):
        model.search_tree("  ")
    with pytest.raises(DataError, match="translated in"):
        model.search_tree("A man sleeps. " * 80)
    with pytest.raises(DataError, match="target tokens are numbers"):
        model.trace(TEXT, target_ids=[8000])
    with pytest.raises(DataError, match="target tokens are numbers"):
        model.trace(TEXT, target_ids=[])
    with pytest.raises(DataError, match="target tokens for each text"):
        model.trace(TEXT, target_ids=[[0], [1]])
    with refused(ConfigError, got="'Un'"):
        gf.load("writer").search_tree("She likes", prefix="Un")
    with pytest.raises(ConfigError, match="target_ids"):
        gf.load(slides_model()).trace("She likes the summer", target_ids=[0])
