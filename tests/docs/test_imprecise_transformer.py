"""What the source documents say of the Transformer's parts, tried out: C-5 … C-8, C-10 … C-15, C-42 … C-44.

S tokens · W width · H heads
"""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from experiments import results
from glassformer.config import NormConfig, PositionConfig, SublayerConfig
from glassformer.models.families import (
    SLIDES_DO_NOT_DRAW,
    bert,
    family_config,
    gpt2,
    slides,
    tensor2tensor,
    vaswani2017,
)
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from glassformer.parts.context import Context
from glassformer.parts.norm import LayerNorm, Sublayer
from glassformer.parts.position import interleaved
from tests.contracts.families import random_weights
from tests.taps import record_taps

SMALL: dict[str, Any] = {"vocabulary": 20, "width": 12, "heads": 3, "feed_forward": 16, "dropout": 0.0}


def test_with_the_roles_as_written_the_lengths_do_not_fit() -> None:
    """C-5: queries and keys of the source weigh source by source; the target's values are as many as its words."""
    source, target = torch.randn(5, 4), torch.randn(3, 4)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        (source @ source.T).softmax(dim=-1) @ target
    assert ((target @ source.T).softmax(dim=-1) @ source).shape == target.shape


def test_cross_attention_weights_are_target_by_source() -> None:
    """C-5, in the model: each target word looks over the source."""
    model = build(vaswani2017(layers=1, **SMALL)).eval()
    with record_taps(model) as seen:
        model(Inputs(ids=torch.tensor([[1, 2, 3, 4, 5]])), Inputs(ids=torch.tensor([[6, 7, 8]])))
    attention = "decoder.blocks.0.cross_attention"
    assert seen[f"{attention}.query"].shape[2] == 3
    assert seen[f"{attention}.key"].shape[2] == seen[f"{attention}.value"].shape[2] == 5
    assert seen[f"{attention}.weights"].shape == (1, 3, 3, 5)


def feed_forward_width(family: str, **settings: Any) -> tuple[int, int]:
    """Width of the stream and of the feed-forward network."""
    encoder = family_config(family, settings).encoder
    assert encoder is not None
    feed_forward = encoder.blocks[0].feed_forward
    assert feed_forward is not None
    return encoder.width, feed_forward.body.width


def test_the_papers_512_is_the_width_and_its_feed_forward_2048() -> None:
    """C-6."""
    assert feed_forward_width("vaswani2017") == (512, 2048)


def test_berts_768_and_1024_are_widths_and_its_feed_forward_four_times_that() -> None:
    """C-7: with 768 in the feed-forward network, Base would have 67.0 million parameters instead of 109.5."""
    assert feed_forward_width("bert", size="base") == (768, 3072)
    assert feed_forward_width("bert", size="large") == (1024, 4096)
    with torch.device("meta"):
        thin = Transformer(bert(feed_forward=768, sentence_labels=0, vocabulary_head=False))
    assert sum(parameter.numel() for parameter in thin.parameters()) == 66_987_264


@pytest.mark.parametrize(("encoder", "decoder"), [(4, 1), (1, 3)])
def test_the_stacks_may_have_different_depths(encoder: int, decoder: int) -> None:
    """C-8: a deep encoder with a shallow decoder runs, learns, and reaches every layer."""
    model = build(vaswani2017(layers=encoder, decoder_layers=decoder, **SMALL))
    logits = model(Inputs(ids=torch.tensor([[1, 2, 3, 4]])), Inputs(ids=torch.tensor([[5, 6]]))).logits
    assert logits is not None
    F.cross_entropy(logits[0], torch.tensor([6, 7])).backward()
    assert model.encoder is not None
    assert model.decoder is not None
    assert (len(model.encoder.blocks), len(model.decoder.blocks)) == (encoder, decoder)
    assert all(bool((p.grad != 0).any()) for p in model.parameters() if p.grad is not None and p.dim() > 1)
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize(("width", "offset"), [(6, 3), (64, 5), (128, 11), (512, 43)])
def test_distances_between_positions_do_not_always_grow(width: int, offset: int) -> None:
    """C-10: they grow with the offset at first, and fall for the first time from `offset` to `offset` + 1."""
    table = interleaved(torch.arange(100)[None], width)[0]  # [S, W]
    distances = (table - table[0]).norm(dim=-1).tolist()
    first = next(k for k, (one, two) in enumerate(itertools.pairwise(distances)) if two < one)
    assert first == offset


