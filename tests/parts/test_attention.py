"""Attention is the paper's formula, however it is written down and whichever kernel computes it.

B sentences · S tokens · Q query tokens · K key tokens · W width · H heads · G key-value heads · D query size
"""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bench.attention_four_ways import Problem, loop_over_cells, module, one_matrix_per_head, split_after_projection
from glassformer.config import AttentionConfig, FillConfig
from glassformer.parts.attention import Attention, CrossAttention, merge_heads, split_heads
from glassformer.parts.cache import Cache
from glassformer.parts.context import Context
from glassformer.parts.dropout import DropoutKey
from glassformer.parts.mask import build_fill

ROUNDING = 1e-12
"""Sums of a few dozen products in float64 differ by their order alone: some 1e-15 each; three digits to spare."""

pytestmark = pytest.mark.usefixtures("float64")


def attention(
    *,
    heads: int = 4,
    key_value_heads: int | None = None,
    query_size: int = 3,
    value_size: int = 5,
    width: int = 8,
    rule: Literal["set", "add"] = "set",
    value: float | Literal["-inf", "lowest"] = "-inf",
    scaled: bool = True,
    dropout: float = 0.0,
) -> Attention:
    config = AttentionConfig(
        heads=heads,
        key_value_heads=key_value_heads or heads,
        query_size=query_size,
        value_size=value_size,
        fill=FillConfig(rule=rule, value=value),
        scaled=scaled,
        dropout=dropout,
    )
    return Attention(config, width)


def seen(may_look: Tensor | None, dropout_key: DropoutKey | None = None) -> Context:
    return Context(masks={None: may_look}, dropout_key=dropout_key)


def holes(tokens: int = 6, batch: int = 2) -> Tensor:
    """Who may look, [B, 1, S, S]: random, but each token sees itself."""
    mask = torch.rand(batch, 1, tokens, tokens) < 0.5
    return mask | torch.eye(tokens, dtype=torch.bool)  # [B, 1, S, S]


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"batch": 1, "tokens": 1},
        {"heads": 1},
        {"heads": 3, "width": 7, "query_size": 2, "value_size": 5},
        {"heads": 4, "width": 8, "query_size": 6, "value_size": 1},
    ],
    ids=str,
)
def test_four_ways_of_writing_it_are_one(sizes: dict[str, int]) -> None:
    problem = Problem.draw(**sizes)
    expected = loop_over_cells(problem)
    for answer in (module(problem)(), split_after_projection(problem), one_matrix_per_head(problem)):
        np.testing.assert_allclose(answer, expected, rtol=0, atol=ROUNDING)


def test_a_wrong_way_would_be_noticed() -> None:
    """The order of the heads matters to the output projection: exchanged heads are not the same attention."""
    problem = Problem.draw(query_size=3)
    swapped = np.roll(problem.query, problem.query_size, axis=0)
    other = Problem(**{**vars(problem), "query": swapped})
    assert np.abs(loop_over_cells(other) - loop_over_cells(problem)).max() > 0.01


def test_heads_split_and_merge_back() -> None:
    x = torch.randn(2, 5, 12)
    assert torch.equal(merge_heads(split_heads(x, 3)), x)
    assert torch.equal(split_heads(x, 3)[1, 2, 4], x[1, 4, 8:12])


def test_fewer_key_value_heads_are_repeated_ones(shake: Callable[[nn.Module], None]) -> None:
    few, many = attention(key_value_heads=2), attention()
    shake(few)
    with torch.no_grad():
        for name in ("query", "output"):
            many.get_submodule(name).load_state_dict(few.get_submodule(name).state_dict())
        for name, size in (("key", 3), ("value", 5)):
            for parameter in ("weight", "bias"):
                grouped = few.get_submodule(name).get_parameter(parameter).unflatten(0, (2, size))
                repeated = grouped.repeat_interleave(2, dim=0).flatten(0, 1)
                many.get_submodule(name).get_parameter(parameter).copy_(repeated)
    x, may_look = torch.randn(2, 6, 8), holes()
    torch.testing.assert_close(few(x, seen(may_look)), many(x, seen(may_look)), rtol=0, atol=ROUNDING)


