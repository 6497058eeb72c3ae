"""The honesty gate: what is shown, compared with the model's answer when it is not watched."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from glassformer.look.replay import Replay, eval_copy
from glassformer.look.verify import LIMITS
from glassformer.models.inputs import Inputs, Output
from glassformer.models.transformer import Transformer


@dataclass(frozen=True)
class Honesty:
    """Largest differences of the answer, as shares of its largest number.

    `watched`: the explicit path against the unwatched fast kernels, in the trace's own precision, held to
    `limit`. `predicted`: against the precision the user predicts in; shown, for rounding is not a fault.
    """

    watched: float
    limit: float
    traced_in: str
    predicted: float
    predicted_in: str

    @property
    def holds(self) -> bool:
        """Whether looking left the answer as it is."""
        return self.watched <= self.limit

    def __str__(self) -> str:
        verdict = "Looking does not change the answer" if self.holds else "LOOKING CHANGED THE ANSWER"
        text = f"{verdict}: {self.watched:.1e} of its largest number against the fast kernels in {self.traced_in}"
        text += f" (limit {self.limit:.0e})"
        return f"{text}; {self.predicted:.1e} against prediction in {self.predicted_in}."


def measure(replay: Replay, original: Transformer, predicts_in: torch.dtype) -> Honesty:
    """Run the model watched, unwatched, and as the user predicts; eval mode, nothing changed by hand."""
    assert replay.change is None
    dtype = next(replay.model.parameters()).dtype
    with torch.no_grad(), replay.own_precision():
        watched = answer(replay.whole(list(replay.statement.formulas.keys() - {"loss"}))[1])
        unwatched = answer(replay.model(replay.inputs, replay.decoder_inputs, scored_at=replay.scored_at))
        predicted = answer(predict(replay, original, predicts_in))
    return Honesty(
        watched=share(watched, unwatched),
        limit=LIMITS[dtype],
        traced_in=str(dtype).removeprefix("torch."),
        predicted=share(watched, predicted),
        predicted_in=str(predicts_in).removeprefix("torch."),
    )


def predict(replay: Replay, original: Transformer, predicts_in: torch.dtype) -> Output:
    """As the user predicts: weights of that precision, or float32 weights under autocast, which casts no float64."""
    own = next(original.parameters()).dtype
    under_autocast = predicts_in not in (own, *LIMITS)
    weights = torch.float32 if under_autocast else predicts_in
    model = eval_copy(original, weights)
    inputs, decoder_inputs = (
        as_type(replay.inputs, weights),
        replay.decoder_inputs and as_type(replay.decoder_inputs, weights),
    )
    with torch.autocast(replay.inputs.device.type, predicts_in, enabled=under_autocast):
        return model(inputs, decoder_inputs, scored_at=replay.scored_at)


def as_type(inputs: Inputs, dtype: torch.dtype) -> Inputs:
    """Vectors in another precision; ids have none."""
    return inputs if inputs.vectors is None else replace(inputs, vectors=inputs.vectors.to(dtype))


def answer(output: Output) -> Tensor:
    """What the model is run for: vocabulary scores, else label scores, else states. On the CPU: it has float64."""
    for found in (output.logits, output.sentence_logits):
        if found is not None and found.numel():
            return found.cpu().double()
    return output.states.cpu().double()


def share(one: Tensor, two: Tensor) -> float:
    """The largest difference as a share of the largest number."""
    largest = float(one.abs().max())
    return float((one - two).abs().max()) / largest if largest else float((two != 0).any())
