"""Every choice a config offers is built once and computes its formula: norms, arrangements, activations, gates.

B sentences · S tokens · W width · F feed-forward width
"""

import math
from collections.abc import Callable
from typing import Any, get_args

import pytest
import torch
from torch import Tensor, nn

from glassformer.base.settings import Settings
from glassformer.config import (
    Activation,
    EmbedConfig,
    FeedForwardConfig,
    FillConfig,
    InitialConfig,
    NormConfig,
    PositionConfig,
    SublayerConfig,
)
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.parts.context import Context
from glassformer.parts.embed import Embed
from glassformer.parts.feed_forward import ACTIVATIONS, build_feed_forward
from glassformer.parts.mask import build_fill
from glassformer.parts.norm import ARRANGEMENTS, NORMS, Sublayer, build_norm
from glassformer.parts.position import LAYOUTS, POSITIONS

pytestmark = pytest.mark.usefixtures("float64")
ROUNDING = 1e-12
"""float64: a mean over a dozen numbers and a root; each rounds at 1e-16."""

NOBODY = Context(masks={None: None})


def choices(group: type[Settings], field: str) -> set[Any]:
    """What a closed setting may be."""
    return set(get_args(group.model_fields[field].annotation))


def test_every_choice_has_a_part() -> None:
    """A legal value without a part would fail late; a part without a value could never be chosen."""
    assert set(get_args(Activation)) == set(ACTIVATIONS)
    assert choices(NormConfig, "kind") == set(NORMS)
    assert choices(SublayerConfig, "norm_at") == set(ARRANGEMENTS)
    assert choices(PositionConfig, "kind") == set(POSITIONS)
    assert choices(PositionConfig, "layout") == set(LAYOUTS)
    assert choices(EmbedConfig, "masked_words") == {"token", "zero_word", "zero_sum"}
    assert choices(FillConfig, "rule") == {"set", "add"}


SCALAR: dict[str, Callable[[float], float]] = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "tanh": math.tanh,
    "relu2": lambda x: max(x, 0.0) ** 2,
    "quick_gelu": lambda x: x / (1 + math.exp(-1.702 * x)),
    "gelu_10": lambda x: min(max(0.5 * x * (1 + math.erf(x / math.sqrt(2))), -10.0), 10.0),
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x))),
}
INPUTS = [-6.0, -1.5, -0.5, 0.0, 0.3, 1.0, 2.0, 5.0]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    assert ACTIVATIONS[name](torch.tensor(INPUTS)).tolist() == pytest.approx(
        [SCALAR[name](x) for x in INPUTS], abs=ROUNDING
    )


def test_the_two_gelus_are_different_functions() -> None:
    x = torch.tensor(INPUTS)
    assert 1e-4 < float((ACTIVATIONS["gelu"](x) - ACTIVATIONS["gelu_tanh"](x)).abs().max()) < 1e-2


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_feed_forward(name: Activation, gated: bool, shake: Callable[[nn.Module], None]) -> None:
    part = build_feed_forward(FeedForwardConfig(width=5, activation=name, gated=gated), 3)
    shake(part)
    weights = {key: value.detach() for key, value in part.named_parameters()}
    x = torch.randn(2, 4, 3)
    found = part(x, NOBODY)
    for row in range(2):
        for place in range(4):
            hidden = weights["hidden.weight"] @ x[row, place] + weights["hidden.bias"]  # [F]
            gate = weights["gate.weight"] @ x[row, place] + weights["gate.bias"] if gated else hidden  # [F]
            bent = torch.tensor([SCALAR[name](number) for number in gate.tolist()])  # [F]
            bent = bent * hidden if gated else bent
            expected = weights["output.weight"] @ bent + weights["output.bias"]  # [W]
            torch.testing.assert_close(found[row, place], expected, rtol=0, atol=ROUNDING)


def by_hand(config: NormConfig, part: nn.Module, x: list[float]) -> list[float]:
    """One vector normed, number by number."""
    middle = sum(x) / len(x) if config.kind == "layer" else 0.0
    spread = math.sqrt(sum((number - middle) ** 2 for number in x) / len(x) + config.epsilon)
    weights = part.get_parameter("weight").tolist()
    shifts = part.get_parameter("bias").tolist() if config.kind == "layer" and config.bias else [0.0] * len(x)
    return [(number - middle) / spread * w + b for number, w, b in zip(x, weights, shifts, strict=True)]


NORM_CONFIGS = [
    NormConfig(kind="layer", epsilon=1e-12),
    NormConfig(kind="layer", epsilon=0.5, bias=False),
    NormConfig(kind="rms", epsilon=1e-6, bias=False),
]