def test_without_scaling_scores_are_plain_dot_products(shake: Callable[[nn.Module], None]) -> None:
    plain, scaled = attention(scaled=False), attention()
    shake(plain)
    scaled.load_state_dict(plain.state_dict())
    with torch.no_grad():  # queries grown by √D undo the scaling, biases too
        scaled.query.weight.mul_(math.sqrt(3))
        scaled.query.bias.mul_(math.sqrt(3))
    x = torch.randn(2, 6, 8)
    torch.testing.assert_close(plain(x, seen(None)), scaled(x, seen(None)), rtol=0, atol=ROUNDING)


FILLS: list[tuple[Literal["set", "add"], float | Literal["-inf", "lowest"]]] = [
    ("set", "-inf"),
    ("set", -1000.0),
    ("set", "lowest"),
    ("add", "-inf"),
    ("add", -10000.0),
    ("add", "lowest"),
]


TOLERANCES = {
    torch.float64: ROUNDING,
    # BERT's -10000 is added to scores of some 10: in float32 that rounds them to 2^-10, in both paths alike.
    torch.float32: 2e-4,
    # Eight bits of mantissa, in scores, weights and gradients of some 10.
    torch.bfloat16: 0.25,
}


FUSIBLE = [
    (rule, value, masked_words)
    for rule, value in FILLS
    for masked_words in ("nothing", "holes", "whole rows", "padding")
    if masked_words == "nothing" or build_fill(rule, value).fusible
]


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize(("rule", "value", "masked_words"), FUSIBLE)
def test_the_fused_kernel_agrees_with_the_formula(
    rule: Literal["set", "add"],
    value: float | Literal["-inf", "lowest"],
    masked_words: str,
    dtype: torch.dtype,
    shake: Callable[[nn.Module], None],
) -> None:
    """Forward and backward, also where a row has nothing to look at."""
    part = attention(rule=rule, value=value, key_value_heads=2)
    shake(part)
    part.to(dtype)
    padded = torch.tensor([[True] * 4 + [False] * 2, [False] * 6])[:, None, None]  # [B, 1, 1, S]
    may_look = {"nothing": None, "holes": holes(), "whole rows": holes(), "padding": padded}[masked_words]
    if masked_words == "whole rows" and may_look is not None:
        may_look[0, :, 2] = False
        may_look[1] = False
    kept = torch.ones(2, 1, 6, 1, dtype=torch.bool)  # [B, 1, Q, 1]
    if may_look is not None and dtype == torch.bfloat16 and value == -10000.0:
        # Where there is no key, the kernel adds in float32 and the formula in bfloat16, where -10000 swallows scores.
        kept = may_look.any(dim=-1, keepdim=True).expand_as(kept)
    results = []
    for mix in (part.explicit, part.fused):
        torch.manual_seed(3)
        x = torch.randn(2, 6, 8, dtype=torch.float64).to(dtype).requires_grad_()
        context = seen(may_look)
        mixed = mix(*part.queries_keys_values(x, context), may_look, None, context)
        answer = torch.where(kept, mixed, 0.0)  # [B, H, Q, E]
        answer.square().sum().backward()
        assert x.grad is not None
        assert bool(mixed.isfinite().all())
        assert bool(x.grad.isfinite().all())
        results.append((answer.detach(), x.grad))
    for explicit, fused in zip(*results, strict=True):
        torch.testing.assert_close(fused, explicit, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])


def test_the_path_is_chosen_by_need(shake: Callable[[nn.Module], None]) -> None:
    """Setting a finite number is a rule no kernel knows; everything else may go through the kernel."""
    may_look = holes()
    assert attention(rule="set", value=-1000.0).must_be_explicit(may_look, seen(may_look))
    assert not attention(rule="set", value=-1000.0).must_be_explicit(None, seen(None))
    assert not attention(rule="add", value=-1000.0).must_be_explicit(may_look, seen(may_look))
    assert not attention().must_be_explicit(may_look, seen(may_look))


