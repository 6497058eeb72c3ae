"""A text and its words shuffled: the four ways against runs that leave positions and future out in another manner.

S tokens · P words
"""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from glassformer.api.trace import trace
from glassformer.base.errors import ConfigError
from glassformer.look.summaries.shuffled import Shuffled, shuffled, units_of
from glassformer.look.trace.cell import Words
from glassformer.look.trace.interventions import Replace
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from tests.look.rows import row_named, with_attention
from tests.refusals import refused

TOKENS = ["[CLS]", "this", "cou", "##rse", "is", "the", "best", "[SEP]"]
IDS = torch.tensor([[2, 9, 5, 7, 11, 4, 8, 3]])
WORDS = [[1], [2, 3], [4], [5], [6]]


def found_of(model: Transformer, seed: int = 0) -> Shuffled:
    target = Inputs(ids=IDS) if model.encoder is not None and model.decoder is not None else None
    run = trace(model, Inputs(ids=IDS), target, words=Words(inputs=[TOKENS]), keep=())
    return shuffled(run, seed=seed)


def states_of(model: Transformer, positions: bool, causal: bool) -> Tensor:
    """The last states of the text, [S, W]: the future forbidden by hand, positions put to zero."""
    tokens = IDS.shape[1]
    may_look = torch.ones(1, tokens, tokens, dtype=torch.bool).tril() if causal else None
    inputs = Inputs(ids=IDS, may_look=may_look)
    if positions:
        states = model(inputs).states
        assert states is not None
        return states[0].detach()
    if model.config.family == "modernbert":
        states = model(replace(inputs, positions=torch.zeros_like(IDS))).states
        assert states is not None
        return states[0].detach()
    run = trace(model, inputs).intervene(Replace("*.embed.position", 0.0))
    last = [name for name in run if run.statement.formulas[name].axes == "sentence token channel"]
    inside = [name for name in last if not name.startswith(("head.", "sentence_head.", "token_head."))]
    return run[inside[-1]][0]


def everywhere(name: str) -> Transformer:
    """A model whose words see all words, however far."""
    model = row_named(name).model(dtype=torch.float64)
    config = with_attention(model.config, lambda body: body.model_copy(update={"window": None}))
    other = Transformer(config).double().eval()
    other.load_state_dict(model.state_dict())
    return other


@pytest.mark.parametrize("name", ["bert", "modernbert", "slides"])
def test_each_way_is_the_run_with_its_positions_and_mask(name: str) -> None:
    model = everywhere(name)
    for way in found_of(model).ways:
        expected = torch.stack([states_of(model, way.positions, way.causal)[unit].mean(dim=0) for unit in WORDS])
        torch.testing.assert_close(way.text.double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "modernbert", "slides", "llama", "t5"])
def test_words_are_the_same_only_without_positions_and_mask(name: str) -> None:
    """C-1 and C-44."""
    found = found_of(row_named(name).model(dtype=torch.float64))
    assert found.words == ("this", "course", "is", "the", "best")
    assert sorted(found.order) == [0, 1, 2, 3, 4]
    assert list(found.order) != [0, 1, 2, 3, 4]
    neither, causal, positions, both = (max(way.apart) for way in found.ways)
    assert neither < 1e-6
    assert min(causal, positions, both) > 1e-3


def test_the_seed_chooses_the_order() -> None:
    model = row_named("bert").model()
    assert found_of(model, 1).order == found_of(model, 1).order
    assert len({found_of(model, seed).order for seed in range(6)}) > 2


def test_the_words_of_each_kind_of_tokens() -> None:
    assert units_of(TOKENS) == WORDS
    assert units_of(["<s>", "This", "▁cou", "rse", "▁is", ".", "</s>"]) == [[1], [2, 3], [4], [5]]
    assert units_of(["She", "[MASK]", "[MASK]", "better"]) == [[0], [1], [2], [3]]
    assert units_of(["[CLS]", "[UNK]", "better", "[UNK]", "[SEP]"]) == [[1], [2], [3]]


def test_what_cannot_be_shuffled_is_refused() -> None:
    model = row_named("bert").model()
    run = trace(model, Inputs(ids=IDS[:, :2]), words=Words(inputs=[TOKENS[:2]]), keep=())
    with refused(ConfigError, wanted=("2 different words",), got="words: 1, tokens: 2"):
        shuffled(run)
    with refused(ConfigError, wanted=("model",), got="a run without"):
        shuffled(replace(run, original=None))
