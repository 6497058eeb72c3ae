"""The loss flowing back: how large its gradient is in each part of a run, for each word and for the weights.

B sentences · S tokens
"""

from typing import Any

import torch
from torch import Tensor

from glassformer.data.batches.corrupt import IGNORED
from glassformer.look.trace.run import trace as run_again
from glassformer.look.trace.trace import Trace

NAME = "gradients"
STREAM = "sentence token channel"
INSIDE = ("merged", "hidden", "activated", "gate", "gated")
"""What is neither read by another block nor added to what was there: left out, so that a block has few rows."""


def gradient_section(trace: Trace) -> dict[str, Any] | None:
    """Norms of the gradient of the loss; None where a run has no right words to take a loss from.

    `rows` are the vectors of words from the loss back to the embedding: `norms` [B][S] are the Euclidean norms over the
    channels of each word, `weights` that of all weights of the parts by unit. `right` says where the right words are
    from: `given` with the run, the `next` words of the text, or the model's own best `guess` for hidden words.
    """
    found, right = with_gradients(trace)
    if found is None:
        return None
    statement = found.statement
    streams = [name for name in found.gradients if _is_stream(found, name)]
    squares: dict[str, float] = {}
    reader = {
        operand.name: statement.unit(formula.name)
        for formula in reversed(list(statement.formulas.values()))
        for operand in formula.rule.operands.values()
    }
    for name, slope in found.gradients.items():
        if name in reader and name.startswith("parameters."):
            squares[reader[name]] = squares.get(reader[name], 0.0) + float(slope.double().square().sum())
    return {
        "loss": float(found["loss"]),
        "right": right,
        "labels": [
            [*place, id_] for place, id_ in zip(found.chosen_tokens, found.facts["labels"].tolist(), strict=True)
        ],
        "rows": [
            {"name": name, "unit": statement.unit(name), "norms": found.gradients[name].double().norm(dim=-1).tolist()}
            for name in reversed(streams)
        ],
        "weights": {unit: total**0.5 for unit, total in squares.items()},
    }


def with_gradients(trace: Trace) -> tuple[Trace | None, str]:
    """A run with the gradient of its loss, and where the right words are from; None where there are none."""
    slope = trace.gradients.get("loss")
    if slope is not None and float(slope) == 1:
        return trace, "given"
    labels, right = right_words(trace)
    if labels is None or trace.original is None or trace.replay is None:
        return None, right
    # A change of the head by hand fits the places of the run, and the words after each word have others.
    if right == "next" and any(
        trace.by_hand(name) for name in trace.statement.formulas if trace.statement.unit(name) == "head"
    ):
        return None, right
    found = run_again(
        trace.original,
        trace.replay.inputs,
        trace.replay.decoder_inputs,
        labels=labels,
        words=trace.words,
        keep=[name for name in trace.statement.of_model if _is_stream(trace, name)],
        dtype=trace.dtype,
        interventions=trace.interventions,
        gradients="loss",
    )
    return found, right


def right_words(trace: Trace) -> tuple[Tensor | None, str]:
    """The ids of the right words [B, S], −100 where there is none, and where they are from."""
    if trace.replay is None or "head.logits" not in trace or trace.scored_at is None:
        return None, ""
    sides = (trace.replay.decoder_inputs, trace.replay.inputs)
    inputs = next(side for side in sides if side is not None)
    scored = trace.scored_at.to(inputs.device)
    labels = torch.full(inputs.shape, IGNORED, device=inputs.device).flatten()
    if "labels" in trace.facts:
        labels[scored] = trace.facts["labels"].to(labels)
        return labels.view(inputs.shape), "given"
    if inputs.ids is not None and trace.config.decoder is not None:  # it guesses the word after each word
        side = "inputs" if trace.replay.decoder_inputs is None else "decoder_inputs"
        real = torch.ones_like(inputs.ids, dtype=torch.bool) if inputs.real is None else inputs.real
        following = labels.view(inputs.shape)
        following[:, :-1] = torch.where(real[:, :-1] & real[:, 1:], inputs.ids[:, 1:], IGNORED)
        closing = trace.words.closing.get(side)
        if closing is not None and side == "decoder_inputs":
            for row, sentence in enumerate(real.tolist()):
                last = max(place for place, each in enumerate(sentence) if each)
                following[row, last] = closing
        return (following, "next") if bool((following != IGNORED).any()) else (None, "")
    labels[scored] = trace["head.logits"].argmax(dim=-1).flatten().to(labels)
    return labels.view(inputs.shape), "guess"


def _is_stream(trace: Trace, name: str) -> bool:
    """Whether this is the vector of each word, as the blocks hand it on."""
    formula = trace.statement.formulas.get(name)
    return formula is not None and formula.axes == STREAM and name.rpartition(".")[2] not in INSIDE
