"""The walk-through: all steps, all cells, every number from the trace, and what is left out is counted."""

import pickle
from dataclasses import replace
from itertools import pairwise

import pytest
import torch

import glassformer as gf
from glassformer.api.trace import Trace, trace
from glassformer.cli.look.render import share_lines, write
from glassformer.look.formulas.explanation import Limits, explained_lines, number, values_of
from glassformer.look.summaries.follow import follow
from glassformer.look.summaries.mix import shares
from glassformer.look.texts.walkthrough import Note, walkthrough
from glassformer.look.trace.cell import Words
from glassformer.models.families import bert
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from tests.contracts.families import FAMILIES, Row, random_weights
from tests.look.rows import ALL, ATTENTION, SHOWN, row_named, slides_trace

SLIDES_ORDER = (
    "word",
    "position",
    "sum",
    "query",
    "key",
    "scores",
    "may_look",
    "masked",
    "weights",
    "value",
    "mixed",
    "merged",
    "output",
    "residual",
    "hidden",
    "activated",
    "output",
    "logits",
    "log_probabilities",
    "probabilities",
)


def test_all_steps_in_the_order_of_the_slides() -> None:
    steps = list(walkthrough(slides_trace()))
    assert [label for label, _ in steps[0].tables[0].rows] == list(SHOWN)
    assert steps[0].tables[0].marks == ("", "hidden", "hidden", "", "")
    assert tuple(step.name.rpartition(".")[2] for step in steps[1:-1]) == SLIDES_ORDER
    assert steps[-1].title == "The model's guesses"
    assert [table.caption for table in steps[-1].tables] == ["(likes), word 1", "(the), word 2"]
    assert [step.name for step in steps if step.extra] == ["head.log_probabilities"]


@pytest.mark.parametrize(
    ("word", "cells"),
    [("query", 8), ("key", 8), ("value", 8), ("scores", 10), ("masked", 10), ("weights", 10), ("output", 6)],
)
def test_every_cell_of_the_first_words_row(word: str, cells: int) -> None:
    found = slides_trace()
    step = {step.name: step for step in walkthrough(found)}[f"{ATTENTION}.{word}"]
    assert len(step.cells) == cells
    for cell in step.cells:
        assert cell.cell.get("query", cell.cell.get("token", 0)) == 0
        assert cell.value == float(found[step.name][tuple(cell.cell.values())])
        assert cell.error <= 1e-12


def test_all_five_weighted_values_with_the_two_the_slides_leave_out() -> None:
    found = slides_trace()
    step = {step.name: step for step in walkthrough(found)}[f"{ATTENTION}.mixed"]
    assert "leave out the rest" in step.remarks[0]
    for head, mixing in enumerate(step.mixings):
        assert [move.word for move in mixing.moves] == list(SHOWN)
        assert [move.absent for move in mixing.moves] == ["", "absent: masked", "absent: masked", "", ""]
        for place, move in enumerate(mixing.moves):
            assert move.weight == float(found[f"{ATTENTION}.weights"][0, head, 0, place])
            assert move.added == pytest.approx([move.weight * value for value in move.value], abs=1e-15)
        assert mixing.moves[-1].running == pytest.approx(found[f"{ATTENTION}.mixed"][0, head, 0].tolist(), abs=1e-14)


def test_corrections_appear_once_where_they_belong() -> None:
    notes = {"embed.word": ("C-2",), "embed.sum": ("C-2", "C-11"), "masked": ("C-4", "C-34"), "nowhere": ("C-99",)}

    def notes_of(name: str) -> tuple[Note, ...]:
        return tuple(
            (number, "so", "the post") for end, numbers in notes.items() if name.endswith(end) for number in numbers
        )

    shown = {step.name: step.notes for step in walkthrough(slides_trace(), notes=notes_of) if step.notes}
    assert shown == {
        "encoder.embed.word": (("C-2", "so", "the post"),),
        "encoder.embed.sum": (("C-11", "so", "the post"),),
        f"{ATTENTION}.masked": (("C-4", "so", "the post"), ("C-34", "so", "the post")),
    }
    assert not any(step.notes for step in walkthrough(slides_trace()))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("row", FAMILIES, ids=str)
