"""The tour of BERT: its texts and numbers on every encoder, and the corrections that belong to it."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.api.model import Model
from glassformer.api.trace import Trace, trace
from glassformer.data.batches.corrupt import MaskingSection
from glassformer.look.trace.cell import Words
from glassformer.models.inputs import Inputs
from glassformer.page.page import page
from glassformer.page.tour import tour_texts
from tests.look.rows import row_named
from tests.page.test_tour import WORDS, check_steps, tell, texts_of

STEPS = 15


def written(found: Trace, file: Path) -> Path:
    file.write_text(page(found), encoding="utf-8")
    return file


def said(record: dict[str, Any]) -> dict[str, str]:
    """All that a step says of the first sentence, by its key."""
    rows = [row for row in record["rows"] if row["sentence"] == 0]
    return {row["key"]: " ".join(row[part] for part in ("text", "question", "answer", "note")) for row in rows}


@pytest.fixture(scope="module")
def classifier() -> Trace:
    """A BERT with two labels for a text."""
    model = row_named("bert, next sentence").model(dtype=torch.float32)
    words = ("[CLS]", "help", "prin", "##ce", "[SEP]")
    vocabulary = [f"word{place}" for place in range(23)]
    inputs = Inputs(ids=torch.tensor([[1, 5, 6, 7, 3]]), segments=torch.zeros(1, 5, dtype=torch.long))
    return trace(model, inputs, words=Words(inputs=[words], vocabulary=vocabulary, labels=("ham", "spam")))


def test_no_text_has_a_digit_of_its_own_and_each_is_short() -> None:
    for key, step in tour_texts()["bert"].items():
        for name, text in texts_of(step):
            if name not in ("correction", "source"):
                assert not re.search(r"\d", text), (key, name)
            assert len(re.sub(r"\{\w+\}", "x", text).split()) <= WORDS, (key, name)


def test_the_corrections_about_bert_are_shown() -> None:
    stated = {text for step in tour_texts()["bert"].values() for name, text in texts_of(step) if name == "correction"}
    assert {"C-3", "C-7", "C-17", "C-18", "C-19", "C-20", "C-21", "C-22", "C-25", "C-36", "C-39"} <= stated


def test_english_has_all_but_the_vectors_of_two_texts(english: Model, tmp_path: Path) -> None:
    found = english.trace("The animal didn't cross the [MASK] because it was too tired.")
    (stated,) = tell([written(found, tmp_path / "english.html")], "bert")
    check_steps(found, stated)
    texts = said(stated)
    assert len(texts) == STEPS - 1
    assert [key for key, _ in stated["left"]] == ["kinds"]
    masking = MaskingSection()
    assert f"{masking.rate:.0%}".replace("%", " %") in texts["chosen"]
    query = found.words.inputs[0].index("[MASK]")
    weights = found["encoder.blocks.0.self_attention.weights"][0, :, query]
    words = [key for key, word in enumerate(found.words.inputs[0]) if word.isalpha() and key != query]
    head, place = divmod(int(weights[:, words].argmax()), len(words))
    share = f"{100 * float(weights[head, words[place]]):.0f} %"
    assert f"to {found.words.inputs[0][words[place]]}, in head {head}, with {share}" in texts["looks"]
    probabilities = found["head.probabilities"][0]
    assert f"it is {-float(probabilities.max().log()):.3f}" in texts["loss"]
    assert "109,482,240" in texts["sizes"]
    assert f"{sum(tensor.numel() for tensor in found.parameters.values()):,}" in texts["sizes"]


def test_a_classifier_shows_its_own_label(classifier: Trace, tmp_path: Path) -> None:
    (found,) = tell([written(classifier, tmp_path / "classifier.html")], "bert")
    check_steps(classifier, found)
    texts = said(found)
    shares = classifier["sentence_head.probabilities"][0]
    share = f"{('ham', 'spam')[int(shares.argmax())]}, {100 * float(shares.max()):.0f} %"
    assert share in texts["label"]
    assert "2 labels" in texts["tuning"]
    assert "spam 85 %" in texts["label"]
    assert "such as ##ce" in texts["pieces"]
    places = {row["key"]: row["at"] for row in found["rows"]}
    assert places["ways"]["scene"] == "four-ways"
    assert places["label"]["tensor"] == "sentence_head.probabilities"