def test_adding_words_does_not_keep_the_order_of_distances() -> None:
    """C-10: between sums of word and position, a neighbour is often farther than the word after it."""
    position = interleaved(torch.arange(200)[None], 64)[0]  # [S, W]
    stream = position + torch.randn(200, 64, dtype=torch.float64)
    near, far = (stream[1:-1] - stream[:-2]).norm(dim=-1), (stream[2:] - stream[:-2]).norm(dim=-1)
    broken = float((near > far).double().mean())
    assert 0.2 < broken < 0.5


class Useless(torch.nn.Module):
    """A sublayer that found nothing."""

    def forward(self, x: torch.Tensor, context: Context) -> torch.Tensor:
        return torch.zeros_like(x)


def test_a_useless_sublayer_leaves_x_only_up_to_the_norm() -> None:
    """C-12: norm after gives LayerNorm(x), not x; norm before gives x itself."""
    x, nobody, norm = torch.randn(2, 3, 8) * 4 + 1, Context(masks={None: None}), NormConfig(epsilon=1e-5)
    after = Sublayer(SublayerConfig(norm=norm, norm_at="after"), 8, Useless())(x, nobody)
    before = Sublayer(SublayerConfig(norm=norm, norm_at="before"), 8, Useless())(x, nobody)
    torch.testing.assert_close(after, LayerNorm(norm, 8)(x))
    assert float((after - x).detach().abs().max()) > 1
    assert torch.equal(before, x)


def test_the_paper_and_the_later_default_of_its_code_put_the_norm_elsewhere() -> None:
    """C-12: the paper and BERT after the sublayer, tensor2tensor's later default before it."""
    for family, place in ((vaswani2017, "after"), (tensor2tensor, "before")):
        encoder = family().encoder
        assert encoder is not None
        assert encoder.blocks[0].self_attention.norm_at == place
    base = bert().encoder
    assert base is not None
    assert base.blocks[0].self_attention.norm_at == "after"
    assert base.embed.norm is not None
    assert base.embed.dropout == 0.1


SWITCHED_ON: dict[str, dict[str, Any]] = {
    "scaled": {"scaled": True},
    "norm": {"norm": True},
    "feed_forward_residual": {"feed_forward_residual": True},
    "biases": {"biases": True},
    "layers": {"layers": 2},
    "dropout": {"dropout": 0.3},
}


@pytest.mark.parametrize("switch", SWITCHED_ON)
def test_what_the_slides_do_not_draw_is_off_and_can_be_switched_on(switch: str) -> None:
    """C-13: each changes what the model computes (loss, optimizer and padding belong to training and data)."""
    assert set(SWITCHED_ON) == set(SLIDES_DO_NOT_DRAW) - {"loss", "optimizer", "padding"}
    inputs = Inputs(ids=torch.tensor([[0, 1, 2, 3, 4]]))
    drawn, more = build(slides()), build(slides(**SWITCHED_ON[switch]))
    shared = {name: value for name, value in drawn.state_dict().items() if name in more.state_dict()}
    more.load_state_dict(shared, strict=False)
    with torch.no_grad():
        for name, parameter in more.named_parameters():
            if name not in shared:
                parameter.normal_()
    one, two = drawn.train()(inputs).logits, more.train()(inputs).logits
    assert one is not None
    assert two is not None
    assert float((one - two).detach().abs().max()) > 1e-4


