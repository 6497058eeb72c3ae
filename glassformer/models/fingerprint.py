"""What tells two models apart: a digest of their settings and weights."""

import hashlib

import torch

from glassformer.models.transformer import Transformer


def fingerprint(model: Transformer) -> str:
    """A digest of the config and of every weight: two models with the same one compute the same."""
    digest = hashlib.sha256(model.config.model_dump_json().encode())
    for name, weight in sorted(model.state_dict().items()):
        digest.update(f"{name}{weight.dtype}{list(weight.shape)}".encode())
        digest.update(weight.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
