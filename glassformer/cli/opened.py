"""Opening the model that a verb uses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.screen import note

if TYPE_CHECKING:
    from glassformer.artefact.model import Model


def open_model(
    path: Path, *, device: str = "auto", dtype: str | None = None, fast: bool = False, threads: int | None = None
) -> Model:
    """The model in a folder, on the device and threads asked for."""
    from glassformer.artefact.open import load  # not at the top: --help must not import torch
    from glassformer.runtime.device import use_threads

    use_threads(threads)
    model = load(path, device=device, dtype=dtype, fast=fast)
    for message in model.notes:
        note(message)
    return model
