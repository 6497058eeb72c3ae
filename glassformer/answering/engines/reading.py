"""onnxruntime for encoders: the graph gives the states of the last layer, our own heads answer from them.

B sentences · S tokens · A asked tokens · W width
"""

import copy
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.answering.engines.engine import Plan
from glassformer.convert.onnx.heads import Answer, ExportedHead
from glassformer.convert.onnx.network import Network, treats_masks, write_graph
from glassformer.convert.onnx.session import Session
from glassformer.models.inputs import Inputs
from glassformer.models.stack import Stack
from glassformer.models.transformer import Transformer
from glassformer.parts.cache import KeyValueCache
from glassformer.tasks.predictor import Predictor
from glassformer.tasks.rows import Row

_STATES = "last_hidden_state"
_HEAD = ExportedHead("states", (), (Answer(_STATES, ("batch", "sequence", "width"), "states"),))
_GRAPH = "model.onnx"
# Products of rows with the weights of the blocks from which it pays to open a graph (0.7 s: 370 sentences of 15 tokens
# through six layers of 384), and to write one before (3.3 s: 1,900 of them): docs/engines.md.
_OPENED, _CONVERTED = 6e10, 3e11


class OnnxRuntime:
    name, packages, least, exact = "onnxruntime", ("onnxruntime", "onnx"), 1.1, True

    def pays(self, model: Transformer, rows: Sequence[Row], *, converted: bool) -> bool:
        weights = sum(value.numel() for value in model.output_stack.blocks.parameters())
        return weights * sum(len(row.ids) for row in rows) >= (_OPENED if converted else _CONVERTED)

    def plan(self, model: Transformer, predictor: Predictor[Any, Any], rows: Sequence[Row]) -> Plan | str:
        if model.encoder is None or model.decoder is not None:
            return "it computes encoders alone"
        if treats_masks(model.config):
            return "the model treats masked words differently"
        return Plan(json.dumps(_HEAD.name), partial(_convert, model), lambda folder: OnnxModel(model, folder))


def _convert(model: Transformer, folder: Path) -> None:
    write_graph(folder / _GRAPH, Network(model, _HEAD))


class OnnxModel:
    """A model whose stack is computed by a graph."""

    def __init__(self, model: Transformer, folder: Path) -> None:
        assert model.encoder is not None
        self.stack = OnnxStack(model.encoder, Session(folder / _GRAPH))
        self.model = copy.copy(model)
        self.model._modules = {**model._modules, "encoder": self.stack}

    @property
    def used(self) -> int:
        return self.stack.used


class OnnxStack(Stack):
    """A stack whose states come from a graph; all else is left to our own."""

    def __init__(self, stack: Stack, session: Session) -> None:
        nn.Module.__init__(self)
        self.__dict__.update(stack.__dict__)
        self.session, self.used = session, 0

    def forward(
        self,
        inputs: Inputs,
        *,
        cache: KeyValueCache | None = None,
        memory: Tensor | None = None,
        memory_real: Tensor | None = None,
        memory_documents: Tensor | None = None,
        asked: Tensor | None = None,
        cross_scores: list[Tensor] | None = None,
    ) -> Tensor:
        """As `Stack.forward`: the states [B, S, W], or [B, A, W] of the tokens that are asked for."""
        more = (inputs.vectors, inputs.positions, inputs.documents, inputs.may_look, cache, memory)
        if any(each is not None for each in more):
            return super().forward(
                inputs,
                cache=cache,
                memory=memory,
                memory_real=memory_real,
                memory_documents=memory_documents,
                asked=asked,
                cross_scores=cross_scores,
            )
        self.used += 1
        states = self.session.run(inputs)[_STATES]  # [B, S, W]
        if asked is None:
            return states
        return states[torch.arange(len(states))[:, None], asked]  # [B, A, W]
