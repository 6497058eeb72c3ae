"""Which parameters are trained, and at which learning rate: groups with a `scale` of the run's rate."""

from __future__ import annotations

import fnmatch
import re
from typing import Any

from torch import nn

from glassformer.errors import ConfigError
from glassformer.training.settings import TrainSection

_BLOCK = re.compile(r"(encoder|decoder)\.blocks\.(\d+)\.")
_CRF = "token_head.crf."


def parameter_groups(model: nn.Module, settings: TrainSection) -> list[dict[str, Any]]:
    """Groups for the optimizers. Matrices and tables decay; biases and norms, which are vectors, do not.

    `scale` multiplies the learning rate of the run. `matrices` is True where Muon steps: the matrices inside the
    blocks, which have a rate of their own, as the scores of a CRF may have. Raises ConfigError when nothing is left to
    train.
    """
    muon = settings.optimizer == "muon"
    of_matrices = settings.matrix_learning_rate / settings.learning_rate
    chosen: dict[tuple[float, bool, bool], list[nn.Parameter]] = {}
    for name, parameter in trained(model).items():
        matrix = muon and parameter.dim() == 2 and _BLOCK.match(name) is not None
        scale = _scale(name, model, settings.layer_decay) * (of_matrices if matrix else 1.0)
        if settings.crf_learning_rate is not None and name.startswith(_CRF):
            scale = settings.crf_learning_rate / settings.learning_rate
        chosen.setdefault((scale, parameter.dim() <= 1, matrix), []).append(parameter)
    return [
        {"params": chosen[key], "weight_decay": 0.0 if key[1] else settings.decay, "scale": key[0], "matrices": key[2]}
        for key in sorted(chosen, key=lambda key: (-key[0], key[1], key[2]))
    ]


def freeze(model: nn.Module, patterns: tuple[str, ...]) -> int:
    """Exclude the parameters whose names match from training; returns how many numbers they have.

    Raises ConfigError for a pattern that matches nothing, and when nothing is left to train.
    """
    frozen = 0
    for pattern in patterns:
        found = [parameter for name, parameter in model.named_parameters() if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            names = ", ".join(sorted({name.split(".")[0] + ".*" for name, _ in model.named_parameters()}))
            raise ConfigError(
                "train.freeze must name parameters of the model", got=pattern, do=f"names begin with: {names}"
            )
        for parameter in found:
            frozen += parameter.numel() if parameter.requires_grad else 0
            parameter.requires_grad_(False)
    if not trained(model):
        raise ConfigError("training needs parameters", got="a train.freeze that leaves none", do="freeze fewer of them")
    return frozen


def trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that are to be trained, each once."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def _scale(name: str, model: nn.Module, layer_decay: float | None) -> float:
    """1 for the heads, then less for each block further down, least for the embeddings."""
    if layer_decay is None:
        return 1.0
    stack = name.split(".")[0]
    if stack not in ("encoder", "decoder"):
        return 1.0
    blocks = len(model.get_submodule(f"{stack}.blocks")._modules)
    found = _BLOCK.match(name)
    if found:
        return layer_decay ** (blocks - int(found[2]))
    return layer_decay ** (blocks + 1) if name.startswith(f"{stack}.embed") else 1.0
