"""The models beside ours: GPT-2 as transformers has it, and an LSTM, each of about as many parameters as ours.

B rows · S tokens of a row · V vocabulary · W width · L layers
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.models.transformer import build

# How far the numbers of parameters may be apart.
NEAR = 0.05


def parameters(module: nn.Module) -> int:
    """How many numbers are learned."""
    return sum(parameter.numel() for parameter in module.parameters())


def gpt2(config: ModelConfig, length: int) -> Any:
    """transformers' GPT2LMHeadModel of our width, layers and heads; four times as wide within, as GPT-2 is. No dropout:
    no text is read often.
    """
    import transformers

    stack = config.output_stack
    body = stack.blocks[0].self_attention.body
    found = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=stack.embed.vocabulary,
            n_positions=length,
            n_embd=stack.width,
            n_layer=len(stack.blocks),
            n_head=body.heads,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    return near(found, config)


def near(found: nn.Module, config: ModelConfig) -> nn.Module:
    """The model; raises ConfigError where it has not about as many parameters as ours."""
    ours, theirs = parameters(build(config)), parameters(found)
    if abs(theirs - ours) > NEAR * ours:
        raise ConfigError(f"as many parameters as ours are needed, {ours:,}", got=f"{theirs:,}")
    return found


class Recurrent(nn.Module):
    """A language model of stacked LSTMs (Hochreiter & Schmidhuber 1997), or GRUs (Cho et al. 2014), its output tied to
    its word vectors. Its state goes on from row to row while it learns.
    """

    carried: Tensor

    def __init__(self, kind: str, vocabulary: int, width: int, layers: int, *, batch: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embed.weight, std=width**-0.5)
        self.cell = {"lstm": nn.LSTM, "gru": nn.GRU}[kind](width, width, layers, batch_first=True)
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.parts = 2 if kind == "lstm" else 1
        self.register_buffer("carried", torch.zeros(self.parts, layers, batch, width))

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Logits [B, S, V] and the state behind the last token [parts, L, B, W]; `state` is that before the first."""
        return self.from_vectors(self.embed(ids), state)

    def from_vectors(self, vectors: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The same from word vectors [B, S, W]."""
        given = None if state is None else ((state[0], state[1]) if self.parts == 2 else state[0])
        out, after = self.cell(vectors, given)  # [B, S, W]
        logits = nn.functional.linear(out, self.embed.weight, self.bias)  # [B, S, V]
        return logits, torch.stack(after) if self.parts == 2 else after[None]


def recurrent(kind: str, config: ModelConfig, *, layers: int = 2, batch: int) -> Recurrent:
    """Of the width with which it has as many parameters as ours."""
    ours, vocabulary = parameters(build(config)), config.output_stack.embed.vocabulary
    gates = {"lstm": 4, "gru": 3}[kind]

    def count(width: int) -> int:
        return vocabulary * (width + 1) + layers * (2 * gates * width * width + 2 * gates * width)

    width = min(range(8, 4 * config.output_stack.width), key=lambda each: abs(count(each) - ours))
    found = Recurrent(kind, vocabulary, width, layers, batch=batch)
    near(found, config)
    return found
