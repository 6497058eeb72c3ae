"""The same model in `transformers`, the same batch through both, and their gradients side by side.

B sentences · S tokens · W width · V vocabulary · L labels
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn

from glassformer.config import ModelConfig
from glassformer.convert.families import FAMILY_TABLES, full_names, parameter_shapes
from glassformer.convert.family import Family
from glassformer.convert.heads import NO_LABELS, table_for
from glassformer.convert.huggingface import write_huggingface
from glassformer.convert.table import Derived, read_tensors
from glassformer.models.inputs import Inputs, Output
from glassformer.models.transformer import Transformer
from tests.contracts.families import real_of

# Only these let the caller number the tokens; T5 has distances alone; the others count from the left edge.
NUMBERED = ("bert", "distilbert", "roberta", "modernbert", "gpt2", "llama")
# Their explicit path rounds the weights to float32; their fused one does not.
ROUNDS_WHEN_EXPLICIT = ("modernbert", "llama")


def reference_of(model: Transformer, folder: Path, *, kernel: str | None = None) -> nn.Module:
    """Our model as `transformers` opens it from the folder we export; every key must have its place."""
    write_huggingface(folder, model.config, model.state_dict())
    family = table_of(model)
    chosen = "sdpa" if family.name in ROUNDS_WHEN_EXPLICIT else "eager"
    # A body of BERT's or RoBERTa's has a pooler unless one says otherwise.
    bare = family.name in ("bert", "roberta") and model.head is None and model.sentence_head is None
    reference, found = getattr(transformers, family.class_of(model.config)).from_pretrained(
        folder,
        dtype=torch.float64,
        attn_implementation=kernel or chosen,
        output_loading_info=True,
        **({"add_pooling_layer": False} if bare else {}),
    )
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not found[what], f"{what}: {found[what]}"
    return reference


def table_of(model: Transformer) -> Family:
    """The table by which a model without names for its labels is written."""
    return table_for(FAMILY_TABLES[model.config.family], model.config, NO_LABELS)


@dataclass(frozen=True)
class Answers:
    """What both sides answer, by name, each with its first axes [B, S] or [B]."""

    named: Mapping[str, Tensor]

    def loss(self, real: Tensor) -> Tensor:
        """A fixed random combination of all answers at real tokens, so that every gradient is asked for."""
        generator = torch.Generator().manual_seed(5)
        total = torch.zeros((), dtype=torch.float64)
        for name in sorted(self.named):
            answer = self.named[name]
            weight = torch.randn(answer.shape, generator=generator, dtype=torch.float64)
            keep = real if answer.dim() == 3 else real.any(dim=1)
            total = total + (answer.double() * weight)[keep].sum()
        return total


def as_theirs(inputs: Inputs, decoder_inputs: Inputs | None, config: ModelConfig) -> dict[str, Tensor]:
    """A batch in the words of `transformers`; a position there counts the rows before position 0."""
    assert inputs.ids is not None
    words = {"input_ids": inputs.ids, "attention_mask": real_of(inputs).long()}
    if inputs.segments is not None:
        words["token_type_ids"] = inputs.segments
    if config.family in NUMBERED:
        offset = config.output_stack.embed.position.offset
        words["position_ids"] = (real_of(inputs).long().cumsum(1) - 1).clamp(min=0) + offset
    if decoder_inputs is not None:
        assert decoder_inputs.ids is not None
        words |= {"decoder_input_ids": decoder_inputs.ids, "decoder_attention_mask": real_of(decoder_inputs).long()}
    return words


def as_ours(inputs: Inputs, decoder_inputs: Inputs | None, family: str) -> tuple[Inputs, Inputs | None]:
    """The batch as our model gets it: numbered from the left edge where theirs cannot be given otherwise."""
    if family in NUMBERED:
        return inputs, decoder_inputs
    return _from_the_edge(inputs), None if decoder_inputs is None else _from_the_edge(decoder_inputs)


def _from_the_edge(inputs: Inputs) -> Inputs:
    return replace(inputs, positions=torch.arange(inputs.shape[1])[None])


def our_answers(output: Output, model: Transformer) -> Answers:
    """Logits where there is a head, else states; the sentence's answer where there is one."""
    named = {"tokens": output.states if output.logits is None else output.logits}
    if output.sentence_logits is not None:
        named["sentence"] = output.sentence_logits
        if output.logits is None and model.config.sentence_head is not None and model.config.sentence_head.labels:
            del named["tokens"]  # theirs answers about the sentence alone
    return Answers(named)


def their_answers(output: Any) -> Answers:
    """The same from theirs, whose names differ from class to class."""
    named: dict[str, Tensor] = {}
    for name, answer in (
        ("tokens", getattr(output, "last_hidden_state", None)),
        ("tokens", getattr(output, "prediction_logits", None)),
        ("tokens", getattr(output, "logits", None)),
        ("sentence", getattr(output, "pooler_output", None)),
        ("sentence", getattr(output, "seq_relationship_logits", None)),
    ):
        if answer is not None:
            named["sentence" if answer.dim() == 2 else name] = answer
    return Answers(named)


