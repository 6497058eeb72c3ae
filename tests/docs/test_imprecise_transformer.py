"""What the source documents say of the Transformer's parts, tried out: C-5 … C-8, C-10 … C-15, C-42, C-43.

S tokens · W width · H heads
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from glassformer.config import NormConfig, SublayerConfig
from glassformer.models.families import SLIDES_DO_NOT_DRAW, bert, family_config, slides, tensor2tensor, vaswani2017
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from glassformer.parts.context import Context
from glassformer.parts.norm import LayerNorm, Sublayer
from glassformer.parts.position import interleaved
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


def test_the_paper_and_its_released_code_put_the_norm_elsewhere() -> None:
    """C-12."""
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


def attention_at(size: int, *, scaled: bool) -> tuple[float, float]:
    """The largest weight of a row, and the largest gradient with respect to its scores: the median of 200 rows, for
    queries and keys of variance 1.
    """
    generator = torch.Generator().manual_seed(0)
    query, key = (torch.randn(200, 8, size, generator=generator, dtype=torch.float64) for _ in range(2))
    value = torch.randn(200, 8, generator=generator, dtype=torch.float64)
    scores = (key @ query[:, 0, :, None])[..., 0] / (size**0.5 if scaled else 1.0)  # [N, K]
    weights = scores.requires_grad_().softmax(dim=-1)
    (gradient,) = torch.autograd.grad((weights * value).sum(), scores)  # [N, K]
    assert bool((gradient.abs().amax(dim=-1) <= value.amax(dim=-1) - value.amin(dim=-1)).all()), "it cannot explode"
    return float(weights.detach().amax(dim=-1).median()), float(gradient.abs().amax(dim=-1).median())


def test_without_scaling_softmax_saturates_and_its_gradients_vanish() -> None:
    """C-43: with the query size, the largest weight goes to 1 and the gradient to 0; with scaling both stay."""
    sizes = (4, 64, 512, 4096)
    weights, gradients = zip(*(attention_at(size, scaled=False) for size in sizes), strict=True)
    assert weights[0] < 0.6 < 0.95 < weights[1] < 0.9999 < weights[2]
    assert all(after < before / 10 for before, after in itertools.pairwise(gradients))
    assert gradients[2] < 1e-4
    scaled_weights, scaled_gradients = zip(*(attention_at(size, scaled=True) for size in sizes), strict=True)
    assert max(scaled_weights) < 0.4
    assert max(scaled_gradients) < 1.1 * min(scaled_gradients)
    # The figures on the page.
    assert scaled_gradients[1] / gradients[1] == pytest.approx(17, abs=0.5)
    assert scaled_gradients[2] / gradients[2] == pytest.approx(9000, rel=0.05)
    assert weights[1:3] == pytest.approx((0.98, 0.99997), abs=5e-3)