def test_two_fills_at_once_are_a_rule_no_kernel_knows() -> None:
    """Minus infinity needs one fill for all, and where nothing is out of reach the kernel stays."""
    may_look = holes()
    for reachable, explicit in ((holes() | may_look, True), (None, False)):
        context = Context(masks={None: may_look}, reachable={None: reachable})
        assert attention(rule="add", value=-1000.0).must_be_explicit(may_look, context) is explicit
        assert not attention().must_be_explicit(may_look, context)


@pytest.mark.parametrize(("rule", "value"), [fill for fill in FILLS if fill != ("set", -1000.0)])
def test_paths_agree_under_the_same_dropout(
    rule: Literal["set", "add"], value: float | Literal["-inf", "lowest"], shake: Callable[[nn.Module], None]
) -> None:
    """Whatever path training takes, the weights dropped are those of the formula: dropout sits on probabilities."""
    part = attention(rule=rule, value=value, dropout=0.4)
    shake(part)
    part.train()
    dropout_key = DropoutKey(torch.tensor(7, dtype=torch.int32), torch.arange(2, dtype=torch.int32))
    may_look, x = holes(), torch.randn(2, 6, 8)
    context = seen(may_look, dropout_key)
    query, key, value_ = part.queries_keys_values(x, context)
    scores = query @ key.transpose(-1, -2) / math.sqrt(3)  # [B, H, Q, K]
    weights = scores.masked_fill(~may_look, float("-inf")).softmax(dim=-1)
    kept = part.dropout.keep(weights, dropout_key)
    expected = part.output(merge_heads(weights * kept / 0.6 @ value_))
    # float32 rounds 1/(1-0.4) no more than float64 does; "lowest" leaves forbidden weights below 1e-300.
    torch.testing.assert_close(part(x, context), expected, rtol=0, atol=ROUNDING)
    assert 0 < int(kept.sum()) < kept.numel()


def test_dropout_is_off_when_predicting() -> None:
    part = attention(dropout=0.5).eval()
    x = torch.randn(2, 6, 8)
    assert torch.equal(part(x, seen(holes() | True)), part(x, seen(holes() | True)))


def test_cross_attention_asks_with_the_decoder_and_answers_with_the_encoder(shake: Callable[[nn.Module], None]) -> None:
    """Source and target of different lengths: scores are target x source, the result is indexed by target words."""
    config = AttentionConfig(heads=2, key_value_heads=2, query_size=3, value_size=4)
    part = CrossAttention(config, 8)
    shake(part)
    target, source = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    real = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], dtype=torch.bool)[:, None, None]  # [B, 1, 1, K]
    answer = part(target, Context(masks={None: None}, memory=source, memory_mask=real))
    expected = torch.zeros(2, 3, 8)
    for row, count in enumerate((4, 2)):
        for head in range(2):
            of_query, of_value = slice(head * 3, head * 3 + 3), slice(head * 4, head * 4 + 4)
            query = target[row] @ part.query.weight[of_query].T + part.query.bias[of_query]  # [Q, D]
            key = source[row, :count] @ part.key.weight[of_query].T + part.key.bias[of_query]  # [K, D]
            value = source[row, :count] @ part.value.weight[of_value].T + part.value.bias[of_value]  # [K, E]
            weights = (query @ key.T / math.sqrt(3)).softmax(dim=-1)  # [Q, K]
            expected[row] += weights @ value @ part.output.weight[:, of_value].T  # [Q, W]
    torch.testing.assert_close(answer, expected + part.output.bias, rtol=0, atol=ROUNDING)


def test_cross_attention_reads_the_memory_once(shake: Callable[[nn.Module], None]) -> None:
    part = CrossAttention(AttentionConfig(heads=2, key_value_heads=2, query_size=3, value_size=4), 8)
    shake(part)
    source, target = torch.randn(1, 5, 8), torch.randn(1, 2, 8)
    (cache,) = Cache(1).layers
    first = part(target, Context(masks={None: None}, memory=source, cache=cache))
    later = part(target, Context(masks={None: None}, memory=None, cache=cache))
    assert torch.equal(first, later)