def test_padding_is_not_drawn_but_done() -> None:
    """C-13: a shorter sentence in a batch answers as it does alone."""
    model = build(slides()).double().eval()
    alone = model(Inputs(ids=torch.tensor([[3, 1, 4]]))).logits
    batch = Inputs(
        ids=torch.tensor([[3, 1, 4, 0, 0], [5, 6, 7, 8, 9]]),
        real=torch.tensor([[True, True, True, False, False], [True] * 5]),
    )
    together = model(batch).logits
    assert alone is not None
    assert together is not None
    torch.testing.assert_close(together[0, :3], alone[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("heads", [1, 2, 3])
def test_each_head_has_three_matrices_and_all_heads_share_the_fourth(heads: int) -> None:
    """C-14: query, key and value grow with the heads; the output matrix is one, as high as all heads are wide."""
    names = dict(build(slides(heads=heads)).named_parameters())
    body = {name.split(".")[-2]: p.shape for name, p in names.items() if ".self_attention." in name}
    assert body == {**dict.fromkeys(("query", "key", "value"), (heads * 4, 6)), "output": (6, heads * 4)}


def test_columns_or_rows_are_one_product() -> None:
    """C-15: W x for each word as a column, X Wᵀ for all words as rows; and √64 under the line either way."""
    x, weight = torch.randn(5, 6, dtype=torch.float64), torch.randn(8, 6, dtype=torch.float64)
    columns = torch.stack([weight @ word for word in x])  # [S, H·D]
    torch.testing.assert_close(F.linear(x, weight), columns, rtol=0, atol=1e-14)
    torch.testing.assert_close(x @ weight.T, columns, rtol=0, atol=1e-14)


def test_layer_norm_works_across_the_channels_of_each_word() -> None:
    """C-42: each word's vector has mean 0 and variance 1; no other word and no other layer has a say in it."""
    model = build(bert(layers=2, **SMALL)).double().eval()
    ids = torch.tensor([[1, 2, 3, 4, 5]])
    with record_taps(model) as seen:
        model(Inputs(ids=ids))
    names = [f"encoder.blocks.{layer}.feed_forward.norm" for layer in range(2)]
    layers = torch.stack([seen[name][0].detach() for name in names])  # [layer, S, W]
    for axis, normed in ((2, True), (1, False), (0, False)):  # channels; words; layers
        mean, variance = layers.mean(dim=axis), layers.var(dim=axis, correction=0)
        assert torch.allclose(mean, torch.zeros_like(mean), atol=1e-9) is normed
        assert torch.allclose(variance, torch.ones_like(variance), atol=1e-6) is normed
    x = torch.randn(5, 12, dtype=torch.float64)
    norm = LayerNorm(NormConfig(epsilon=1e-5), 12).double()
    among_others, alone = norm(x), torch.stack([norm(word) for word in x])
    assert torch.equal(among_others, alone)


def attention_at(size: int, *, scaled: bool) -> tuple[float, float, float]:
    """Of 30,000 rows over eight words, queries, keys and values of variance 1, the values of 16 numbers: the median of
    the largest weight; median and root mean square of the norm of the gradient with respect to the query.
    """
    generator = torch.Generator().manual_seed(0)
    query, key = (torch.randn(3750, 8, size, generator=generator) for _ in range(2))
    value, upstream = (torch.randn(3750, 8, 16, generator=generator) for _ in range(2))
    scores = query.requires_grad_() @ key.mT / (size**0.5 if scaled else 1.0)
    weights = scores.softmax(dim=-1)  # [N, Q, K]
    (gradient,) = torch.autograd.grad((weights @ value * upstream).sum(), query)
    norms = gradient.norm(dim=-1)  # [N, Q]
    return float(weights.detach().amax(dim=-1).median()), float(norms.median()), float(norms.square().mean().sqrt())


def test_without_scaling_most_gradients_vanish_and_a_few_grow(repository: Path) -> None:
    """C-43, and the figures on the page: with scaling, weights and gradients are the same at every size."""
    entry = (
        (repository / "docs" / "measured" / "imprecise.md")
        .read_text(encoding="utf-8")
        .split("### C-43")[1]
        .split("\n## ")[0]
    )
    rows = []
    for size in (8, 64, 512):
        (weight, median, mean), (largest, small, large) = (attention_at(size, scaled=way) for way in (True, False))
        rows.append(
            f"| {size} | {weight:.2f} | {largest:.2f} | {median:.2f} | {small:.3f} | {mean:.2f} | {large:.1f} |"
        )
    assert [line for line in entry.splitlines() if re.match(r"\| \d", line)] == rows
    before = results.read("translation-scaling")
    assert before is not None
    growth = [
        before["arms"][f"{size}, unscaled"]["before"]["gradient"]
        / before["arms"][f"{size}, scaled"]["before"]["gradient"]
        for size in (8, 32, 128, 512)
    ]
    assert growth == sorted(growth)
    assert ", ".join(f"{times:.1f}" for times in growth) in " ".join(entry.split())


def test_a_decoder_without_positions_knows_the_order(repository: Path) -> None:
    """C-44, and the figures on the page: under a causal mask each word sees another number of words."""
    ids, order = torch.tensor([[7, 3, 11, 5, 2]]), torch.tensor([3, 0, 4, 1, 2])
    config, moved = gpt2(layers=2, **SMALL), {}
    decoder = config.decoder
    assert decoder is not None
    embed = decoder.embed.model_copy(update={"position": PositionConfig(kind="none")})
    for causal in (True, False):
        stack = decoder.model_copy(update={"causal": causal, "embed": embed})
        model = random_weights(Transformer(config.model_copy(update={"decoder": stack})), seed=0).eval()
        plain, other = (model(Inputs(ids=each)).logits for each in (ids, ids[:, order]))
        assert plain is not None
        assert other is not None
        moved[causal] = float((other - plain[:, order]).detach().abs().max())
    assert moved[False] < 2e-6
    entry = (
        (repository / "docs" / "measured" / "imprecise.md")
        .read_text(encoding="utf-8")
        .split("### C-44")[1]
        .split("###")[0]
    )
    assert f"{moved[True]:.2f} with the causal mask" in " ".join(entry.split())
