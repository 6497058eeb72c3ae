"""All formulas of a model by name, as `formulas.py` writes them."""

from collections.abc import Mapping
from dataclasses import dataclass

from glassformer.look.formulas.rules.evaluator import Formula

# The loss, and the softmax over the candidates of a choice: `run.py` computes them from the model's scores.
AFTERWARDS = ("loss", "choice")


@dataclass(frozen=True, eq=False)
class Statement:
    """All formulas of a model by name, and which tensor enters each unit (embedding, block, norm, head); shared by the
    runs of a model.
    """

    formulas: Mapping[str, Formula]
    entering: Mapping[str, str]
    memory: str | None = None

    @property
    def of_model(self) -> list[str]:
        """The tensors that the model itself computes: not what is made of its scores afterwards."""
        return [name for name in self.formulas if self.unit(name) not in AFTERWARDS]

    def unit(self, name: str) -> str:
        """The part of the model that computes a tensor: `encoder.blocks.3`, `head`, `loss`, `choice` …"""
        steps = name.split(".")
        if steps[0] in ("encoder", "decoder"):
            return ".".join(steps[:3] if steps[1] == "blocks" else steps[:2])
        return steps[0]
