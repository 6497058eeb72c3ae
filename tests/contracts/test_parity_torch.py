"""The paper's two families compute what `torch.nn.Transformer` computes: logits and all gradients.

torch brings the two stacks; words, positions, masks and the output are written down here.

B sentences · S tokens · W width · V vocabulary
"""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from tests.contracts.families import Padding, Row, real_of
from tests.contracts.reference import Answers
from tests.parts import test_position

# Sums of a few dozen products of size 1 in float64, in another order than ours.
TOLERANCE = 1e-12
WAVES = {"vaswani2017": test_position.paper, "tensor2tensor": test_position.tensor2tensor}
ROWS = tuple(
    Row(", ".join((family, *settings)), family, settings)
    for family in WAVES
    for settings in ({}, {"bias": True}, {"activation": "gelu"})
)
# Not left: torch gives NaN where a row has nothing to look at.
PADDINGS: tuple[Padding, ...] = ("none", "right")


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_logits_are_torchs(row: Row, padding: Padding) -> None:
    model = row.model()
    reference = reference_of(model)
    inputs, decoder_inputs = sides(row, padding)
    with torch.no_grad():
        ours = model(inputs, decoder_inputs).logits
        wanted = their_logits(reference.eval(), model.word_table, row.family, inputs, decoder_inputs)
    real = real_of(decoder_inputs)
    torch.testing.assert_close(ours[real], wanted[real], rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_gradients_are_torchs(row: Row, padding: Padding) -> None:
    model = row.model().train()
    reference = reference_of(model).train()
    words = model.word_table.detach().clone().requires_grad_()
    inputs, decoder_inputs = sides(row, padding)
    real = real_of(decoder_inputs)
    ours, wanted = (
        model(inputs, decoder_inputs).logits,
        their_logits(reference, words, row.family, inputs, decoder_inputs),
    )
    torch.testing.assert_close(ours[real], wanted[real], rtol=0, atol=TOLERANCE)
    for logits in (ours, wanted):
        Answers({"tokens": logits}).loss(real).backward()
    assert words.grad is not None
    gradients = {"encoder.embed.word.weight": words.grad}
    for name, parameter, rows in places(reference):
        assert parameter.grad is not None
        gradients[name] = parameter.grad[rows]
    for name, mine in model.named_parameters():
        assert mine.grad is not None
        torch.testing.assert_close(mine.grad, gradients[name], rtol=0, atol=TOLERANCE, msg=name)


def reference_of(model: Transformer) -> nn.Transformer:
    """torch's two stacks with our weights; where our attention has no biases, theirs are zeros. No dropout."""
    assert model.encoder is not None
    assert model.decoder is not None
    config = model.config.output_stack
    attention, feed_forward = config.blocks[0].self_attention, config.blocks[0].feed_forward
    assert feed_forward is not None
    settings: dict[str, Any] = {
        "d_model": config.width,
        "nhead": attention.body.heads,
        "dim_feedforward": feed_forward.body.width,
        "dropout": 0.0,
        "activation": feed_forward.body.activation,
        "layer_norm_eps": 1e-6,
        "batch_first": True,
        "norm_first": model.config.family == "tensor2tensor",
        "dtype": torch.float64,
    }

    def norm() -> nn.LayerNorm | None:
        """The paper's stacks end without one, its authors' with one."""
        return nn.LayerNorm(config.width, eps=1e-6, dtype=torch.float64) if settings["norm_first"] else None

    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**settings), len(model.encoder.blocks), norm(), enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**settings), len(model.decoder.blocks), norm())
    reference = nn.Transformer(
        config.width, attention.body.heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    )
    found, filled = dict(model.named_parameters()), {"encoder.embed.word.weight"}
    with torch.no_grad():
        for name, parameter, rows in places(reference):
            if name in found:
                parameter[rows] = found[name]
                filled.add(name)
            else:
                assert name.endswith("bias"), name
                parameter[rows] = 0.0
    assert filled == found.keys()
    return reference


def places(reference: nn.Transformer) -> Iterator[tuple[str, nn.Parameter, slice]]:
    """Each parameter under our name, its rows in theirs: queries, keys and values stand one below the other."""
    parameters = dict(reference.named_parameters())
    for side, layers in (("encoder", reference.encoder.layers), ("decoder", reference.decoder.layers)):
        decoder = side == "decoder"
        attentions = {"self_attention": "self_attn", **({"cross_attention": "multihead_attn"} if decoder else {})}
        for number in range(len(layers)):
            block, layer = f"{side}.blocks.{number}", f"{side}.layers.{number}"
            for kind in ("weight", "bias"):
                for order, (ours, theirs) in enumerate(attentions.items(), start=1):
                    joined = parameters[f"{layer}.{theirs}.in_proj_{kind}"]
                    width = len(joined) // 3
                    for part, name in enumerate(("query", "key", "value")):
                        yield f"{block}.{ours}.body.{name}.{kind}", joined, slice(part * width, (part + 1) * width)
                    whole = {"body.output": f"{theirs}.out_proj", "norm": f"norm{order}"}
                    for name, other in whole.items():
                        yield f"{block}.{ours}.{name}.{kind}", parameters[f"{layer}.{other}.{kind}"], slice(None)
                whole = {"body.hidden": "linear1", "body.output": "linear2", "norm": f"norm{len(attentions) + 1}"}
                for name, other in whole.items():
                    yield f"{block}.feed_forward.{name}.{kind}", parameters[f"{layer}.{other}.{kind}"], slice(None)
        for kind in ("weight", "bias"):
            if f"{side}.norm.{kind}" in parameters:
                yield f"{side}.norm.{kind}", parameters[f"{side}.norm.{kind}"], slice(None)


def their_logits(
    reference: nn.Transformer, words: Tensor, family: str, inputs: Inputs, decoder_inputs: Inputs
) -> Tensor:
    """What torch's stacks answer, [B, S, V]; the words [V, W] serve both sides and the output."""
    # In torch's masks True = may not look.
    padding, later = (~real_of(side) for side in (inputs, decoder_inputs))
    tokens = decoder_inputs.shape[1]
    states = reference(
        embedded(words, family, inputs),
        embedded(words, family, decoder_inputs),
        tgt_mask=torch.ones(tokens, tokens, dtype=torch.bool).triu(1),
        src_key_padding_mask=padding,
        tgt_key_padding_mask=later,
        memory_key_padding_mask=padding,
    )  # [B, S, W]
    logits: Tensor = states @ words.T  # [B, S, V]
    return logits


def embedded(words: Tensor, family: str, side: Inputs) -> Tensor:
    """Word vectors times the root of the width, and waves on top: [B, S, W]."""
    assert side.ids is not None
    width = words.shape[1]
    waves = [[WAVES[family](position, index, width) for index in range(width)] for position in range(side.shape[1])]
    return words[side.ids] * math.sqrt(width) + torch.tensor(waves, dtype=torch.float64)  # [B, S, W]


def sides(row: Row, padding: Padding) -> tuple[Inputs, Inputs]:
    """Source and target."""
    inputs, decoder_inputs = row.batch(padding=padding)
    assert decoder_inputs is not None
    return inputs, decoder_inputs