def our_gradients(model: Transformer) -> dict[str, Tensor]:
    """By parameter; what took no part has zeros."""
    return {
        name: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for name, parameter in model.named_parameters()
    }


def their_gradients(reference: nn.Module, model: Transformer) -> dict[str, Tensor]:
    """Theirs under our names: the table that moves weights moves gradients as well, for it is linear."""
    family = table_of(model)
    computed = tuple(row.theirs for row in family.tensors if isinstance(row, Derived))
    gradients = {
        name: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        for name, parameter in reference.named_parameters()
        if name not in computed
    }
    shapes = parameter_shapes(model.config)
    found, _ = read_tensors(family.tensors, shapes, full_names(family, gradients), model.config, where="gradients")
    return found


# --------------------------------------------------------------------------- where the reference drops to float32


def in_float64(patch: pytest.MonkeyPatch) -> None:
    """Replace exactly those lines of the reference that compute in float32 whatever the model's type is."""
    from transformers import modeling_rope_utils  # these take three seconds, where nothing is compared too
    from transformers.models.llama import modeling_llama
    from transformers.models.marian import modeling_marian
    from transformers.models.modernbert import modeling_modernbert
    from transformers.models.t5 import modeling_t5

    # T5LayerNorm.forward: `variance = hidden_states.to(torch.float32).pow(2).mean(...)`
    patch.setattr(modeling_t5.T5LayerNorm, "forward", _rms)
    # LlamaRMSNorm.forward: `hidden_states = hidden_states.to(torch.float32)`
    patch.setattr(modeling_llama.LlamaRMSNorm, "forward", _rms)
    # LlamaRotaryEmbedding: `inv_freq` is made, and its forward multiplies it, in float32
    patch.setattr(modeling_llama.LlamaRotaryEmbedding, "forward", _llama_angles)
    # ModernBertRotaryEmbedding: the same, for each kind of layer
    patch.setattr(modeling_modernbert.ModernBertRotaryEmbedding, "forward", _modernbert_angles)
    # The rates of all stretches are computed in `torch.float`
    patch.setattr(modeling_rope_utils, "torch", _Doubled())
    # modernbert's apply_rotary_pos_emb: `q.float()`, `k.float()`; Llama's has no such cast
    patch.setattr(modeling_modernbert, "apply_rotary_pos_emb", modeling_llama.apply_rotary_pos_emb)
    # MarianSinusoidalPositionalEmbedding.create_weight: `torch.FloatTensor(np.sin(...))`
    patch.setattr(modeling_marian.MarianSinusoidalPositionalEmbedding, "create_weight", _marian_table)


def _rms(self: Any, x: Tensor) -> Tensor:
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


def _turns(positions: Tensor, size: int, base: float) -> tuple[Tensor, Tensor]:
    rates = 1.0 / (base ** (torch.arange(0, size, 2, dtype=torch.float64) / size))
    waves = positions[..., None].double() * rates
    waves = torch.cat((waves, waves), dim=-1)
    return waves.cos(), waves.sin()


class _Doubled:
    """torch, whose single precision is double."""

    float = float32 = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def _stretched(config: Any, positions: Tensor, size: int, layer_type: str | None = None) -> tuple[Tensor, Tensor]:
    """Each row by itself, for ours stretches a text by its own length and theirs by the longest of the batch."""
    from transformers import modeling_rope_utils

    table = config.rope_parameters if layer_type is None else config.rope_parameters[layer_type]
    if table["rope_type"] == "default":
        return _turns(positions, size, table["rope_theta"])
    rates_of = modeling_rope_utils.ROPE_INIT_FUNCTIONS[table["rope_type"]]
    waves, scale = [], 1.0
    for row in positions:
        rates, scale = rates_of(config, None, seq_len=int(row.max()) + 1, layer_type=layer_type)
        assert rates.dtype == torch.float64
        waves.append((row[:, None].double() * rates).repeat(1, 2))
    return torch.stack(waves).cos() * scale, torch.stack(waves).sin() * scale


def _llama_angles(self: Any, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
    return _stretched(self.config, position_ids, self.config.head_dim)


def _modernbert_angles(self: Any, x: Tensor, position_ids: Tensor, layer_type: str) -> tuple[Tensor, Tensor]:
    return _stretched(self.config, position_ids, self.config.hidden_size // self.config.num_attention_heads, layer_type)


def _marian_table(self: Any) -> Tensor:
    count, width = self.weight.shape
    waves = _turns(torch.arange(count), width, 10000.0)
    return torch.cat((waves[1][:, : width // 2], waves[0][:, : width // 2]), dim=-1)
