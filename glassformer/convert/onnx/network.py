"""From a model to its ONNX graph: torch.export follows one run with sizes left open, and each operator is written down.

B sentences · S tokens
"""

import operator
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.convert.onnx import axes, operators
from glassformer.convert.onnx.graph import IR, LARGEST_MESSAGE, OPSET, Graph, Value, type_of
from glassformer.convert.onnx.heads import ExportedHead
from glassformer.models.inputs import Inputs
from glassformer.models.names import public
from glassformer.models.transformer import Transformer

OPERATORS = {**operators.operator, **axes.operator}
IDS, REAL, SEGMENTS = "input_ids", "attention_mask", "token_type_ids"
# Sizes of the run that is followed; torch takes 0 and 1 for numbers rather than for sizes that are open.
_BATCH, _TOKENS = 2, 5


class Network(nn.Module):
    """A model that is called as one of transformers: ids, a mask of 1 and 0, and the segments where it has them.
    `mask_id` is the id of [MASK] where the model treats masked words in a way of its own.
    """

    def __init__(self, model: Transformer, head: ExportedHead, *, mask_id: int | None = None) -> None:
        super().__init__()
        self.model, self.head = model, head
        self.mask_id = mask_id if treats_masks(model.config) else None

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """Tensors [B, S] to the outputs of the head."""
        inputs = Inputs(
            ids=input_ids,
            real=attention_mask != 0,
            segments=token_type_ids,
            masked_words=None if self.mask_id is None else input_ids == self.mask_id,
        )
        output = self.model(inputs, heads=self.head.heads)
        return tuple(answer.of(output, inputs) for answer in self.head.answers)


def treats_masks(config: ModelConfig) -> bool:
    """Whether masked words have no vector, or are not looked at (the slides)."""
    stack = config.output_stack
    return stack.hide_masked or stack.embed.masked_words in ("zero_word", "zero_sum")


def inputs_of(config: ModelConfig) -> tuple[str, ...]:
    return (IDS, REAL, SEGMENTS) if config.output_stack.embed.segments > 1 else (IDS, REAL)


def write_graph(path: Path, network: Network, *, notes: Mapping[str, str] | None = None) -> int:
    """Write the graph of a network in float32, with the sizes B and S open, and `notes` into its properties; returns
    how many nodes it has. Raises ConfigError for an operator that is not in the table. Above 2 GiB the weights are in
    `PATH_data`, next to it.
    """
    import onnx
    from onnx import helper

    names = inputs_of(network.model.config)
    program = followed(network, names)
    graph = Graph()
    outputs = translated(graph, program, network, names)
    answers = network.head.answers
    axes = [["batch", "sequence"] for _ in names]
    given = [
        helper.make_tensor_value_info(name, type_of(torch.int64), of) for name, of in zip(names, axes, strict=True)
    ]
    described = []
    for answer, value in zip(answers, outputs, strict=True):
        graph.nodes.append(helper.make_node("Identity", [value.name], [answer.name], name=answer.name))
        sizes = [of if of in ("batch", "sequence") else size for of, size in zip(answer.axes, value.shape, strict=True)]
        described.append(helper.make_tensor_value_info(answer.name, type_of(value.dtype), sizes))
    whole = helper.make_graph(
        graph.nodes, "glassformer", given, described, [_stored(*each) for each in graph.constants.items()]
    )
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="glassformer")
    model.ir_version = IR
    helper.set_model_props(model, dict(notes or {}))
    large = graph.bytes > LARGEST_MESSAGE
    onnx.save_model(model, str(path), save_as_external_data=large, location=f"{path.name}_data" if large else None)
    return len(graph.nodes)


def followed(network: Network, names: Sequence[str]) -> Any:
    """torch's record of one run, in whole operators; raises ConfigError where a size did not stay open."""
    sizes = {0: torch.export.Dim.AUTO, 1: torch.export.Dim.AUTO}
    example = tuple(torch.ones(_BATCH, _TOKENS, dtype=torch.int64) for _ in names)
    network.eval()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch about itself
        program = torch.export.export(network, example, dynamic_shapes=tuple(sizes for _ in names), strict=False)
    given = [node for node in program.graph.nodes if node.name in program.graph_signature.user_inputs]
    for node in given:
        if any(isinstance(size, int) or not size.node.expr.free_symbols for size in node.meta["val"].shape):
            raise ConfigError(
                "a graph must be open to any number of texts and tokens",
                got=f"{list(node.meta['val'].shape)} for {node.name}",
            )
    return program


def translated(graph: Graph, program: Any, network: Network, names: Sequence[str]) -> list[Value]:
    signature, state = program.graph_signature, {**program.state_dict, **program.constants}
    stored = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    inputs = dict(zip(signature.user_inputs, names, strict=True))
    values: dict[Any, Any] = {}
    program.graph.eliminate_dead_code()
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in inputs:
            values[node] = _value(inputs[node.name], node.meta["val"])
            for axis, size in enumerate(node.meta["val"].shape):
                graph.know_size(size, inputs[node.name], axis)
        elif node.op == "placeholder":
            tensor = state[stored[node.name]]
            values[node] = graph.parameter(tensor, public(stored[node.name].removeprefix("model.")), len(node.users))
        elif node.op == "output":
            return [_as_value(graph, values[each]) for each in node.args[0]]
        elif (found := _result(graph, node, values)) is not None:
            values[node] = found
    raise AssertionError("torch's record has no output")


def _result(graph: Graph, node: Any, values: Mapping[Any, Any]) -> Any:
    """The value of a node: a size, a constant that follows from constants, or what its operator adds to the graph."""
    out = node.meta.get("val")
    if out is None or isinstance(out, torch.SymBool | bool):
        return None  # a check
    if isinstance(out, torch.SymInt | int):
        return out
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda each: values[each])
    if node.target is operator.getitem:
        return args[0][args[1]]
    parts = _leaves((args, kwargs))
    if not any(isinstance(each, Value | torch.SymInt) for each in parts):
        return node.target(*args, **kwargs)
    name = node.target._schema.name.removeprefix("aten::")
    if name not in OPERATORS:
        raise ConfigError(f"the operator {name} of torch must be known to the export to ONNX", got=node.name)
    named = dict(zip((each.name for each in node.target._schema.arguments), args, strict=False)) | dict(kwargs)
    graph.scope = _scope(node)
    found = OPERATORS[name](graph, out, **named)
    if isinstance(found, str):
        return _value(found, out)
    return [_value(each, its) for each, its in zip(found, out, strict=True)]


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    return [leaf for each in tree for leaf in _leaves(each)] if isinstance(tree, list | tuple) else [tree]


def _scope(node: Any) -> str:
    """The path of the module that an operator belongs to, as tensors are named here."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = stack[-1][0] if stack else ""
    return public(path.removeprefix("L['self'].").removeprefix("model.").removeprefix("model")).strip(".")


def _value(name: str, like: Any) -> Value:
    return Value(name, like.dtype, tuple(like.shape))


def _as_value(graph: Graph, value: Any) -> Value:
    return value if isinstance(value, Value) else _value(graph.of(value), value)


def _stored(name: str, tensor: Tensor) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(tensor.numpy(), name)
