"""The lines of a walk-through: as the slides draw it, never wider than the screen, and no number broken."""

import re
from functools import cache
from typing import Any

import pytest
import torch

from glassformer.api.trace import Trace, trace
from glassformer.base.lines import WIDEST, columns_of, grid, label, screen_width, wrapped
from glassformer.cli.look.render import share_lines, write
from glassformer.look.formulas.explanation import Limits, explained_lines, number
from glassformer.look.summaries.follow import follow
from glassformer.look.summaries.mix import shares
from glassformer.look.texts.walkthrough import Step, walkthrough
from glassformer.look.trace.cell import Words
from glassformer.models.families import bert, slides
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from tests.contracts.families import FAMILIES
from tests.look.rows import ATTENTION, SHOWN, VOCABULARY, row_named, slides_trace

WIDTHS = (60, 80, 120)
NUMBER = re.compile(r"[−-]?(?:\d+(?:\.\d+)?(?:e[+−-]\d+)?|∞)(?![\w.@])")
LONG = Words(
    inputs=[["Donaudampfschifffahrtsgesellschaftskapitän", "電気通信大学", "3.14159265358979323846", "a\tb\n", "the"]]
    * 3,
    decoder_inputs=[["Übersetzung"] * 9] * 3,
    vocabulary=[f"Wortungetüm{index}" * 4 for index in range(99)],
)


@cache
def walked(name: str, words: bool = False) -> tuple[tuple[Step, ...], Limits]:
    """The steps of a walk through a family's model, or through the slides' own."""
    if name == "slides' own":
        found = slides_trace()
    else:
        row = next(row for row in FAMILIES if str(row) == name)
        found = trace(row.model(), *row.batch(padding="right"), words=LONG if words else None)
    long = "word " * 30 + "encoder.blocks.0.self_attention.query"
    notes = (("C-2", long, ""), ("C-9", long, "the notes and the guide"))
    limits = Limits.fitting(found.config) if name == "slides' own" else Limits(terms=3, cells=5, heads=1, words=3)
    return tuple(walkthrough(found, word=1, notes=lambda _: notes, limits=limits)), limits


def lines_of(name: str, width: int, *, words: bool = False) -> list[str]:
    steps, limits = walked(name, words)
    return list(write(steps, limits, width))


def numbers(lines: list[str]) -> list[str]:
    """All numbers in their order, those of headings left out: they are repeated where a table is broken."""
    return NUMBER.findall("\n".join(lines))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["slides' own", *map(str, FAMILIES)])
def test_no_line_is_wider_than_the_screen_and_no_number_is_broken(name: str) -> None:
    whole = set(numbers(lines_of(name, 100_000)))
    for width in WIDTHS:
        lines = lines_of(name, width)
        assert max(map(columns_of, lines)) <= width
        assert set(numbers(lines)) == whole
    assert max(map(columns_of, lines_of(name, 120))) > 80  # more room is used


@pytest.mark.parametrize("width", WIDTHS)
def test_words_of_any_length_and_width_fit(width: int) -> None:
    lines = lines_of("marian", width, words=True)
    assert max(map(columns_of, lines)) <= width
    assert not any(character in line for line in lines for character in "\t\n")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "name", ["head.probabilities[place=1,vocabulary=the]", f"{ATTENTION}.mixed[head=1,query=1,channel=0]"]
)
def test_a_number_followed_home_fits_the_screen(name: str, width: int) -> None:
    found = slides_trace()
    way = list(follow(found, *name.removesuffix("]").split("[")))
    lines = [line for explanation in way for line in explained_lines(explanation, width=width)]
    lines += share_lines(shares(found, ATTENTION, query=1), width)
    assert max(map(columns_of, lines)) <= width
    shown = numbers(lines)
    for explanation in way:
        assert number(explanation.value) in shown
        for term in explanation.terms:
            assert number(term.value) in shown
            assert {number(factor.value) for factor in term.factors} <= set(shown)


