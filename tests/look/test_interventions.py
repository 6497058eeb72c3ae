"""What if: every intervention does what it says, can be undone, and can be printed as Python."""

import copy
import math
import pickle

import pytest
import torch

from glassformer.api.trace import Trace, trace
from glassformer.base.errors import ConfigError, PickleRefusedError, ShapeError, UnknownNameError
from glassformer.look.trace import interventions
from glassformer.look.trace.interventions import (
    ChangeWord,
    Intervention,
    MaskWord,
    Replace,
    allow,
    average_head,
    average_layer,
    forbid,
    patch,
    set_number,
    zero_head,
    zero_layer,
)
from glassformer.models.families import slides
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from tests.contracts.families import Row
from tests.look.rows import ATTENTION, FILLS, bert_model, row_named, slides_trace
from tests.refusals import refused

IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 10]])


def plain() -> Trace:
    return trace(bert_model(), Inputs(ids=IDS))


def test_changing_a_word_is_running_the_changed_sentence() -> None:
    changed = IDS.clone()
    changed[1, 2] = 4
    found = plain().intervene(ChangeWord(2, 4, sentence=1))
    assert torch.equal(found["head.logits"], trace(bert_model(), Inputs(ids=changed))["head.logits"])
    assert found.verify().holds


def test_hiding_a_word_hides_it_as_the_model_does() -> None:
    found = slides_trace().intervene(MaskWord(3))
    assert not found["encoder.embed.word"][0, 3].any()
    assert not found[f"{ATTENTION}.weights"][..., 3].any()
    assert found.verify().holds
    masked = plain().intervene(MaskWord(0, mask_id=11))
    assert masked.facts["inputs.ids"][0, 0] == 11


@pytest.mark.parametrize("row", FILLS, ids=str)
@pytest.mark.parametrize("head", [None, 1])
def test_forbidding_a_cell(row: Row, head: int | None) -> None:
    inputs = Inputs(ids=IDS)
    found = trace(row.model(), inputs).intervene(forbid(ATTENTION, query=1, key=2, head=head, sentence=1))
    weights = found[f"{ATTENTION}.weights"]
    assert found[f"{ATTENTION}.may_look"].shape == (2, 3, 4, 4)
    # An added or set −1000 leaves exp(−1000) = 0; nothing else in the row is forbidden.
    assert not weights[1, slice(None) if head is None else head, 1, 2].any()
    assert (weights != 0).sum() == weights.numel() - (3 if head is None else 1)
    checked = found.verify()
    assert checked.holds
    assert checked.by_hand == (f"{ATTENTION}.may_look",)


def test_forbidding_the_last_cell_of_a_row_gives_zeros_and_never_nan() -> None:
    row = next(row for row in FILLS if row.name == "bert, fill set -inf")
    steps = [forbid(ATTENTION, query=1, key=key, head=0) for key in range(4)]
    found = trace(row.model(), Inputs(ids=IDS)).intervene(*steps)
    assert not found[f"{ATTENTION}.weights"][0, 0, 1].any()
    assert not found["head.logits"].isnan().any()
    assert found.verify().holds


def test_allowing_a_masked_word() -> None:
    found = slides_trace().intervene(allow(ATTENTION, query=0, key=1))
    assert (found[f"{ATTENTION}.weights"][0, :, 0, 1] > 0.01).all()
    assert not found[f"{ATTENTION}.weights"][0, :, 1, 1].any()
    assert found.verify().holds


@pytest.mark.parametrize("fill", [-1000.0, -math.inf])
def test_allowing_padding_whatever_forbids_it(fill: float) -> None:
    """It is out of reach, which no word is that was given by hand; its neighbour in the row stays there."""
    model = Row("slides", "slides", {"fill": fill}).model()
    real = torch.tensor([[True, True, False, False], [True] * 4])
    found = trace(model, Inputs(ids=IDS, real=real)).intervene(allow(ATTENTION, query=0, key=2))
    weights = found[f"{ATTENTION}.weights"]
    assert (weights[0, :, 0, 2] > 0).all()
    assert not weights[0, :, 0, 3].any()
    assert not weights[0, :, 1, 2].any()
    assert found.verify().holds


def test_a_word_that_was_forbidden_all_words_looks_at_no_padding() -> None:
    model = Row("slides", "slides").model()
    real = torch.tensor([[True, True, False, False], [True] * 4])
    steps = [forbid(ATTENTION, query=0, key=key) for key in range(2)]
    found = trace(model, Inputs(ids=IDS, real=real)).intervene(*steps)
    assert found[f"{ATTENTION}.weights"][0, :, 0].tolist() == [[0.5, 0.5, 0.0, 0.0]] * 2
    assert found.verify().holds
    explained = found.explain(f"{ATTENTION}.masked", {"sentence": 0, "head": 0, "query": 0, "key": 2})
    assert explained.value == explained.recomputed == -math.inf
    assert explained.terms[-1].what == "forbidden: out of reach"
    assert explained.formula.endswith("scores where one may look, else −1000; −∞ out of reach (padding)")
    assert "out of reach" in explained.mathml


