"""onnxruntime for encoders: the graph gives the states of the last layer, our own heads answer from them.

B sentences · S tokens · W width
"""

import copy
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torch import Tensor

from glassformer.answering.engines.engine import Plan, Scores
from glassformer.base.machine import VNNI, features
from glassformer.convert.onnx.heads import Answer, ExportedHead
from glassformer.convert.onnx.network import Network, treats_masks, write_graph
from glassformer.convert.onnx.session import Session, write_int8
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.runtime.pages import join_pages
from glassformer.tasks.predictor import Predictor
from glassformer.tasks.rows import Row

_STATES = "last_hidden_state"
_HEAD = ExportedHead("states", (), (Answer(_STATES, ("batch", "sequence", "width"), "states"),))
_GRAPH = "model.onnx"
_INT8 = "onnxruntime-int8", False
# Products of rows with the weights of the blocks from which it pays to open a graph (0.7 s: 370 sentences of 15 tokens
# through six layers of 384), and to write one before (3.3 s: 1,900 of them): docs/do/engines.md.
_OPENED, _CONVERTED = 6e10, 3e11


class OnnxRuntime:
    packages, least = ("onnxruntime", "onnx"), 1.1

    def __init__(self, *, exact: bool = True) -> None:
        """`exact`: in float32; else with inputs of 8 bits, and matrices of 8 or 7 bits as the processor allows."""
        self.name, self.exact = ("onnxruntime", True) if exact else _INT8
        self.bits = None if exact else 8 if (features() or frozenset()) & VNNI else 7
        self.weights: int | None = None  # of the blocks, once they are counted: an engine is that of one model

    def pays(self, model: Transformer, rows: int, tokens: int, *, ready: bool) -> bool:
        if self.weights is None:
            self.weights = sum(value.numel() for value in model.output_stack.blocks.parameters())
        return self.weights * tokens >= (_OPENED if ready else _CONVERTED)

    def plan(self, model: Transformer, predictor: Predictor[Any, Any], rows: Sequence[Row]) -> Plan | str:
        if model.encoder is None or model.decoder is not None:
            return "it computes encoders alone"
        if treats_masks(model.config):
            return "the model treats masked words differently"
        depends = json.dumps(_HEAD.name if self.exact else [_HEAD.name, self.bits])
        return Plan(depends, partial(_convert, model, self.bits), lambda folder: OnnxModel(model, folder))


def _convert(model: Transformer, bits: int | None, folder: Path) -> None:
    if bits is None:
        write_graph(folder / _GRAPH, Network(model, _HEAD))
        return
    with TemporaryDirectory() as draft:
        write_graph(Path(draft) / _GRAPH, Network(model, _HEAD))
        write_int8(Path(draft) / _GRAPH, folder / _GRAPH, whole=bits == 8)


class OnnxModel:
    """A model whose stack is computed by a graph; what it does not compute is left to our own."""

    def __init__(self, model: Transformer, folder: Path) -> None:
        assert model.encoder is not None
        self.name, self.session, self.used, self.computes = "", Session(folder / _GRAPH), 0, Scores.NONE
        join_pages()
        stack = copy.copy(model.encoder)
        stack.elsewhere = self.states
        self.model = copy.copy(model)
        self.model._modules = {**model._modules, "encoder": stack}

    def alone(self, predictor: Predictor[Any, Any], row: Row) -> Any:
        found = predictor.of_states(row, partial(self.session.of_row, row))
        self.used += found is not None
        return found

    def states(self, inputs: Inputs, alone: bool) -> Tensor | None:
        """The states [B, S, W] of inputs that the graph takes."""
        others = (inputs.vectors, inputs.positions, inputs.documents, inputs.may_look)
        if not alone or any(each is not None for each in others):
            return None
        self.used += 1
        return self.session.run(inputs)[_STATES]  # [B, S, W]
