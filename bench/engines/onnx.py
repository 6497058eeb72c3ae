"""A BERT for onnxruntime: exported by torch from transformers' own module, in float32 and in 8 bits.

B rows · S tokens
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bench.engines.row import Array

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
FLOAT, EIGHT = "model.onnx", "model-int8.onnx"
STATES, LOGITS, SPAN = ("last_hidden_state",), ("logits",), ("start_logits", "end_logits")


class _Named(nn.Module):
    """Some outputs of a model of transformers, and no others."""

    def __init__(self, model: nn.Module, outputs: Sequence[str]) -> None:
        super().__init__()
        self.model, self.outputs = model, outputs

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[Tensor, ...]:
        found = self.model(input_ids=ids, attention_mask=mask, token_type_ids=segments)
        return tuple(getattr(found, name) for name in self.outputs)


def export(model: Any, folder: Path, outputs: Sequence[str], *, eight: bool = False) -> None:
    """Write a model of transformers, and with `eight` onnxruntime's own dynamic quantization of it, where they are not
    there yet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / FLOAT).exists():
        ids = torch.randint(1000, 2000, (2, 9))
        draft = folder / f"draft-{FLOAT}"
        torch.onnx.export(
            _Named(model.eval(), outputs),
            (ids, torch.ones_like(ids), torch.zeros_like(ids)),
            draft,
            input_names=INPUTS,
            output_names=tuple(outputs),
            dynamic_axes={name: {0: "rows", 1: "tokens"} for name in (*INPUTS, *outputs)},
            opset_version=18,
            dynamo=False,
        )
        draft.replace(folder / FLOAT)
    if eight and not (folder / EIGHT).exists():
        from onnxruntime.quantization import QuantType, quantize_dynamic

        draft = folder / f"draft-{EIGHT}"
        quantize_dynamic(folder / FLOAT, draft, weight_type=QuantType.QInt8, per_channel=True)
        draft.replace(folder / EIGHT)


def session(path: Path) -> Callable[[Any], list[Array]]:
    """What a tokenizer of transformers gives, as arrays [B, S], to the outputs; on as many threads as torch has."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    made = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def outputs(given: Any) -> list[Array]:
        found: list[Array] = made.run(None, {name: given[name] for name in INPUTS})
        return found

    return outputs
