"""The honesty gate: what is shown, compared with the model's answer when it is not watched."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from glassformer.look.formulas.rules.evaluator import Statement
from glassformer.look.trace.replay import Replay, as_type, eval_copy
from glassformer.look.trace.verify import KERNEL_ROUNDING, LIMITS
from glassformer.models.inputs import Output
from glassformer.models.transformer import Transformer


@dataclass(frozen=True)
class Honesty:
    """Largest differences, as shares of the largest number, between what is shown and what the model returns: `watched`
    against the unwatched fast kernels in the trace's precision, held to `limit`; `predicted` against the precision the
    user predicts in, shown only. `worst` of `compared` is measured by its limit.
    """

    watched: float
    limit: float
    traced_in: str
    predicted: float
    predicted_in: str
    compared: tuple[str, ...] = ()
    worst: str = ""
    before_changes: bool = False

    @property
    def holds(self) -> bool:
        return self.watched <= self.limit

    def __str__(self) -> str:
        if self.holds:
            text = f"Tracing does not change the output: relative difference {self.watched:.1e}"
        else:
            where = self.worst or "THE OUTPUT"
            text = f"THE TRACE DIFFERS FROM THE OUTPUT, MOST IN {where}: relative difference {self.watched:.1e}"
        text += f" from the fast kernels in {self.traced_in} (limit {self.limit:.0e}), {self.predicted:.1e} from "
        text += f"prediction in {self.predicted_in}."
        return text + " Measured before the changes by hand." * self.before_changes


def measure(replay: Replay, original: Transformer, predicts_in: torch.dtype) -> Honesty:
    """Run the model watched, unwatched, and as the user predicts; eval mode, nothing changed by hand."""
    assert replay.change is None
    dtype = next(replay.model.parameters()).dtype
    with torch.no_grad(), replay.own_precision():
        watched, unwatched = shown(replay), returned(replay)
        predicted = answers(replay.statement, predict(replay, original, predicts_in))
        differences = {name: share(watched[name], unwatched[name]) for name in watched}
        limits = dict.fromkeys(differences, LIMITS[dtype])
        if LIMITS[dtype] < max(differences.values()) < math.inf and dtype == torch.float32:
            # Both ways round: they may differ by as much as each differs from itself in float64.
            exact = replay.exact()
            own, others = shown(exact), returned(exact)
            formula = {name: share(watched[name], own[name]) for name in watched}
            most = KERNEL_ROUNDING * max(formula.values())
            for name in limits:
                limits[name] += formula[name] + min(share(unwatched[name], others[name]), most)
        worst = max(differences, key=lambda name: differences[name] / limits[name])
    return Honesty(
        watched=differences[worst],
        limit=limits[worst],
        traced_in=str(dtype).removeprefix("torch."),
        predicted=max(share(watched[name], predicted[name]) for name in watched),
        predicted_in=str(predicts_in).removeprefix("torch."),
        compared=tuple(watched),
        worst=worst,
    )


def shown(replay: Replay) -> dict[str, Tensor | None]:
    """The tensors that show the answer, of a run in which every tensor is looked at."""
    seen, _ = replay.whole(replay.statement.of_model)
    names = answering_names(replay.statement)
    return {name: plain(seen[name]) if name in seen else None for name in names.values()}


def returned(replay: Replay) -> dict[str, Tensor | None]:
    """The same as the model returns it when nobody looks."""
    output = replay.model(replay.inputs, replay.decoder_inputs, scored_at=replay.scored_at)
    return answers(replay.statement, output)


def answers(statement: Statement, output: Output) -> dict[str, Tensor | None]:
    """An output under the names of the tensors that show it."""
    return {name: plain(getattr(output, part)) for part, name in answering_names(statement).items()}


def answering_names(statement: Statement) -> dict[str, str]:
    """Each part of a model's output that it has, and the tensor that shows it."""
    found = {"logits": "head.logits"} if "head.logits" in statement.formulas else {}
    for last in ("logits", "pooled", "first"):
        if f"sentence_head.{last}" in statement.formulas:
            found["sentence_logits"] = f"sentence_head.{last}"
            break
    if "token_head.logits" in statement.formulas:
        found["token_logits"] = "token_head.logits"
    found["states"] = statement.entering["states"]
    return found | ({"memory": statement.memory} if statement.memory is not None else {})


def plain(tensor: Tensor | None) -> Tensor | None:
    """On the CPU, which has float64."""
    return None if tensor is None else tensor.cpu().double()


def predict(replay: Replay, original: Transformer, predicts_in: torch.dtype) -> Output:
    """As the user predicts: weights of that precision, or float32 weights under autocast, which casts no float64."""
    own = next(original.parameters()).dtype
    under_autocast = predicts_in not in (own, *LIMITS)
    weights = torch.float32 if under_autocast else predicts_in
    model = eval_copy(original, weights)
    inputs, other = as_type(replay.inputs, weights), replay.decoder_inputs
    with torch.autocast(replay.inputs.device.type, predicts_in, enabled=under_autocast):
        return model(inputs, other and as_type(other, weights), scored_at=replay.scored_at)


def share(one: Tensor | None, two: Tensor | None) -> float:
    """The largest difference as a share of the largest number; ∞ where one is missing or has another shape."""
    if one is None or two is None or one.shape != two.shape:
        return math.inf
    if not one.numel():
        return 0.0
    apart = torch.where(one == two, 0.0, (one - two).abs())  # equal infinities are equal
    finite = one[one.isfinite()].abs()
    largest = float(finite.max()) if finite.numel() else 0.0
    found = float(apart.max()) / largest if largest else float(apart.any())
    return found if math.isfinite(found) else math.inf
