"""Whether another device gives the answers of the CPU: all model families, searches, and a run that was resumed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from glassformer.decode.settings import DecodeSettings
from glassformer.models.transformer import Transformer
from glassformer.runtime.device import has_fast_bfloat16
from glassformer.training.loop import fit
from tests.contracts.families import FAMILIES, Row
from tests.decode.sentences import BEAM, answers, requests
from tests.training.toy import Toy, toy_model, toy_settings

if TYPE_CHECKING:
    from glassformer.training.record import Step

# The largest difference from float64 on the CPU, of the largest number. In bfloat16 it may be 1.5 times the CPU's own,
# where that is more.
TOLERANCE = {"float32": 1e-4, "bfloat16": 6e-2}
CPU = torch.device("cpu")
RESUMED = {"steps": 9, "checkpoint_every": 4, "optimizer": "muon"}
GREEDY = DecodeSettings(max_tokens=7)


def parity(device: torch.device, rows: tuple[Row, ...]) -> dict[str, Any]:
    """The largest difference of states, scores and gradients from float64 on the CPU, by type and family."""
    found: dict[str, dict[str, float]] = {}
    too_large = []
    for kind in ("float32", *(["bfloat16"] if has_fast_bfloat16(device) or device.type == "cpu" else [])):
        found[kind] = {}
        for row in rows:
            right, narrow = _computed(row, CPU, torch.float64, ""), "bfloat16" if kind == "bfloat16" else ""
            found[kind][row.name] = apart = _apart(_computed(row, device, torch.float32, narrow), right)
            if apart > TOLERANCE[kind] and not (
                narrow and apart < 1.5 * _apart(_computed(row, CPU, torch.float32, narrow), right)
            ):
                too_large.append(row.name)
    worst = {kind: max(of.items(), key=lambda each: each[1]) for kind, of in found.items()}
    return {
        "models": len(rows),
        "worst": {kind: {"model": name, "difference": value} for kind, (name, value) in worst.items()},
        "too_large": too_large,
    }


def _computed(row: Row, device: torch.device, dtype: torch.dtype, autocast: str) -> dict[str, Tensor]:
    """States, scores, and the gradient of the sum of their squares, by name, in float64 on the CPU."""
    model = row.model(dtype=dtype).to(device)
    inputs, target = (None if each is None else each.to(device) for each in row.batch())
    assert inputs is not None
    with torch.autocast(device.type, torch.bfloat16, enabled=bool(autocast)):
        output = model(inputs) if target is None else model(inputs, target)
    scores = {"logits": output.logits, "sentence_logits": output.sentence_logits, "states": output.states}
    kept = {name: each.masked_fill(each.isinf(), 0.0) for name, each in scores.items() if each is not None}
    real = (inputs if target is None else target).real
    if real is not None:
        kept |= {name: each * real[..., None] for name, each in kept.items() if each.shape[:2] == real.shape}
    sum(each.double().square().sum() for each in kept.values()).backward()
    gradients = [each.grad for each in model.parameters() if each.grad is not None]
    kept["gradient"] = torch.cat([each.flatten() for each in gradients])
    return {name: each.detach().cpu().double() for name, each in kept.items()}


def _apart(given: Mapping[str, Tensor], right: Mapping[str, Tensor]) -> float:
    return max(float((given[name] - of).abs().max() / of.abs().max().clamp(min=1e-12)) for name, of in right.items())


def decoding(device: torch.device) -> dict[str, Any]:
    """The families whose tokens are others than on the CPU, greedy and with beams."""
    wrong, count = [], 0
    for row in FAMILIES:
        model = row.model(dtype=torch.float32)
        if model.head is None or model.decoder is None:
            continue
        count += 1
        for name, settings in (("greedy", GREEDY), ("beams", BEAM)):
            here, there = (
                {number: [each.ids for each in its] for number, its in answers(on, requests(on, 9), settings).items()}
                for on in (model.cpu(), row.model(dtype=torch.float32).to(device))
            )
            if here != there:
                wrong.append(f"{row.name}, {name}")
    return {"families": count, "wrong": wrong}


def resumed(device: torch.device) -> dict[str, Any]:
    """Whether a run that was stopped and resumed ends with the weights of one that was not, to the bit."""
    settings = toy_settings(**RESUMED, device=str(device))

    def steps(folder: Path, *, resume: bool = False) -> tuple[Transformer, Iterator[Step]]:
        model = toy_model(dropout=0.2)
        return model, fit(model, Toy(), settings, out=folder, resume=resume, log=lambda note: None)

    with tempfile.TemporaryDirectory() as name:
        whole, unbroken = steps(Path(name) / "whole")
        losses = [step.loss for step in unbroken]
        _, stopped = steps(Path(name) / "stopped")
        for _ in range(6):
            next(stopped)
        del stopped
        again, rest = steps(Path(name) / "stopped", resume=True)
        later = [step.loss for step in rest]
    pairs = [(one.detach(), two.detach()) for one, two in zip(whole.parameters(), again.parameters(), strict=True)]
    return {
        "to_the_bit": all(torch.equal(one, two) for one, two in pairs) and losses[-len(later) :] == later,
        "largest_difference": max(float((one - two).abs().max()) for one, two in pairs),
    }