def test_any_family_has_a_walkthrough(row: Row) -> None:
    inputs, decoder_inputs = row.batch(padding="right")
    found = trace(row.model(), inputs, decoder_inputs)
    steps = list(walkthrough(found, sentence=1, word=1, limits=Limits(terms=2, cells=2, heads=1, words=3)))
    shown = {step.name for step in steps}
    assert {name for name in found if ".blocks." not in name} <= shown
    assert all(name in shown for name in found if ".blocks.0." in name)
    blocks = {name.split(".blocks.")[1].partition(".")[0] for name in found if ".blocks." in name}
    assert any("more block" in step.title for step in steps) == (len(blocks) > 1)


def titles(name: str) -> dict[str, str]:
    """The title of each tensor of a row's model, by its name; the steps without a tensor by their titles."""
    row = next(row for row in ALL if row.name == name)
    return {step.name or step.title: step.title for step in walkthrough(trace(row.model(), *row.batch(padding="none")))}


def test_the_title_of_a_step_is_true_of_its_formula() -> None:
    bert_says, modern, llama_says = titles("bert"), titles("modernbert"), titles("llama")
    assert bert_says["encoder.embed.norm"] == "Mean 0, variance 1"
    assert llama_says["decoder.norm"] == "Mean square 1"
    assert bert_says["encoder.blocks.0.feed_forward.hidden"].endswith("The feed-forward network widens")
    assert bert_says["head.hidden"] == modern["head.hidden"] == "A layer of the head's own"
    assert bert_says["encoder.embed.sum"] == "Word, position and segment are added"
    assert titles("gpt2")["decoder.embed.sum"] == "Word and position are added"
    assert modern["encoder.embed.sum"] == "The word alone: no position is added"
    assert titles("bert, straight sentence head")["sentence_head.logits"] == "A score for each label"
    several, one = (
        titles(name)["sentence_head.probabilities"] for name in ("bert, several labels", "bert, straight sentence head")
    )
    assert (several.partition(":")[0], one.partition(":")[0]) == ("Sigmoid", "Softmax")


def test_blocks_that_are_left_out_are_called_alike_only_when_they_are() -> None:
    shown = {family: [title for title in titles(family) if "more block" in title] for family in ("bert", "modernbert")}
    last = len(row_named("modernbert").config().output_stack.blocks) - 1
    assert shown["bert"] == ["1 more block of the same kind, encoder.blocks.1"]
    assert shown["modernbert"] == [
        f"{last} more blocks with settings of their own, encoder.blocks.1 to encoder.blocks.{last}"
    ]


def test_only_what_the_slides_lack_is_marked_so() -> None:
    row = row_named("gpt2")
    extra = {step.name: step.extra for step in walkthrough(trace(row.model(), *row.batch(padding="none")))}
    path = "decoder.blocks.0"
    drawn = ("decoder.embed.word", f"{path}.self_attention.query", f"{path}.self_attention.weights", "head.logits")
    assert not any(extra[name] for name in drawn)
    assert extra["decoder.norm"]
    assert extra[f"{path}.feed_forward.residual"]


def test_the_slides_are_mentioned_only_where_all_their_steps_are_shown() -> None:
    def remarked(found: Trace, limits: Limits | None = None) -> bool:
        return any(
            "leave out the rest" in remark for step in walkthrough(found, limits=limits) for remark in step.remarks
        )

    row = row_named("bert")
    assert remarked(slides_trace())
    assert not remarked(slides_trace(), Limits(words=4))
    assert not remarked(slides_trace(), Limits(heads=1))
    assert not remarked(trace(row.model(), *row.batch(padding="none")))


def test_what_is_too_large_is_cut_and_counted() -> None:
    model = random_weights(build(bert(layers=2, width=48, heads=6, vocabulary=60)), seed=0)
    found = trace(model, Inputs(ids=torch.arange(38)[None]))
    steps = {step.name: step for step in walkthrough(found)}
    query = steps[f"{ATTENTION}.query"]
    assert query.remarks[0].startswith("40 more")
    limits = Limits.fitting(found.config)
    kept, left, rest = query.cells[0].largest(limits.terms)
    assert left == len(query.cells[0].terms) - limits.terms == 46
    whole = sum(term.value for term in kept) + rest
    assert whole == pytest.approx(query.cells[0].value, abs=1e-5)
    assert f"({left} more: {number(rest)})" in "\n".join(write([query], limits))
    mixing = steps[f"{ATTENTION}.mixed"].mixings[0]
    assert len(mixing.moves) == limits.words
    assert mixing.more.startswith("8 more words: weights sum to")


