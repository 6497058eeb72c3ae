"""A model that writes, in the format of CTranslate2: its own specification, filled with our weights.

W width · V vocabulary · K positions
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from glassformer.config import AttentionConfig, BlockConfig, ModelConfig, StackConfig, SublayerConfig
from glassformer.config.parts import LinearStretch
from glassformer.decode.settings import SpecialIds
from glassformer.models.stack import Stack
from glassformer.models.transformer import Transformer

# Names of CTranslate2's activations.
_ACTIVATIONS = {
    "relu": "RELU",
    "gelu": "GELU",
    "gelu_tanh": "GELUTanh",
    "silu": "SWISH",
    "quick_gelu": "GELUSigmoid",
    "tanh": "Tanh",
}
POSITIONS = 2048
"""Rows of its table of sines and cosines; longer texts stay with torch."""

# What is added to the score of a token that is never written: its probability is 0.
_NEVER = -1e9


def cannot_convert(config: ModelConfig) -> str:
    """Why CTranslate2 cannot compute a model, as the end of a sentence; "" where it can."""
    head, stacks = config.head, [stack for stack in (config.encoder, config.decoder) if stack is not None]
    if config.decoder is None or head is None:
        return "it only writes"
    if head.transform:
        return "its vocabulary head has a layer of its own"
    reasons = (reason for stack in stacks for reason in _of_stack(stack))
    norms = {norm for stack in stacks for norm in _norms(stack)}
    if len({(norm.kind, norm.epsilon) for norm in norms}) > 1:
        return "its norms differ"
    ways = {sublayer.norm_at for stack in stacks for block in stack.blocks for sublayer in _sublayers(block)}
    return next(reasons, "") or ("its norms are in several places" if len(ways) > 1 else "")


def longest(config: ModelConfig) -> int | None:
    """The tokens that a converted stack has positions for; None for any number."""
    stacks = [stack for stack in (config.encoder, config.decoder) if stack is not None]
    rows = [stack.max_length or POSITIONS for stack in stacks if stack.embed.position.kind != "none"]
    return min(rows, default=None)


def write_ctranslate(folder: Path, model: Transformer, ids: SpecialIds) -> None:
    """Write a model in float32 into a folder that exists. Tokens have their numbers as names, so that any id has one.
    Those that are `never` written have no probability. The model must be one of which `cannot_convert` says nothing.
    """
    from ctranslate2.specs import TransformerDecoderModelSpec, TransformerSpec
    from ctranslate2.specs.transformer_spec import TransformerDecoderSpec, TransformerEncoderSpec

    config = model.config
    assert model.decoder is not None
    assert config.decoder is not None
    shape = _shape(config.decoder)
    decoder = TransformerDecoderSpec(
        **shape,
        **_rotary(config.decoder),
        with_encoder_attention=model.encoder is not None,
    )
    tensors = {name: value.detach().float().cpu() for name, value in model.named_parameters()}
    _fill(decoder, model.decoder, config.decoder, "decoder", tensors)
    decoder.start_from_zero_embedding = False
    _fill_head(decoder, model, ids)
    tokens = [str(number) for number in range(config.decoder.embed.vocabulary)]
    if model.encoder is None:
        whole = TransformerDecoderModelSpec(decoder)
        whole.register_vocabulary(tokens)
    else:
        assert config.encoder is not None
        encoder = TransformerEncoderSpec(**_shape(config.encoder))
        _fill(encoder, model.encoder, config.encoder, "encoder", tensors)
        whole = TransformerSpec(encoder, decoder)
        whole.register_source_vocabulary([str(number) for number in range(config.encoder.embed.vocabulary)])
        whole.register_target_vocabulary(tokens)
        whole.config.decoder_start_token = str(ids.begin)
    whole.config.bos_token, whole.config.unk_token = str(ids.begin), str(ids.begin)
    whole.config.eos_token = str(ids.end[0] if ids.end else ids.begin)
    whole.config.layer_norm_epsilon = next(iter(_norms(config.decoder))).epsilon
    whole.validate()
    whole.optimize()
    whole.save(str(folder))


def _shape(stack: StackConfig) -> dict[str, Any]:
    """What CTranslate2 asks of a stack in general."""
    from ctranslate2.specs.common_spec import Activation

    block = stack.blocks[0]
    assert block.feed_forward is not None
    attention, inner = block.self_attention.body, block.feed_forward.body
    shared = attention.key_value_heads != attention.heads
    return {
        "num_layers": len(stack.blocks),
        "num_heads": attention.heads,
        "pre_norm": block.self_attention.norm_at == "before",
        "activation": Activation[_ACTIVATIONS[inner.activation]],
        "ffn_glu": inner.gated,
        "rms_norm": next(iter(_norms(stack))).kind == "rms",
        "layernorm_embedding": stack.embed.norm is not None,
        "num_heads_kv": attention.key_value_heads if shared else None,
    }


def _rotary(stack: StackConfig) -> dict[str, Any]:
    from ctranslate2.specs.attention_spec import RotaryScalingType

    rotary = stack.blocks[0].self_attention.body.rotary
    if rotary is None:
        return {}
    found: dict[str, Any] = {"rotary_dim": 0, "rotary_interleave": False, "rotary_base": rotary.base}
    if isinstance(rotary.stretch, LinearStretch):
        found |= {"rotary_scaling_type": RotaryScalingType.Linear, "rotary_scaling_factor": rotary.stretch.factor}
    return found


def _fill(spec: Any, stack: Stack, config: StackConfig, side: str, tensors: Mapping[str, Tensor]) -> None:
    """The weights of a stack."""
    embeddings = spec.embeddings[0] if isinstance(spec.embeddings, list) else spec.embeddings
    embeddings.weight = stack.embed.word.weight.detach().float().cpu()
    spec.scale_embeddings = stack.embed.scale if config.embed.scaled else False
    if hasattr(spec, "position_encodings"):
        spec.position_encodings.encodings = _positions(stack, config)
    if config.embed.norm is not None:
        _norm(spec.layernorm_embedding, f"{side}.embed.norm", tensors)
    if config.norm is not None:
        _norm(spec.layer_norm, f"{side}.norm", tensors)
    for number, (layer, block) in enumerate(zip(spec.layer, config.blocks, strict=True)):
        place = f"{side}.blocks.{number}"
        _attention(layer.self_attention, f"{place}.self_attention", block.self_attention.body, tensors, own=True)
        if block.cross_attention is not None:
            _attention(layer.attention, f"{place}.cross_attention", block.cross_attention.body, tensors, own=False)
        _norm(layer.ffn.layer_norm, f"{place}.feed_forward.norm", tensors)
        inner = f"{place}.feed_forward.body"
        gated = hasattr(layer.ffn, "linear_0_noact")
        _linear(layer.ffn.linear_0, [f"{inner}.gate" if gated else f"{inner}.hidden"], tensors)
        if gated:
            _linear(layer.ffn.linear_0_noact, [f"{inner}.hidden"], tensors)
        _linear(layer.ffn.linear_1, [f"{inner}.output"], tensors)


def _attention(spec: Any, place: str, config: AttentionConfig, tensors: Mapping[str, Tensor], *, own: bool) -> None:
    _norm(spec.layer_norm, f"{place}.norm", tensors)
    body = f"{place}.body"
    parts = [["query", "key", "value"], ["output"]] if own else [["query"], ["key", "value"], ["output"]]
    for linear, names in zip(spec.linear, parts, strict=True):
        _linear(linear, [f"{body}.{name}" for name in names], tensors)
    spec.queries_scale = (config.query_size**-0.5 if config.scaled else 1.0) / config.divided_by


def _linear(spec: Any, places: list[str], tensors: Mapping[str, Tensor]) -> None:
    """One product of the matrices at these places, one below the other."""
    spec.weight = torch.cat([tensors[f"{place}.weight"] for place in places])  # [O, I]
    if any(f"{place}.bias" in tensors for place in places):
        none = [torch.zeros(len(tensors[f"{place}.weight"])) for place in places]
        spec.bias = torch.cat([tensors.get(f"{place}.bias", zero) for place, zero in zip(places, none, strict=True)])


def _norm(spec: Any, place: str, tensors: Mapping[str, Tensor]) -> None:
    spec.gamma = tensors[f"{place}.weight"]
    if hasattr(spec, "beta"):
        spec.beta = tensors.get(f"{place}.bias", torch.zeros_like(spec.gamma))


def _positions(stack: Stack, config: StackConfig) -> Tensor:
    """The vectors of all positions, [K, W]."""
    if stack.embed.position is None:
        return torch.zeros(POSITIONS, config.width)  # [K, W]
    known = torch.arange(stack.max_length or POSITIONS, device=stack.embed.word.weight.device)[None]
    found: Tensor = stack.embed.position(known, torch.float32)  # [1, K, W]
    return found.detach()[0].float().cpu()


def _fill_head(spec: Any, model: Transformer, ids: SpecialIds) -> None:
    head = model.head
    assert head is not None
    weight = model.word_table if head.weight is None else head.weight  # [V, W]
    spec.projection.weight = weight.detach().float().cpu()
    bias = torch.zeros(len(weight)) if head.bias is None else head.bias.detach().float().cpu().clone()  # [V]
    bias[list(ids.never)] = _NEVER
    if head.bias is not None or ids.never:
        spec.projection.bias = bias
    if head.scale != 1.0:
        spec.scale_outputs = head.scale


def _sublayers(block: BlockConfig) -> Iterator[SublayerConfig]:
    yield from (each for each in (block.self_attention, block.cross_attention, block.feed_forward) if each is not None)


def _norms(stack: StackConfig) -> set[Any]:
    found = {sublayer.norm for block in stack.blocks for sublayer in _sublayers(block)}
    return {norm for norm in (*found, stack.norm, stack.embed.norm) if norm is not None}


def _of_stack(stack: StackConfig) -> Iterator[str]:
    """What of a stack CTranslate2 does not have."""
    if len({block.model_copy(update={"cross_attention": None}) for block in stack.blocks}) > 1:
        yield "its blocks differ"
    if stack.relative_bias is not None:
        yield "it has a relative bias"
    if stack.embed.segments or stack.embed.masked_words != "token" or stack.hide_masked:
        yield "it reads more than words and positions"
    for block in stack.blocks:
        if block.feed_forward is None:
            yield "a block has no feed-forward network"
        elif block.feed_forward.body.activation not in _ACTIVATIONS:
            yield f"CTranslate2 has no {block.feed_forward.body.activation}"
        for sublayer in _sublayers(block):
            if not sublayer.residual or sublayer.norm is None or sublayer.norm_at not in ("after", "before"):
                yield "a block is built in another way"
            elif (stack.norm is not None) != (sublayer.norm_at == "before"):
                yield "its last norm does not belong to the others"
        for attention in (block.self_attention, block.cross_attention):
            if attention is not None:
                yield from _of_attention(attention.body, stack.width)


def _of_attention(config: AttentionConfig, width: int) -> Iterator[str]:
    if config.window is not None:
        yield "its attention has windows"
    if config.query_size != config.value_size or config.heads * config.query_size != width:
        yield "its heads have sizes of their own"
    if config.rotary is not None and not isinstance(config.rotary.stretch, LinearStretch | None):
        yield "its rotary positions are stretched"
