"""Names as people write them: whole, short, as patterns."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import glassformer as gf
from glassformer.api.trace import trace
from glassformer.base.errors import UnknownNameError
from glassformer.look.trace.asked import chosen, full_name
from glassformer.models.inputs import Inputs
from tests.look.rows import ATTENTION, bert_model, row_named
from tests.refusals import refused

NAMES = tuple(trace(row_named("bert, next sentence").model(), Inputs(ids=torch.tensor([[3, 4]]))))
TWO = tuple(trace(row_named("t5").model(), *row_named("t5").batch()))


@pytest.mark.parametrize(
    ("asked", "known", "meant"),
    [
        ("head.logits", NAMES, "head.logits"),
        ("pooled", NAMES, "sentence_head.pooled"),
        ("0.self_attention.weights", NAMES, f"{ATTENTION}.weights"),
        ("0.weights", NAMES, f"{ATTENTION}.weights"),
        ("blocks.0.attention.weights", NAMES, f"{ATTENTION}.weights"),
        ("encoder.norm", TWO, "encoder.norm"),
        ("encoder.1.weights", TWO, "encoder.blocks.1.self_attention.weights"),
        ("2.cross_attention.mixed", TWO, "decoder.blocks.2.cross_attention.mixed"),
    ],
)
def test_a_short_name_is_the_one_tensor_that_it_fits(asked: str, known: tuple[str, ...], meant: str) -> None:
    assert full_name(asked, known) == meant
    assert chosen(asked, known) == [meant]


@pytest.mark.parametrize(
    ("asked", "known", "do"),
    [
        ("weights", NAMES, f"{ATTENTION}.weights"),
        ("logits", NAMES, "sentence_head.logits"),
        ("0.attention.weights", TWO, "decoder.blocks.0.cross_attention.weights"),
    ],
)
def test_one_that_fits_several_is_refused_with_their_names(asked: str, known: tuple[str, ...], do: str) -> None:
    for ask in (full_name, chosen):
        with refused(UnknownNameError, wanted=repr(asked), do=do):
            ask(asked, known)


@pytest.mark.parametrize("asked", ["weight", "eights", "1.0.weights", "weights.0", "", "head.", "*.wieghts", 3])
def test_one_that_fits_none_is_refused(asked: str) -> None:
    with refused(UnknownNameError):
        full_name(asked, NAMES)
    with refused(UnknownNameError):
        chosen([asked], NAMES)


def test_patterns_are_fetched_together() -> None:
    found = trace(bert_model(), Inputs(ids=torch.tensor([[3, 4, 5]])), keep=())
    weights = [f"encoder.blocks.{block}.self_attention.weights" for block in range(2)]
    for pattern in ("encoder.*.attention.weights", "*.weights", ["0.weights", "*.1.*.weights"]):
        fetched = found.fetch(pattern)
        assert list(fetched) == weights
        assert all(torch.equal(tensor, found[name]) for name, tensor in fetched.items())
    with refused(UnknownNameError, wanted="*.wieghts"):
        found.fetch("*.wieghts")
    with refused(UnknownNameError, got="*.weights", do="fetch()"):
        found["*.weights"]


def test_a_trace_takes_short_names_everywhere() -> None:
    found = trace(
        bert_model(), Inputs(ids=torch.tensor([[3, 4, 5]])), keep="*", gradients="logits[place=0,vocabulary=1]"
    )
    whole, short = "encoder.blocks.1.feed_forward.hidden", "1.hidden"
    assert torch.equal(found[short], found[whole])
    assert torch.equal(found.gradient(short), found.gradient(whole))
    assert found.kept(short)
    assert found.axes(short) == found.axes(whole)
    assert found.explain(f"{short}[token=0,channel=1]") == found.explain(whole, "token=0,channel=1")
    assert found.cell(short, "token=0,channel=1") == {"sentence": 0, "token": 0, "channel": 1}
    assert found.verify(short).checks == found.verify(whole).checks
    assert short not in found
    assert whole in found


@pytest.mark.parametrize("given", [None, 3, 1.5, 2**70, b"a", object], ids=repr)
def test_what_is_no_name_number_or_model_is_refused_in_one_sentence(given: Any) -> None:
    found = trace(row_named("bert, next sentence").model(), Inputs(ids=torch.tensor([[3, 4]])))
    calls: list[Callable[[], object]] = [
        lambda: found.explain(given),
        lambda: found.intervene(gf.zero_layer(given)),
        lambda: found.intervene(gf.ChangeWord(0, given if given != 3 else -(2**70))),
        lambda: found.undo(str(given)),  # type: ignore[arg-type]
        lambda: gf.build(given),
        lambda: gf.family_config("bert", given),
        lambda: gf.head_importance(given, "a text"),
    ]
    for call in calls + [lambda: found.verify(given)] * (given is not None):
        with pytest.raises(gf.GlassformerError):
            call()