def test_heads_that_give_nothing_or_their_mean() -> None:
    base = plain()
    zeroed, averaged = base.intervene(zero_head(ATTENTION, 1)), base.intervene(average_head(ATTENTION, 1))
    assert not zeroed[f"{ATTENTION}.merged"][..., 4:8].any()
    mean = base[f"{ATTENTION}.mixed"][:, 1].mean(dim=(0, 1))
    torch.testing.assert_close(averaged[f"{ATTENTION}.mixed"][:, 1], mean.expand(2, 4, -1))
    for found in (zeroed, averaged):
        assert torch.equal(found[f"{ATTENTION}.mixed"][:, 0], base[f"{ATTENTION}.mixed"][:, 0])
        assert found.verify().holds


def test_layers_that_give_nothing_or_their_mean() -> None:
    before = row_named("gpt2").model()
    base = trace(before, Inputs(ids=IDS))
    zeroed = base.intervene(zero_layer("decoder.blocks.1"))
    through = zeroed["decoder.blocks.1.feed_forward.residual"]
    assert torch.equal(through, zeroed["decoder.blocks.0.feed_forward.residual"])
    averaged = base.intervene(average_layer("decoder.blocks.1.feed_forward"))
    mean = base["decoder.blocks.1.feed_forward.output"].mean(dim=(0, 1))
    torch.testing.assert_close(averaged["decoder.blocks.1.feed_forward.output"], mean.expand(2, 4, -1))
    same = "decoder.blocks.1.self_attention.output"
    assert torch.equal(averaged[same], base[same])
    assert zeroed.verify().holds
    assert averaged.verify().holds


def test_a_word_that_is_put_in_is_not_masked() -> None:
    masked = slides_trace()
    model = slides()
    found = masked.intervene(ChangeWord(1, 1))  # "likes" in the place of the mask
    other = trace(
        build(model, seed=3).double(),
        Inputs(ids=torch.tensor([[0, 1, 0, 3, 4]]), masked_words=torch.tensor([[False, False, True, False, False]])),
        scored_at=[1, 2],
    )
    assert not torch.equal(found["head.logits"], masked["head.logits"])
    for name in other:
        assert torch.equal(found[name], other[name]), name
    again = found.intervene(MaskWord(1))
    assert torch.equal(again["head.logits"], masked["head.logits"])
    assert found.verify().holds


@pytest.mark.parametrize("step", [average_head(ATTENTION, 1), average_layer("encoder.blocks.1.feed_forward")], ids=repr)
def test_a_mean_leaves_padding_out(step: Replace) -> None:
    real = torch.tensor([[True, True, True, False], [False, True, True, True]])
    base = trace(bert_model(), Inputs(ids=IDS, real=real))
    found = base.intervene(step)
    before, after = (each[step.where][:, 1] if step.cell else each[step.where] for each in (base, found))
    torch.testing.assert_close(after, before[real].mean(dim=0).expand_as(after))
    scribbled = trace(bert_model(), Inputs(ids=IDS.where(real, 1), real=real)).intervene(step)
    torch.testing.assert_close(scribbled["head.logits"][real.flatten()], found["head.logits"][real.flatten()])
    assert found.verify().holds


def test_a_mean_over_a_decoders_own_tokens() -> None:
    row = row_named("marian")
    inputs, decoder_inputs = row.batch(padding="left")
    assert decoder_inputs is not None
    base = trace(row.model(), inputs, decoder_inputs)
    crossing = "decoder.blocks.0.cross_attention"
    found = base.intervene(average_head(crossing, 0))
    mean = base[f"{crossing}.mixed"][:, 0][decoder_inputs.real].mean(dim=0)
    torch.testing.assert_close(found[f"{crossing}.mixed"][0, 0, 0], mean)
    keys = f"{crossing}.key"
    found = base.intervene(Replace(keys, "mean", (None, 0)))
    torch.testing.assert_close(found[keys][0, 0, 0], base[keys][:, 0][inputs.real].mean(dim=0))
    assert found.verify().holds
    weights = f"{crossing}.weights"
    found = base.intervene(Replace(weights, "mean", (None, 0, 2)))  # over the keys at which one query looks
    torch.testing.assert_close(found[weights][0, 0, 2, 0], base[weights][:, 0, 2][inputs.real].mean())