def test_the_terms_of_a_number_stand_in_a_table_with_headings() -> None:
    explanation = slides_trace().explain(f"{ATTENTION}.scores[head=1,query=likes,key=She]")
    lines = list(explained_lines(explanation))
    assert re.split(r"  +", lines[2].strip()) == ["term", "query · key", "value", "sum so far"]
    assert [line.split()[:2] for line in lines[3:7]] == [["channel", str(step)] for step in range(4)]
    assert [line.split()[-1] for line in lines[3:7]] == [number(term.running) for term in explanation.terms]
    assert f"{ATTENTION}.query[head=1,query=(likes),channel=…]" in lines[8]
    weight = slides_trace().explain(f"{ATTENTION}.weights[head=1,query=likes,key=She]")
    named = [line.split()[:2] for line in explained_lines(weight) if line.startswith("    key ")]
    assert named == [["key", word] for word in SHOWN]


# --------------------------------------------------------------------- as the slides draw it


def slides_batch() -> Trace:
    """The slides' three sentences in one batch."""
    ids = torch.tensor([[0, 0, 0, 3, 4], [5, 6, 7, 0, 9], [10, 11, 12, 13, 0]])
    masked = torch.tensor([[0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]).bool()
    texts = ("She [MASK] [MASK] summer better", "He loves to [MASK] healthy", "They go hiking quite [MASK]")
    answers = {(0, 1): "likes", (0, 2): "the", (1, 3): "cook", (2, 4): "often"}
    words = Words(inputs=[text.split() for text in texts], vocabulary=VOCABULARY, answers=answers)
    return trace(build(slides(), seed=3).double(), Inputs(ids=ids, masked_words=masked), words=words)


def step_named(found: Trace, name: str, **how: Any) -> Step:
    return next(step for step in walkthrough(found, **how) if step.name == name)


def test_every_tensor_is_shown_with_its_shape() -> None:
    found = slides_batch()
    steps = [step for step in walkthrough(found) if step.name in found and step.axes]
    assert {step.name for step in steps} == set(found)
    lines = list(write(steps))
    for step in steps:
        assert step.sizes == tuple(found[step.name].shape)
        at = next(at for at, line in enumerate(lines) if line.strip().startswith(step.name))
        assert f"{' × '.join(map(str, step.sizes))} ({' × '.join(step.axes)})" in " ".join(lines[at : at + 2])
    assert step_named(found, "encoder.embed.word").sizes == (3, 5, 6)


@pytest.mark.parametrize("word", ["query", "key", "value"])
def test_a_weight_matrix_with_its_count_and_who_shares_it(word: str) -> None:
    found = slides_batch()
    (weight,) = step_named(found, f"{ATTENTION}.{word}").learned
    assert (weight.counted, weight.axes, weight.count) == ("6 × (4 × 2) = 48", "input × (channel × head)", 48)
    assert "3 sentences" in weight.shared
    assert weight.table is not None
    drawn = torch.tensor([line for _, line in weight.table.rows], dtype=torch.float64)
    assert drawn.shape == (6, 8)
    assert torch.equal(drawn, found.parameters[f"{weight.name}"].T.double())
    text = " ".join(write([step_named(found, f"{ATTENTION}.{word}")]))
    assert f"{word}.weight: 6 × (4 × 2) = 48" in text


def test_weights_with_biases_tables_and_norms_are_counted() -> None:
    row = row_named("bert")
    found = trace(row.model(), *row.batch(padding="none"))
    steps = {step.name: step for step in walkthrough(found)}
    for name in ("encoder.embed.word", "encoder.embed.norm", f"{ATTENTION}.query", "head.logits"):
        for weight in steps[name].learned:
            assert weight.count == found.parameters[weight.name].numel()
    assert len(steps[f"{ATTENTION}.query"].learned) == 2
    assert "used again" in steps["head.logits"].learned[0].shared


@pytest.mark.parametrize("word", ["scores", "masked", "weights"])
def test_the_whole_tensor_of_all_words_with_the_chosen_words_rows_picked_out(word: str) -> None:
    found = slides_trace()
    step = step_named(found, f"{ATTENTION}.{word}", word=3)
    assert len(step.tables) == 2
    for head, table in enumerate(step.tables):
        assert table.header == SHOWN
        assert [name for name, _ in table.rows] == list(SHOWN)
        assert [list(line) for _, line in table.rows] == found[step.name][0, head].tolist()
        assert [bool(mark) for mark in table.marks] == [False, False, False, True, False]
    assert sum("←" in line for line in write([step])) == 2


def test_logits_of_each_hidden_word() -> None:
    found = slides_trace()
    step = step_named(found, "head.logits")
    (table,) = step.tables
    assert table.header == ("(likes)", "(the)")
    assert [list(line) for _, line in table.rows] == found["head.logits"].T.tolist()
    assert {cell.cell["place"] for cell in step.cells} == {0, 1}
    assert {cell.cell["place"] for cell in step_named(found, "head.logits", word=2).cells} == {1}
    assert len(step_named(found, "head.logits", word=2).cells) == 15


def test_hidden_words_stand_in_brackets_everywhere() -> None:
    found = slides_trace()
    lines = list(write(walkthrough(found, word=1)))
    assert not any(
        "[MASK]" in line for line in lines if "is given [MASK]" not in line and line.strip() != "is given [MASK]."
    )
    assert any(line.strip().startswith("row of (likes)") for line in lines)
    unknown = trace(
        build(slides()),
        Inputs(ids=torch.tensor([[0, 1]]), masked_words=torch.tensor([[True, True]])),
        words=Words(inputs=[["[MASK]", "[MASK]"]]),
    )
    first = next(walkthrough(unknown))
    assert [name for name, _ in first.tables[0].rows] == ["([MASK])@0", "([MASK])@1"]


def test_a_chosen_word_with_a_low_rank_is_shown() -> None:
    found = trace(build(bert(layers=1, width=12, heads=3, vocabulary=40)), Inputs(ids=torch.arange(38)[None]))
    table = step_named(found, f"{ATTENTION}.query", word=35).tables[0]
    assert [name for name, _ in table.rows][-2:] == ["token 28", "token 35"]
    assert table.marks[-1]
    assert "8 more words" in table.more


# --------------------------------------------------------------------- lines


def test_a_text_is_broken_at_blanks_and_a_name_at_its_dots() -> None:
    assert list(wrapped("a (1 · 2) + (3 · 4) = 5", 12)) == ["a (1 · 2)", "  + (3 · 4)", "  = 5"]
    name = list(wrapped("encoder.blocks.0.self_attention.weights", 20))
    assert "".join(part.strip() for part in name) == "encoder.blocks.0.self_attention.weights"
    assert max(map(len, name)) <= 20
    assert list(wrapped("x" * 25, 10)) == ["x" * 8, "  " + "x" * 8, "  " + "x" * 8, "  x"]


def test_columns_that_do_not_fit_follow_below_with_their_labels() -> None:
    rows = [("", *"abcd"), ("one", *(str(step) * 8 for step in range(4)))]
    lines = list(grid(rows, 26, marks=("", "←")))
    assert [line.split() for line in lines] == [
        ["a", "b"],
        ["one", "0" * 8, "1" * 8, "←"],
        ["c", "d"],
        ["one", "2" * 8, "3" * 8, "←"],
    ]
    assert list(grid([("word",), ("one",)], 5)) == ["word", "one"]


def test_labels_are_one_line_and_measured_in_columns() -> None:
    assert label("a\tb\n") == "a\\tb\\n"
    assert columns_of(label("電気通信大学電気通信大学")) <= 16
    assert columns_of("e\u0301") == 1


@pytest.mark.parametrize(("columns", "width"), [("20", 40), ("97", 97), ("300", WIDEST)])
def test_the_screen_is_used_between_40_and_120_columns(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert screen_width() == width