@pytest.mark.parametrize("config", NORM_CONFIGS, ids=lambda config: f"{config.kind} {config.epsilon}")
def test_norms(config: NormConfig, shake: Callable[[nn.Module], None]) -> None:
    part = build_norm(config, 6)
    shake(part)
    x = torch.randn(2, 3, 6) * 3 + 1
    expected = torch.tensor([[by_hand(config, part, vector) for vector in row] for row in x.tolist()])
    torch.testing.assert_close(part(x), expected, rtol=0, atol=ROUNDING)


def test_no_norm_is_the_identity() -> None:
    x = torch.randn(2, 3)
    assert build_norm(None, 3)(x) is x


class Double(nn.Module):
    """A body whose update is easy to follow."""

    def forward(self, x: Tensor, context: Context) -> Tensor:
        return 2 * x + 1


@pytest.mark.parametrize("kind", NORM_CONFIGS, ids=lambda config: f"{config.kind} {config.epsilon}")
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("place", ["after", "before", "branch"])
def test_where_norms_sit(place: Any, residual: bool, kind: NormConfig, shake: Callable[[nn.Module], None]) -> None:
    part = Sublayer(SublayerConfig(norm=kind, norm_at=place, residual=residual), 4, Double())
    shake(part)
    norm = part.norm
    x = torch.randn(2, 3, 4)
    stream = x if residual else torch.zeros_like(x)
    expected = {
        "after": norm(stream + 2 * x + 1),
        "before": stream + 2 * norm(x) + 1,
        "branch": stream + norm(2 * x + 1),
    }[place]
    torch.testing.assert_close(part(x, NOBODY), expected, rtol=0, atol=ROUNDING)


def test_no_norm_at_all() -> None:
    x = torch.randn(2, 3, 4)
    torch.testing.assert_close(Sublayer(SublayerConfig(), 4, Double())(x, NOBODY), 3 * x + 1)


@pytest.mark.parametrize("rule", ["set", "add"])
@pytest.mark.parametrize("value", [-1000.0, "-inf", "lowest"])
def test_every_fill_is_built(rule: str, value: float | str) -> None:
    fill = build_fill(rule, value)
    masked = fill(torch.zeros(1, 2), torch.tensor([[True, False]]))
    assert masked[0, 0] == 0
    assert masked[0, 1] <= -1000


@pytest.mark.parametrize("masked_words", ["token", "zero_word", "zero_sum"])
def test_where_masked_words_lose_their_vector(masked_words: Any, shake: Callable[[nn.Module], None]) -> None:
    config = EmbedConfig(
        vocabulary=7, position=PositionConfig(kind="sinusoidal"), segments=2, scaled=True, masked_words=masked_words
    )
    part = Embed(config, 4)
    shake(part)
    ids, segments = torch.tensor([[3, 5, 1]]), torch.tensor([[0, 1, 1]])
    is_masked = torch.tensor([[False, True, False]])
    positions = torch.arange(3)[None]
    assert part.segment is not None
    assert part.position is not None
    for place in range(3):
        word = part.word.weight[ids[0, place]] * 2.0  # √W = 2
        rest = part.position(positions, torch.float64)[0, place] + part.segment.weight[segments[0, place]]
        if bool(is_masked[0, place]) and masked_words != "token":
            word = word * 0
            rest = rest * 0 if masked_words == "zero_sum" else rest
        found = part(ids, None, positions, segments, is_masked, None)[0, place]
        torch.testing.assert_close(found, word + rest, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("kind", sorted(choices(InitialConfig, "kind")))
def test_fresh_weights_are_drawn_as_asked_and_the_same_for_a_seed(kind: Any) -> None:
    config = bert(size="tiny", vocabulary=500).model_copy(update={"initial": InitialConfig(kind=kind)})
    one, two, other = build(config, seed=3), build(config, seed=3), build(config, seed=4)
    assert one.encoder is not None
    weight = one.encoder.blocks[0].get_parameter("feed_forward.body.hidden.weight").detach()
    deviation = math.sqrt(2 / (128 + 512)) if kind == "xavier_uniform" else 0.02
    limit = {"xavier_uniform": deviation * math.sqrt(3), "truncated_normal": 0.04, "normal": math.inf}[kind]
    # Cut at two deviations a normal distribution keeps 0.8796 of its deviation.
    expected = deviation * (0.8796 if kind == "truncated_normal" else 1)
    assert float(weight.std()) == pytest.approx(expected, rel=0.02)
    assert float(weight.abs().max()) <= limit
    if kind == "normal":
        assert float(weight.abs().max()) > 0.06
    for (name, a), b, c in zip(one.named_parameters(), two.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)
        assert a.dim() == 1 or not torch.equal(a, c), name
