"""The walk-through of an encoder with a decoder: the guide's order, and nothing that is true of other models alone."""

import pytest
import torch

from glassformer.api.trace import Trace, trace
from glassformer.bundled.texts import notes, notes_about
from glassformer.look.texts.walkthrough import Step, followed, walkthrough
from glassformer.look.trace.cell import Words
from tests.look.rows import row_named

SOURCE, TARGET = ("Two", "▁dogs", "▁run", "."), ("<pad>", "Deux", "▁chiens")
HIDDEN = {"C-2", "C-3", "C-20", "C-35"}


@pytest.fixture(scope="module")
def found() -> Trace:
    row = row_named("marian")
    inputs, decoder_inputs = row.batch(padding="none")
    assert decoder_inputs is not None
    (batch, source), (_, target) = inputs.shape, decoder_inputs.shape
    words = Words(inputs=[(SOURCE * source)[:source]] * batch, decoder_inputs=[(TARGET * target)[:target]] * batch)
    return trace(row.model(), inputs, decoder_inputs, words=words)


def steps_of(found: Trace) -> dict[str, Step]:
    return {step.name or step.title: step for step in walkthrough(found)}


def test_the_order_is_that_of_the_guide(found: Trace) -> None:
    names = [step.name for step in walkthrough(found)]
    path = "decoder.blocks.0"
    order = [
        "encoder.blocks.0.self_attention.query",
        "decoder.embed.word",
        f"{path}.self_attention.scaled",
        f"{path}.self_attention.masked",
        f"{path}.cross_attention.query",
        f"{path}.cross_attention.key",
        "head.logits",
        "head.probabilities",
    ]
    assert sorted(order, key=names.index) == order


def test_no_word_is_hidden_and_the_slides_are_not_followed(found: Trace) -> None:
    steps = steps_of(found)
    first = next(iter(steps.values()))
    assert all("seen" not in table.header and not any(table.marks) for table in first.tables)
    assert any(TARGET[0] in remark for remark in first.remarks)
    assert not any(step.extra for step in steps.values())
    assert followed(found.config) == "guide"
    assert followed(row_named("bert").config()) == followed(row_named("gpt2").config()) == "slides"


def test_a_padded_word_is_distinguished_from_the_others() -> None:
    row = row_named("marian")
    first = next(walkthrough(trace(row.model(), *row.batch(padding="right")), sentence=1))
    assert any(
        numbers[-1] == 0 and mark == "padding"
        for table in first.tables
        for (_, numbers), mark in zip(table.rows, table.marks, strict=True)
    )


def test_the_triangle_added_to_the_scaled_scores_gives_the_masked_ones(found: Trace) -> None:
    path = "decoder.blocks.0.self_attention"
    step = steps_of(found)[f"{path}.masked"]
    triangle = torch.tensor([numbers for _, numbers in step.tables[0].rows], dtype=torch.float64)  # [Q, K]
    count = len(triangle)
    assert triangle.isneginf().equal(torch.ones(count, count).triu(1).bool())
    added = found[f"{path}.scaled"][0, 0, :count, :count] + triangle
    assert added.equal(found[f"{path}.masked"][0, 0, :count, :count])


def test_keys_and_values_say_that_they_read_the_encoder(found: Trace) -> None:
    steps, path = steps_of(found), "decoder.blocks.0.cross_attention"
    memory = found.statement.memory
    assert memory is not None
    for name in ("key", "value"):
        assert memory in steps[f"{path}.{name}"].formula
    assert "encoder." not in steps[f"{path}.query"].formula


def test_corrections_about_hidden_words_belong_to_models_that_guess_them() -> None:
    assert {note.number for note in notes() if note.hidden_words} == HIDDEN
    for name in ("encoder.embed.word", "head.logits", "encoder.blocks.0.self_attention.may_look"):
        every = {note.number for note in notes_about(name)}
        assert {note.number for note in notes_about(name, "guide", hidden_words=False)} == every - HIDDEN
