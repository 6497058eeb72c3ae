"""What a page knows of a run besides its numbers: words, formulas, axes, the honesty gate, what is left out."""

from dataclasses import asdict
from typing import Any

import torch

from glassformer.base.errors import ConfigError
from glassformer.look.trace.saved import WordsRecord
from glassformer.look.trace.trace import Trace
from glassformer.look.trace.verify import LIMITS
from glassformer.page.documents import corrections, documents, expected
from glassformer.page.sections.carried import Carried
from glassformer.page.sections.statement import statement_record
from glassformer.page.sections.vectors import vectors_record

FORMAT = 1


def run_record(trace: Trace, carried: Carried, title: str) -> dict[str, Any]:
    formulas = statement_record(trace.statement)
    facts = {name: {"axes": trace.axes(name), "side": name.partition(".")[0]} for name in trace.facts}
    described = {name: trace.described(name, tensor) for name, tensor in carried.tensors.items()}
    return {
        "format": FORMAT,
        "title": title,
        "model": model_record(trace),
        "precision": str(trace.dtype).removeprefix("torch."),
        "error_limit": LIMITS[trace.dtype],
        "words": WordsRecord.of(trace.words).model_dump(),
        "scored_at": None if trace.scored_at is None else trace.scored_at.tolist(),
        "places": trace.chosen_tokens,
        "formulas": formulas,
        "facts": facts,
        "weights": {name: list(tensor.shape) for name, tensor in trace.parameters.items()},
        "shared": {name: axes.shared for name, axes in described.items() if axes.shared},
        "changes": trace.python if trace.interventions else "",
        "honesty": honesty_record(trace),
        "left_out": carried.left_out,
        "limit": carried.limit,
        "rows": carried.rows,
        "unsure": carried.unsure,
        "documents": documents(),
        "corrections": corrections(trace),
        "expected": expected(trace),
        "vectors": vectors_record(trace),
    }


def record_without_model(title: str) -> dict[str, Any]:
    """The record of a page that shows no model: no words, no tensors, no formulas."""
    words: dict[str, list[Any]] = {
        side: [] for side in ("inputs", "decoder_inputs", "vocabulary", "labels", "candidates", "answers")
    }
    return {
        "format": FORMAT,
        "title": title,
        "model": {"family": "", "parameters": 0, "stacks": []},
        "precision": "float32",
        "error_limit": LIMITS[torch.float32],
        "words": words,
        "scored_at": None,
        "places": [],
        "formulas": [],
        "facts": {},
        "weights": {},
        "shared": {},
        "changes": "",
        "honesty": None,
        "left_out": {},
        "limit": 0,
        "rows": {},
        "unsure": {},
    }


def model_record(trace: Trace) -> dict[str, Any]:
    stacks = {"encoder": trace.config.encoder, "decoder": trace.config.decoder}
    return {
        "family": trace.config.family,
        "parameters": sum(tensor.numel() for tensor in trace.parameters.values()),
        "stacks": [
            {
                "side": side,
                "layers": len(stack.blocks),
                "width": stack.width,
                "heads": max((block.self_attention.body.heads for block in stack.blocks), default=0),
            }
            for side, stack in stacks.items()
            if stack is not None
        ],
    }


def honesty_record(trace: Trace) -> dict[str, Any] | None:
    """The honesty gate; None for a saved trace in which it was not measured."""
    try:
        honesty = trace.honesty
    except ConfigError:
        return None
    return asdict(honesty) | {"holds": honesty.holds, "text": str(honesty)}
