"""A run of the small task in memory."""

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from glassformer.models.transformer import Transformer
from glassformer.training.checkpoint import weights
from glassformer.training.loop import fit
from glassformer.training.record import Step
from tests.training.toy import Toy, toy_model, toy_settings


def train(
    out: Path, model: Transformer | None = None, task: Toy | None = None, *, held_out: Toy | None = None,
    resume: bool = False, said: Callable[[str], None] = lambda message: None, dropout: float = 0.0,
    start_seconds: float | None = None, **settings: object,
) -> tuple[dict[str, Tensor], list[Step]]:  # fmt: skip
    model = model or toy_model(dropout=dropout)
    steps = list(
        fit(
            model, task or Toy(), toy_settings(**settings), out=out, held_out=held_out, resume=resume, log=said,
            start_seconds=start_seconds,
        )
    )  # fmt: skip
    return {name: tensor.clone() for name, tensor in weights(model).items()}, steps


def equal(one: dict[str, Tensor], two: dict[str, Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)