def test_setting_a_number() -> None:
    name = "encoder.blocks.1.self_attention.scores"
    found = plain().intervene(set_number(name, (0, 2, 1, 3), 7.5))
    assert found[name][0, 2, 1, 3] == 7.5
    assert found.verify().by_hand == (name,)
    assert found.verify().holds


def test_patching_from_another_trace() -> None:
    one, two = plain(), trace(bert_model(), Inputs(ids=IDS.flip(1)))
    name = "encoder.blocks.0.feed_forward.norm"
    whole = one.intervene(patch(two, name))
    torch.testing.assert_close(whole["head.logits"], two["head.logits"], rtol=1e-12, atol=1e-12)
    part = one.intervene(patch(two, name, (0, 2)))
    assert torch.equal(part[name][0, 2], two[name][0, 2])
    assert torch.equal(part[name][1], one[name][1])
    short = trace(bert_model(), Inputs(ids=IDS[:, :3]))
    with refused(ShapeError, wanted="[2, 4, 12]", got="[2, 3, 12]"):
        one.intervene(patch(short, name))


def test_interventions_hold_in_what_is_computed_again() -> None:
    steps: tuple[Intervention, ...] = (zero_head(ATTENTION, 0), forbid(ATTENTION, 1, 2), ChangeWord(0, 9))
    stored = trace(bert_model(), Inputs(ids=IDS), keep="*", interventions=steps)
    again = trace(bert_model(), Inputs(ids=IDS), keep=(), interventions=steps)
    for name in stored:
        torch.testing.assert_close(stored[name], again[name], rtol=1e-12, atol=1e-12)


def test_they_are_undone_one_by_one_and_the_first_trace_stays() -> None:
    base = plain()
    logits = base["head.logits"].clone()
    one = base.intervene(zero_head(ATTENTION, 0))
    two = one.intervene(ChangeWord(0, 9), zero_layer("encoder.blocks.1"))
    assert len(two.interventions) == 3
    assert torch.equal(two.undo(2)["head.logits"], one["head.logits"])
    assert torch.equal(two.undo(3)["head.logits"], logits)
    assert two.undo(99).interventions == ()
    assert torch.equal(base["head.logits"], logits)
    assert not torch.equal(one["head.logits"], logits)


def test_printed_as_python_they_make_the_same_run_again() -> None:
    base, other = plain(), trace(bert_model(), Inputs(ids=IDS.flip(1)))
    found = base.intervene(
        zero_head(ATTENTION, 1),
        average_head(ATTENTION, 2),
        forbid(ATTENTION, 0, 1, head=0),
        allow(ATTENTION, 2, 2),
        ChangeWord(1, 5),
        MaskWord(2, mask_id=3),
        set_number("encoder.embed.sum", (0, 0, 0), -1.25),
        set_number(f"{ATTENTION}.scores", (0, 0, 0, 1), -math.inf),
        average_layer("encoder.blocks.1.feed_forward"),
        patch(other, "encoder.blocks.0.feed_forward.hidden", (1,)),
    )
    names = {**vars(interventions), "trace": base, "other": other}
    again = eval(found.python, names)
    assert isinstance(again, Trace)
    assert again.interventions == found.interventions
    assert torch.equal(again["head.logits"], found["head.logits"])
    assert base.python == "trace"


def test_what_changes_nothing_is_refused() -> None:
    with refused(UnknownNameError, wanted="zero_head('encoder.blocks.0.self_atention', 0)", do=f"'{ATTENTION}.mixed'"):
        plain().intervene(zero_head("encoder.blocks.0.self_atention", 0))
    with refused(ConfigError, wanted=repr(MaskWord(1)), do="mask_id"):
        plain().intervene(MaskWord(1))
    for step in (
        ChangeWord(1, 5, where="decoder_inputs"),
        MaskWord(1, mask_id=3, where="decoder_inputs"),
        ChangeWord(1, 5, where="input"),
    ):
        with refused(UnknownNameError, wanted=repr(step), do="inputs"):
            plain().intervene(step)
    for by in ("other", "meen"):
        with refused(ConfigError, wanted="head.logits", got=repr(by)):
            Replace("head.logits", by)  # type: ignore[arg-type]  # what is refused
    vectors = trace(bert_model(), Inputs(vectors=torch.zeros(1, 3, 12, dtype=torch.float64)))
    for step in (ChangeWord(1, 5), MaskWord(1, mask_id=3)):
        with refused(ConfigError, wanted=repr(step), got="vectors"):
            vectors.intervene(step)


SUM = "encoder.embed.sum"