def test_one_number_followed_down_to_a_word() -> None:
    found = slides_trace()
    way = list(follow(found, f"{ATTENTION}.weights[head=1,query=likes,key=She]"))
    assert [step.name.rpartition(".")[2] for step in way[:3]] == ["weights", "masked", "scores"]
    assert way[1].cell == way[0].cell
    assert way[-1].name.startswith("encoder.embed.")
    for step, following in pairwise(way):
        assert (following.name, following.where) in {(part.name, part.where) for part in step.operands}
    she = list(follow(found, f"{ATTENTION}.key[head=0,key=She,channel=1]"))
    assert she[-1].name == "encoder.embed.word"
    assert she[-1].quantities == {"row": 0.0}
    text = " ".join(line.strip() for step in way for line in explained_lines(step))
    assert "exp(masked) over the sum of exp(masked) along key" in text
    assert "computed again" in text


def test_from_the_answer_all_the_way_down() -> None:
    found = slides_trace()
    way = list(follow(found, "head.probabilities[place=likes,vocabulary=likes]"))
    assert way[0].name == "head.probabilities"
    assert way[-1].name.startswith("encoder.embed.")
    assert len(way) > 6


def test_shares_of_each_source_word() -> None:
    found = slides_trace()
    shown = shares(found, ATTENTION, query=1)
    assert [share.word for share in shown] == list(SHOWN)
    assert [share.absent for share in shown] == ["", "absent: masked", "absent: masked", "", ""]
    for head in range(2):
        assert sum(share.weights[head] for share in shown) == pytest.approx(1)
    lines = list(share_lines(shown))
    assert "length given" in lines[0]
    assert lines[0].startswith("word")
    assert lines[2].endswith("absent: masked")


def test_weights_and_facts_are_explained_as_what_they_are() -> None:
    found = slides_trace()
    weight = found.explain(f"parameters.{ATTENTION}.query.weight[row=4,column=2]")
    assert "a weight, learned in training" in weight.formula
    assert weight.terms == ()
    fact = found.explain("inputs.ids[token=She]")
    assert "given with the text" in fact.formula
    assert next(follow(found, "inputs.ids[token=She]")) == fact


def test_numbers_as_they_are_written() -> None:
    assert [number(value) for value in (0.0, 1.0, -1000.0, 0.25, -0.00012345, 12345.678)] == [
        "0",
        "1",
        "−1000",
        "0.2500",
        "−0.000123",
        "1.23e+04",
    ]
    assert number(float("-inf")) == "−∞"


def test_words_that_are_not_known_are_called_by_their_places() -> None:
    found = trace(
        build(bert(layers=1, width=12, heads=3, vocabulary=30)), Inputs(ids=torch.tensor([[4, 5]])), words=Words()
    )
    first = next(walkthrough(found))
    assert [label for label, _ in first.tables[0].rows] == ["token 0", "token 1"]


def test_an_explanation_is_printed_as_it_is_written_at_the_walkthrough() -> None:
    explanation = slides_trace().explain(f"{ATTENTION}.weights", "head=1,query=She,key=She")
    assert str(explanation).splitlines() == list(explained_lines(explanation))
    assert "mathml" not in str(explanation)


def test_terms_that_are_made_when_they_are_asked_for_are_kept_and_copied_as_others() -> None:
    explanation = slides_trace().explain(f"{ATTENTION}.scores", "head=1,query=She,key=She")
    terms = explanation.terms
    assert len(terms) == 4
    assert [term.value for term in terms] == values_of(terms)
    assert (terms[-1], terms[1:3]) == (tuple(terms)[3], tuple(terms)[1:3])
    assert pickle.loads(pickle.dumps(explanation)) == explanation
    assert replace(explanation, terms=terms[:3]) != explanation


@pytest.mark.parametrize("name", ["writer", "en-fr"])
def test_padding_answers_nothing(name: str) -> None:
    long, short = "She looked at him for a long time", "It was"
    found = gf.load(name).trace([long, short])
    steps = walkthrough(found, sentence=1, limits=Limits(words=100))
    step = [each for each in steps if each.name == "head.probabilities"][-1]
    side = found.statement.formulas["head.probabilities"].tokens
    real = found.facts[f"{side}.real"]
    counted = real[1] if len(found["head.probabilities"].shape) == 3 else real
    assert 0 < len(step.tables) == int(counted.sum()) < counted.numel()
