"""The encoder for onnxruntime: exported by torch from transformers' own module, in float32 and in 8 bits.

B rows · S tokens · W width
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

Array = np.ndarray[Any, Any]
INPUTS, OUTPUT = ("input_ids", "attention_mask"), "last_hidden_state"
FLOAT, EIGHT = "model.onnx", "model-int8.onnx"


class _States(nn.Module):
    """The last hidden states [B, S, W] as the only output."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        found: Tensor = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        return found


def export(encoder: Path, folder: Path) -> None:
    """Write both files, where they are not there yet. The 8-bit one is onnxruntime's own dynamic quantization."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from transformers import AutoModel

    if not (folder / FLOAT).exists():
        model = _States(AutoModel.from_pretrained(encoder, attn_implementation="eager").eval())
        ids = torch.randint(1000, 2000, (2, 9))
        draft = folder / f"draft-{FLOAT}"
        torch.onnx.export(
            model,
            (ids, torch.ones_like(ids)),
            draft,
            input_names=INPUTS,
            output_names=(OUTPUT,),
            dynamic_axes={name: {0: "rows", 1: "tokens"} for name in (*INPUTS, OUTPUT)},
            opset_version=18,
            dynamo=False,
        )
        draft.replace(folder / FLOAT)
    if not (folder / EIGHT).exists():
        draft = folder / f"draft-{EIGHT}"
        quantize_dynamic(folder / FLOAT, draft, weight_type=QuantType.QInt8, per_channel=True)
        draft.replace(folder / EIGHT)


def session(path: Path) -> Callable[[Array, Array], Array]:
    """Ids and mask [B, S] to states [B, S, W], on all cores that this process may use."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    made = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def states(ids: Array, mask: Array) -> Array:
        found: Sequence[Array] = made.run([OUTPUT], dict(zip(INPUTS, (ids, mask), strict=True)))
        return found[0]  # [B, S, W]

    return states
