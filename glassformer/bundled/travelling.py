"""The bundled models: each is a folder in `glassformer/bundled/models`, and the folder's name is the model's.

Only their JSON is read here, so that neither a list nor the choice of a model has to import torch.
"""

import json
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

from glassformer.base.errors import CheckpointError
from glassformer.base.json_text import read_json

# Where they are; tests name another folder.
PLACE = Path(__file__).resolve().parent / "models"
# Their licence is that of the package, whose data may all be republished.
LICENCE = "Apache-2.0"
# What makes a folder of the user's a model or a training run, which comes before a model that travels.
_OF_A_MODEL = ("glassformer.json", "config.json", "recipe.toml")


class Traveller(NamedTuple):
    """What is known of a bundled model. `size` is in bytes, of all its files; `text_licence` that of its training text;
    `scores` those in its card, and `measured_on` the text they were measured on.
    """

    name: str
    folder: Path
    task: str | None
    parameters: int
    size: int
    text_licence: str
    measured_on: str
    scores: dict[str, float]


def travelling() -> dict[str, Path]:
    """The folders of the bundled models by name, in alphabetical order."""
    folders = PLACE.iterdir() if PLACE.is_dir() else ()
    return {folder.name: folder for folder in sorted(folders) if folder.name[0] not in "._" and folder.is_dir()}


def travels(model: str | Path, folder: Path | None = None) -> bool:
    """Whether it names a bundled model that no model in `folder` (the current one) hides; a Path is a folder."""
    if not isinstance(model, str) or model not in travelling():
        return False
    own = Path(model) if folder is None else folder / model
    return not any((own / name).is_file() for name in _OF_A_MODEL)


def located(model: str | Path) -> str | Path:
    """The folder of a bundled model, for its name; anything else as it was given."""
    return travelling()[str(model)] if travels(model) else model


def no_model(path: str | Path) -> str:
    """The sentence of an error for a path, or a word, that is no model."""
    known = ", ".join(travelling()) or "none"
    return f"there is no model {str(path)!r}: it is neither a folder nor a bundled model ({known})"


def answering(tasks: tuple[str, ...]) -> str | None:
    """The name of the first bundled model that was trained for one of these tasks, None where none was."""
    return next((name for name, folder in travelling().items() if task_of(folder) in tasks), None)


def described(name: str) -> Traveller:
    folder = travelling()[name]
    facts, metrics = _json(folder / "glassformer.json"), _json(folder / "metrics.json")
    scores = {key: value for key, value in (metrics.get("scores") or {}).items() if isinstance(value, int | float)}
    return Traveller(
        name,
        folder,
        task_of(folder),
        _parameters(folder / "model.safetensors"),
        sum(path.stat().st_size for path in folder.iterdir() if path.is_file()),
        (facts.get("data") or {}).get("licence", ""),
        metrics.get("measured_on", ""),
        scores,
    )


def task_of(model: str | Path) -> str | None:
    """The task of a model of glassformer, by its name or folder; None for anything else."""
    facts = Path(located(model)) / "glassformer.json"
    return (_json(facts).get("task") or {}).get("name") if os.path.isfile(facts) else None


def _json(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json(path))
    except (OSError, ValueError, TypeError) as error:
        raise CheckpointError(
            f"{path} must be unchanged since installation", got=str(error), do="reinstall glassformer"
        ) from None


def _parameters(weights: Path) -> int:
    """Numbers in a safetensors file, by its header: 8 bytes with the header's length, then JSON."""
    with weights.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
