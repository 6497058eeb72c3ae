"""Estimators are saved as the folder of a model, with `estimator.json` in it: no pickle."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.base.atomic import atomic_write
from glassformer.base.errors import CheckpointError
from glassformer.base.json_text import read_sealed_json, sealed_json

FILE = "estimator.json"
_MADE_FOR = "glassformer estimator, format 1"


def save_estimator(
    directory: str | Path, kind: str, model: Model, parameters: Mapping[str, Any], learned: Mapping[str, Any]
) -> Path:
    """Write the model and the facts of the estimator. Raises CheckpointError when that is impossible."""
    folder = model.save(directory)
    facts = {"made_for": _MADE_FOR, "kind": kind, "parameters": dict(parameters), "learned": dict(learned)}
    try:
        with atomic_write(folder / FILE) as draft:
            draft.write_text(sealed_json(facts), encoding="utf-8")
    except (OSError, TypeError) as error:
        raise CheckpointError(f"an estimator must be saved to {folder}", got=str(error)) from None
    return folder


def load_estimator(
    directory: str | Path, kind: str, device: str | None = None
) -> tuple[Model, dict[str, Any], dict[str, Any]]:
    """The model, the parameters and what was learned. Raises CheckpointError for anything but an estimator of this
    kind.
    """
    path = Path(directory) / FILE
    try:
        facts = read_sealed_json(path)
        if facts.get("made_for") != _MADE_FOR or facts.get("kind") != kind:
            raise ValueError(f"it is of {facts.get('kind', 'another kind')!r}")
    except (OSError, ValueError) as error:
        got = "no such file" if isinstance(error, FileNotFoundError) else str(error)
        raise CheckpointError(f"a saved {kind} is needed at {path}", got=got) from None
    return load(directory, device=device), dict(facts["parameters"]), dict(facts["learned"])
