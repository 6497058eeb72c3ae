"""The model `english` that travels in the package, from its text to its card.

    python -m experiments.english train     # experiments/english.toml; goes on where it was stopped
    python -m experiments.english pack      # weights in bfloat16, into glassformer/small/english
    python -m experiments.english score     # on documents nothing has read: docs/results/english.json, the card

`train` may be repeated with more `train.minutes` in the recipe: the run then goes on. `pack` and `score` follow it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from experiments import results
from glassformer.artefact.card import write_card
from glassformer.artefact.evaluate import evaluate
from glassformer.artefact.model import Model
from glassformer.artefact.open import load, open_as_saved
from glassformer.artefact.progress import ConsoleProgress
from glassformer.artefact.recipe import resolve
from glassformer.artefact.store import WEIGHTS
from glassformer.artefact.train import train as run_recipe
from glassformer.artefact.travelling import LICENCE, PLACE
from glassformer.data.split import Split
from glassformer.errors import CheckpointError
from glassformer.settings import read_toml

RECIPE = Path(__file__).with_name("english.toml")
RUN = Path("runs/small/english")
FOLDER = PLACE / "english"
# What a wheel can carry without anyone noticing.
PARAMETERS, MEGABYTES = 4_500_000, 9.0
# Scores of a run that are about the machine or the training text, and no facts about the packed model.
_LEFT_BEHIND = ("text_fingerprint",)
_MORE = """
## Licence of the weights

{licence}, as the package.

## Before packing

The weights that were trained, in float32, on the same masks: {before}.
"""


def files_of_recipe() -> list[str]:
    """The recipe's files, in the folder of the shared data sets."""
    return [str(results.data_directory().resolve() / file) for file in read_toml(RECIPE)["data"]["files"]]


def train() -> Model:
    """Train it, or go on."""
    recipe = resolve(read_toml(RECIPE), {"data.files": files_of_recipe()})
    return run_recipe(recipe, out=RUN, resume=RUN.exists())


def pack(run: Path = RUN, folder: Path = FOLDER) -> Model:
    """Save the model of a run for the package: weights in bfloat16, the names of its files without their folder.

    Checkpoints, tokenized text and logs of the run stay behind: a saved model has none. Raises CheckpointError when it
    is too large, or when a path of this machine would travel.
    """
    model = load(run, device="cpu", dtype=torch.bfloat16)
    assert model.data is not None
    assert model.recipe is not None
    changes = {"files": _names(model.data.files), **({"cache": None} if hasattr(model.data, "cache") else {})}
    model.data = model.data.model_copy(update=changes)
    model.recipe = model.recipe.model_copy(update={"data": model.recipe.data.model_copy(update=changes)})
    model.metrics = {name: value for name, value in model.metrics.items() if name not in _LEFT_BEHIND}
    return _save(model, folder)


def score(run: Path = RUN, folder: Path = FOLDER) -> dict[str, Any]:
    """Measure the run in float32 and the packed model, as it is opened, on the same documents and masks.

    Those are the run's test documents: chosen by a hash of their text, read neither in training nor to choose a
    checkpoint. The packed model's card and metrics get its own scores.
    """
    whole, packed = load(run, device="cpu"), load(folder, device="cpu")
    assert whole.data is not None
    split: Split = "test" if whole.data.test else "validation"
    packed.data = whole.data  # where the text is on this machine
    of_run = evaluate(whole, split=split, progress=ConsoleProgress()).flat()
    scores = evaluate(packed, split=split, progress=ConsoleProgress()).flat()
    saved = open_as_saved(folder)
    saved.metrics = {**saved.metrics, "scores": scores, "measured_on": _measured_on(whole.data.model_dump(), split)}
    _save(saved, folder, before=f"loss {of_run['loss']:.4f}, accuracy {of_run['accuracy']:.2%}")
    return {
        "scores": scores,
        "scores_before_packing": of_run,
        "split": split,
        "minutes": None if whole.recipe is None else whole.recipe.train.minutes,
        "steps": whole.metrics.get("steps"),
        "parameters": sum(parameter.numel() for parameter in packed.module.parameters()),
        "megabytes": round((folder / WEIGHTS).stat().st_size / 1e6, 2),
    }


def _measured_on(data: Mapping[str, Any], split: str) -> str:
    unread = "read by nothing before" if split == "test" else "not trained on"
    return f"{data[split]:.1%} of the documents, chosen by a hash of their text, {unread}"


def _names(files: Sequence[str]) -> tuple[str, ...]:
    """Files and patterns with the folder they are in and no more: text_books/*.txt."""
    return tuple(str(Path(*Path(file).parts[-2:])) for file in files)


def _save(model: Model, folder: Path, *, before: str = "not measured") -> Model:
    count = sum(parameter.numel() for parameter in model.module.parameters())
    size = sum(parameter.nbytes for parameter in model.module.parameters()) / 1e6
    if count > PARAMETERS or size > MEGABYTES:
        raise CheckpointError(
            f"a model that travels has at most {PARAMETERS:,} parameters and {MEGABYTES} MB of weights",
            got=f"{count:,} and {size:.2f} MB",
        )
    model.card = write_card(model, folder) + _MORE.format(licence=LICENCE, before=before)
    model.save(folder)
    here = (str(Path.cwd()).encode(), str(results.data_directory().resolve()).encode())
    for path in folder.iterdir():
        if any(place in path.read_bytes() for place in here):
            raise CheckpointError("no path of this machine may travel", got=str(path))
    return model


COMMANDS: dict[str, Callable[[], object]] = {
    "train": train,
    "pack": pack,
    "score": lambda: results.write("english", "python -m experiments.english score", score()),
}


if __name__ == "__main__":
    print(COMMANDS[sys.argv[1]]())
