"""All tours on every family that they suit: each page is made once, and one run of node writes them all."""

from typing import Any

import pytest
import torch

from glassformer.api.trace import Trace, trace
from glassformer.page.page import page
from glassformer.page.tour import tour_texts
from tests.look.rows import ALL
from tests.page.test_tour import check_steps, tell_all
from tests.page.together import try_each

Tours = dict[str, dict[str, tuple[Trace, dict[str, Any]]]]
WRITING = ("gpt2", "llama", "marian", "bart", "t5", "vaswani2017", "tensor2tensor")
# The steps of the tour of BERT that not every encoder has.
EXCEPT = {"kinds", "guess", "loss"}


def crosses(found: Trace) -> bool:
    """Whether a decoder reads what an encoder made."""
    return "decoder.blocks.0.cross_attention.weights" in found


@pytest.fixture(scope="module")
def tours(tmp_path_factory: pytest.TempPathFactory) -> Tours:
    """What each tour says of each family, and the run."""
    folder = tmp_path_factory.mktemp("tours")
    found, pages = {}, {}
    for order, row in enumerate(ALL):
        inputs, decoder_inputs = row.batch(padding="none")
        found[row.name] = trace(row.model(dtype=torch.float32), inputs, decoder_inputs, keep="*")
        pages[row.name] = folder / f"{order}.html"
        pages[row.name].write_text(page(found[row.name]), encoding="utf-8")
    encoders = [row.name for row in ALL if row.config().encoder is not None and row.config().decoder is None]
    writing = [row.name for row in ALL if row.family in WRITING]
    names = {
        "slides": list(pages),
        "bert": encoders,
        "decoder": [*writing, "bert"],
        "translation": [*(name for name in writing if crosses(found[name])), "bert"],
    }
    answers = tell_all({tour: [pages[name] for name in names[tour]] for tour in names})
    return {
        tour: {name: (found[name], answer) for name, answer in zip(names[tour], answers[tour], strict=True)}
        for tour in names
    }


@pytest.mark.long
def test_each_step_of_the_slides_is_shown_on_every_family_or_says_why_not(tours: Tours) -> None:
    def is_whole(name: str) -> None:
        found, answer = tours["slides"][name]
        check_steps(found, answer)
        keys = {row["key"] for row in answer["rows"]}
        assert {"embedding", "position", "cells", "softmax", "mixing", "recap"} <= keys
        assert all(why for _, why in answer["left"])
        assert ("cross" in keys) == crosses(found)

    try_each(tours["slides"], is_whole)


@pytest.mark.long
def test_each_step_of_bert_is_shown_on_every_encoder_or_says_why_not(tours: Tours) -> None:
    def is_whole(name: str) -> None:
        found, answer = tours["bert"][name]
        check_steps(found, answer)
        assert {key for key, _ in answer["left"]} <= EXCEPT
        assert all(why for _, why in answer["left"])
        kinds = any(row["key"] == "kinds" for row in answer["rows"] if row["sentence"] == 0)
        assert kinds == ("encoder.embed.segment" in found)

    try_each(tours["bert"], is_whole)


@pytest.mark.long
@pytest.mark.parametrize("tour", ["decoder", "translation"])
def test_each_tour_is_shown_on_every_model_that_it_suits(tour: str, tours: Tours) -> None:
    texts = tour_texts()[tour]

    def is_whole(name: str) -> None:
        found, answer = tours[tour][name]
        if name == "bert":  # a model that does not write
            assert answer["rows"] == []
            return
        check_steps(found, answer)
        assert all(why for _, why in answer["left"])
        # Only words of a vocabulary may be missing, and a residual.
        assert {row["key"] for row in answer["rows"]} | {key for key, _ in answer["left"]} == set(texts)
        assert len(answer["left"]) <= 1

    try_each(tours[tour], is_whole)