WRITTEN = (
    f"zero_head('{ATTENTION}', 7)",
    f"average_head('{ATTENTION}', -4)",
    "zero_layer('encoder.blocks.1')",
    "average_layer('encoder.blocks.1.feed_forward')",
    "zero_layer('encoder.blocks.*')",
    f"set_number('{SUM}', (0, 4, 0), 1.5)",
    f"set_number('{SUM}', 'token=likes', 0.0)",
    f"set_number('{ATTENTION}.scores', (0,), float('-inf'))",
    f"Replace('{ATTENTION}.mixed', 'mean', (0,))",
    "Replace('head.*', 0.0, ())",
    "ChangeWord(token=9, id=5, sentence=0, where='inputs')",
)


@pytest.mark.parametrize("written", WRITTEN)
def test_an_intervention_is_shown_as_it_is_written(written: str) -> None:
    step = eval(written, vars(interventions))
    assert repr(step) == written
    assert eval(repr(step), vars(interventions)) == step


def test_the_refusal_of_an_intervention_names_the_call_that_made_it() -> None:
    step = zero_head(ATTENTION, head=7)
    with refused(ShapeError, wanted=f"zero_head('{ATTENTION}', 7)"):
        plain().intervene(step)


OUTSIDE: list[tuple[Intervention, str, str]] = [
    (ChangeWord(9, 5), "[2, 4]", "[0, 9]"),
    (ChangeWord(1, 5, sentence=2), "[2, 4]", "[2, 1]"),
    (ChangeWord(1, 23), "inputs.ids must be from 0 to 22", "23"),
    (MaskWord(4, mask_id=3), "[2, 4]", "[0, 4]"),
    (forbid(ATTENTION, query=99, key=0), "[2, 3, 4, 4]", "[0, None, 99, 0]"),
    (allow(ATTENTION, query=0, key=0, head=3), "[2, 3, 4, 4]", "[0, 3, 0, 0]"),
    (zero_head(ATTENTION, head=7), "[2, 3, 4, 4]", "[None, 7]"),
    (average_head(ATTENTION, head=-4), "[2, 3, 4, 4]", "[None, -4]"),
    (set_number(SUM, (0, 4, 0), 1.0), "[2, 4, 12]", "[0, 4, 0]"),
    (set_number(SUM, (0, 0, 0, 0), 1.0), "[2, 4, 12]", "[0, 0, 0, 0]"),
    (patch({SUM: torch.zeros(2, 4, 12)}, SUM, (2,)), "[2, 4, 12]", "[2]"),
    (Replace(f"{ATTENTION}.mixed", "mean", (0,)), "mean", "['head', 'query', 'channel']"),
    (Replace("head.logits", "mean"), "mean", "['place', 'vocabulary']"),
]


@pytest.mark.parametrize(("step", "wanted", "got"), OUTSIDE, ids=repr)
def test_a_place_that_is_not_there_is_one_sentence(step: Intervention, wanted: str, got: str) -> None:
    with refused(ShapeError, wanted=wanted, got=got):
        plain().intervene(step)


def test_a_token_that_no_model_has_is_refused_before_it_runs() -> None:
    with refused(ShapeError, wanted="inputs.ids must be from 0 to 22", got="99"):
        trace(bert_model(), Inputs(ids=torch.tensor([[3, 99]])))
    with refused(ShapeError, wanted="inputs.masked_words must be [2, 4]", got="[1, 4]"):
        trace(bert_model(), Inputs(ids=IDS, masked_words=torch.ones(1, 4, dtype=torch.bool)))


def test_a_decoder_and_its_words() -> None:
    row = row_named("marian")
    inputs, decoder_inputs = row.batch(padding="right")
    base = trace(row.model(), inputs, decoder_inputs)
    crossing = "decoder.blocks.0.cross_attention"
    found = base.intervene(forbid(crossing, query=1, key=0, head=1), ChangeWord(2, 5, where="decoder_inputs"))
    assert found[f"{crossing}.weights"][0, 1, 1, 0] == 0
    assert found.facts["decoder_inputs.ids"][0, 2] == 5
    assert found.verify().holds


@pytest.mark.parametrize("number", [1e39, -1e308, 10**400])
def test_a_number_that_its_tensor_cannot_hold_is_refused(number: float) -> None:
    with refused(ConfigError, wanted="encoder.embed.word"):
        trace(bert_model().float(), Inputs(ids=IDS)).intervene(set_number("encoder.embed.word", (0, 0, 0), number))


def test_a_trace_is_copied_and_never_pickled() -> None:
    found = slides_trace()
    for copied in (copy.copy(found), copy.deepcopy(found)):
        assert torch.equal(copied["head.logits"], found["head.logits"])
    with refused(PickleRefusedError, wanted="Trace", do="save"):
        pickle.dumps(found)
