"""Interventions as people write them: in words, by short names, refused in a sentence, and listed in the trace."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.api.trace import Trace, load_trace, trace
from glassformer.base.errors import ConfigError, GlassformerError, UnknownNameError
from glassformer.look.trace.cell import Words
from glassformer.models.inputs import Inputs
from tests.look.rows import ATTENTION, bert_model, row_named, slides_trace
from tests.refusals import refused

SENTENCE = ("she", "likes", "the", "summer")
VOCABULARY = ("a", "b", "c", "she", "likes", "the", "summer", "he", "loves", "[MASK]", "it", "she@", "7")
IDS = torch.tensor([[3, 4, 5, 6]])


def plain(**given: Any) -> Trace:
    words = Words(inputs=[SENTENCE], vocabulary=VOCABULARY)
    return trace(bert_model(), Inputs(ids=IDS), words=words, **given)


IN_WORDS = [
    (gf.ChangeWord("likes", "loves"), gf.ChangeWord(1, 8)),
    (gf.ChangeWord("likes", "7"), gf.ChangeWord(1, 12)),
    (gf.MaskWord("summer", "[MASK]"), gf.MaskWord(3, 9)),
    (gf.forbid(ATTENTION, "she", "likes", head=1), gf.forbid(ATTENTION, 0, 1, head=1)),
    (gf.forbid("0.attention", "3", "likes@1"), gf.forbid(ATTENTION, 3, 1)),
    (gf.zero_head("0.self_attention", 2), gf.zero_head(ATTENTION, 2)),
    (gf.zero_layer("1.feed_forward"), gf.zero_layer("encoder.blocks.1.feed_forward")),
    (gf.Replace("*.attention.output", 0.0), gf.Replace("*.*_attention.output", 0.0)),
    (
        gf.set_number("0.weights", "head=1,query=likes,key=she", 0.5),
        gf.set_number(f"{ATTENTION}.weights", (None, 1, 1, 0), 0.5),
    ),
    (
        gf.set_number("head.logits", {"place": "the", "vocabulary": "it"}, 1.0),
        gf.set_number("head.logits", (2, 10), 1.0),
    ),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("in_words", "by_index"), IN_WORDS, ids=repr)
def test_words_and_short_names_mean_their_indices(in_words: Any, by_index: Any) -> None:
    one, two = plain().intervene(in_words), plain().intervene(by_index)
    assert one.interventions == two.interventions == (by_index,)
    assert torch.equal(one["head.logits"], two["head.logits"])
    assert not torch.equal(one["head.logits"], plain()["head.logits"])
    assert one.verify().holds
    assert torch.equal(plain(interventions=in_words)["head.logits"], one["head.logits"])


def test_a_patch_may_be_asked_for_in_words() -> None:
    other = trace(bert_model(), Inputs(ids=IDS.flip(1)), words=Words(inputs=[SENTENCE[::-1]]))
    name = "encoder.blocks.0.feed_forward.norm"
    found = plain().intervene(gf.patch(other, "0.feed_forward.norm", "token=likes"))
    assert torch.equal(found[name][:, 1], other[name][:, 1])
    assert torch.equal(found[name][:, 0], plain()[name][:, 0])


def test_what_was_changed_is_called_by_its_new_name() -> None:
    found = plain().intervene(gf.ChangeWord("likes", "loves"))
    assert found.words.inputs == [["she", "loves", "the", "summer"]]
    again = found.intervene(gf.forbid(ATTENTION, "she", "loves"))
    assert again[f"{ATTENTION}.weights"][0, :, 0, 1].count_nonzero() == 0
    assert again.undo(2).words.inputs == [SENTENCE]
    with refused(UnknownNameError, wanted="likes"):
        found.intervene(gf.forbid(ATTENTION, "she", "likes"))
    masked = slides_trace().intervene(gf.MaskWord("summer"))
    assert masked.words.inputs[0][3] == "[MASK]"
    assert masked.cell(f"{ATTENTION}.weights", "head=0,query=summer,key=She")["query"] == 3


def test_the_words_of_a_target() -> None:
    row = row_named("marian")
    inputs, decoder_inputs = row.batch(padding="none")
    words = Words([list("abcdefg")] * 3, [list("tuvwxy")] * 3, vocabulary=list("abcdefghijklmnopqrstuvw"))
    base = trace(row.model(), inputs, decoder_inputs, words=words)
    crossing = "decoder.blocks.1.cross_attention"
    found = base.intervene(gf.forbid("1.cross_attention", "u", "b"), gf.ChangeWord("v", "e", 1, "decoder_inputs"))
    assert found.interventions == (gf.forbid(crossing, 1, 1), gf.ChangeWord(2, 4, 1, "decoder_inputs"))
    assert found.words.decoder_inputs[1] == list("tuewxy")
    assert found.verify().holds


WRONG: list[Any] = [
    "zero_head",
    None,
    [gf.zero_head(ATTENTION, 0)],
    gf.zero_head,
    gf.ChangeWord("dislikes", 3),
    gf.ChangeWord("likes", "hates"),
    gf.ChangeWord(1.5, 3),  # type: ignore[arg-type]  # refused
    gf.ChangeWord(1, None),  # type: ignore[arg-type]  # refused
    gf.ChangeWord(1, 3, sentence="she"),  # type: ignore[arg-type]  # refused
    gf.ChangeWord(1, 3, where=0),  # type: ignore[arg-type]  # refused
    gf.MaskWord("likes", "<mask>"),
    gf.MaskWord(True, 3),
    gf.forbid(ATTENTION, "she", "nobody"),
    gf.forbid(ATTENTION, "she", "she", head="one"),  # type: ignore[arg-type]  # refused
    gf.forbid("attention", "she", "she"),
    gf.forbid(3, 0, 0),  # type: ignore[arg-type]  # refused
    gf.zero_head(ATTENTION, "1"),  # type: ignore[arg-type]  # refused
    gf.zero_head("head", 1),
    gf.zero_layer("encoder.blocks.9"),
    gf.average_layer(""),
    gf.Replace(3, 0.0),  # type: ignore[arg-type]  # refused
    gf.Replace(f"{ATTENTION}.may_look", "mean"),
    gf.Replace("weights", 0.0),
    gf.Replace("*.hidden", 0.0, 3),  # type: ignore[arg-type]  # refused
    gf.Replace("*", 0.0, "head=1"),
    gf.set_number("0.weights", "head=1,query=likes,key=nobody", 1.0),
    gf.set_number("0.weights", "heads=1", 1.0),
    gf.set_number("0.weights", "head", 1.0),
    gf.set_number("0.weights", {"head": 9}, 1.0),
    gf.set_number("0.weights", (0, "she"), 1.0),  # type: ignore[arg-type]  # refused
]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("step", WRONG, ids=lambda step: repr(step).split(" at 0x")[0])
def test_a_wrong_one_is_one_sentence(step: Any) -> None:
    base = plain()
    if not isinstance(step, list):
        with pytest.raises(GlassformerError) as caught:
            plain(interventions=(step,))
        assert "\n" not in str(caught.value)
    with pytest.raises(GlassformerError) as caught:
        base.intervene(step)
    assert "\n" not in str(caught.value)


def test_one_that_cannot_be_made_is_one_sentence() -> None:
    for by in (None, [1.0], True, "many"):
        with refused(ConfigError, wanted="head.logits", got=repr(by)):
            gf.Replace("head.logits", by)  # type: ignore[arg-type]  # refused
        with refused(ConfigError, wanted="head.logits", got=repr(by)):
            gf.set_number("head.logits", (0, 0), by)  # type: ignore[arg-type]  # refused
    with refused(UnknownNameError, wanted="'head.logit'"):
        gf.patch(plain(), "head.logit")
    with refused(UnknownNameError, wanted="'head.logits'"):
        gf.patch({}, "head.logits")
    with refused(ConfigError, got="str"):
        gf.patch("other", "head.logits")  # type: ignore[arg-type]  # refused


# --------------------------------------------------------------------------- listed in the trace


def test_a_changed_trace_says_so() -> None:
    base = plain()
    one = base.intervene(gf.zero_head(ATTENTION, 0))
    assert "1 change by hand" in repr(one)
    assert "2 changes by hand" in repr(one.intervene(gf.ChangeWord(0, 9)))
    assert "by hand" not in repr(base)
    assert repr(one.undo()) == repr(base)


@pytest.mark.parametrize("weights", [True, False], ids=["with weights", "with its model"])
def test_a_saved_one_is_verified_as_before(tmp_path: Path, weights: bool) -> None:
    model, other = bert_model(), gf.trace(bert_model(), Inputs(ids=torch.tensor([[8, 9, 10, 3, 4]])))
    base = gf.trace(model, Inputs(ids=torch.tensor([[3, 4, 5, 6, 7]])), keep=())
    name = "encoder.blocks.0.feed_forward.hidden"
    for steps in (
        (gf.zero_head(ATTENTION, 0), gf.forbid(ATTENTION, 1, 2), gf.patch(other, name, (0, 1))),
        (gf.ChangeWord(1, 9), gf.MaskWord(2, 4), gf.set_number("encoder.embed.sum", (0, 0, 0), -math.inf)),
    ):
        found = base.intervene(*steps)
        found.save(tmp_path / "changed", weights=weights)
        read = load_trace(tmp_path / "changed", None if weights else model)
        assert read.interventions == found.interventions
        assert all(torch.equal(read[each].nan_to_num(), found[each].nan_to_num()) for each in found)
        checked, before = read.verify(), found.verify()
        assert (checked.by_hand, checked.unchecked, checked.holds) == (before.by_hand, (), before.holds)
        assert read.honesty == found.honesty
    with refused(ConfigError, got="words", do="python"):
        read.undo()


def test_without_word_changes_a_saved_one_can_be_changed_on(tmp_path: Path) -> None:
    base = plain()
    one = base.intervene(gf.zero_head(ATTENTION, 0))
    one.save(tmp_path / "one", weights=True)
    read = load_trace(tmp_path / "one")
    assert torch.equal(read.undo()["head.logits"], base["head.logits"])
    two = gf.forbid(ATTENTION, 1, 2)
    assert torch.equal(read.intervene(two)["head.logits"], one.intervene(two)["head.logits"])


def test_a_saved_one_knows_what_was_set_by_hand(tmp_path: Path) -> None:
    found = plain().intervene(gf.zero_head(ATTENTION, 0), gf.forbid(ATTENTION, "the", "she"))
    found.save(tmp_path / "changed")
    read = load_trace(tmp_path / "changed")
    assert repr(read) == repr(found)
    assert read.python == found.python
    checked = read.verify()
    assert checked.by_hand == found.verify().by_hand
    assert set(checked.unchecked) | {check.name for check in checked.checks} | set(checked.by_hand) == set(found)
    assert checked.worst.error <= checked.limit
    assert "load_trace(path, model)" in str(checked)
    read.save(tmp_path / "again")
    again = load_trace(tmp_path / "again")
    assert (again.python, again.verify().by_hand) == (found.python, checked.by_hand)
