"""From the data to the folder in the package: training, packing in bfloat16, scores and card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from experiments import results
from glassformer.artefact.card import write_card
from glassformer.artefact.evaluate import evaluate
from glassformer.artefact.model import Model
from glassformer.artefact.open import load, open_as_saved
from glassformer.artefact.progress import ConsoleProgress
from glassformer.artefact.recipe import Recipe, resolve
from glassformer.artefact.store import WEIGHTS
from glassformer.artefact.train import train as run_recipe
from glassformer.artefact.travelling import LICENCE, PLACE
from glassformer.data.split import Split
from glassformer.errors import CheckpointError
from glassformer.settings import read_toml
from glassformer.tasks.verdict import intervals_by_flat_name

# What a wheel can carry without anyone noticing.
PARAMETERS, MEGABYTES = 4_500_000, 9.0
# Scores of a run that are about the machine or the training text, and no facts about the packed model.
_LEFT_BEHIND = ("text_fingerprint",)
# What the end of the training measured, on other data than the scores of the card.
_OF_THE_TRAINING = ("measured", "verdict")
# Scores of the weights before packing that the card tells.
_BRIEF = {"loss": "{:.4f}", "accuracy": "{:.2%}", "bleu": "{:.2f}", "chrf": "{:.2f}"}
_MORE = """
## Licence of the weights

{licence}.

## Before packing

The weights that were trained, in float32, on the same data: {before}.
"""


@dataclass(frozen=True)
class Small:
    """A model that travels. `licence` is that of its weights; `measured` are files of test records, relative to the
    shared data sets, where its scores are not those of documents held out by a hash, and `told` says what they are.
    """

    name: str
    licence: str = f"{LICENCE}, as the package"
    measured: tuple[str, ...] = ()
    told: str = ""

    @property
    def recipe(self) -> Path:
        """Its recipe; files in it are relative to the shared data sets."""
        return Path(__file__).with_name(f"{self.name}.toml")

    @property
    def run(self) -> Path:
        """Where it is trained."""
        return Path("runs/small") / self.name

    @property
    def folder(self) -> Path:
        """Where it is in the package."""
        return PLACE / self.name


SMALL = {
    small.name: small
    for small in (
        Small("english"),
        Small(
            "en-fr",
            licence=f"{LICENCE}, as the package; the sentences are under CC BY 2.0: tatoeba.org, manythings.org/anki",
            measured=("tatoeba_en_fr/test.tsv",),
            told="the test pairs of tatoeba_en_fr, with all their references",
        ),
    )
}


def resolved(small: Small) -> Recipe:
    """Its recipe, with the files in the folder of the shared data sets."""
    values = read_toml(small.recipe)
    places = {
        f"data.{name}": [str(results.data_directory().resolve() / file) for file in values["data"][name]]
        for name in ("files", "validation_files")
        if name in values["data"]
    }
    return resolve(values, places)


def train(small: Small) -> Model:
    """Train it, or go on."""
    return run_recipe(resolved(small), out=small.run, resume=small.run.exists())


def pack(small: Small, run: Path, folder: Path) -> Model:
    """Save the model of a run for the package: weights in bfloat16, the names of its files without their folder.

    Checkpoints, tokenized text and logs of the run stay behind: a saved model has none. Raises CheckpointError when it
    is too large, or when a path of this machine would travel.
    """
    model = load(run, device="cpu", dtype=torch.bfloat16)
    assert model.data is not None
    assert model.recipe is not None
    changes = {
        "files": _names(model.data.files),
        "validation_files": _names(model.data.validation_files),
        **({"cache": None} if hasattr(model.data, "cache") else {}),
    }
    model.data = model.data.model_copy(update=changes)
    model.recipe = model.recipe.model_copy(update={"data": model.recipe.data.model_copy(update=changes)})
    model.metrics = {name: value for name, value in model.metrics.items() if name not in _LEFT_BEHIND}
    return _save(model, small, folder)


def score(small: Small, run: Path, folder: Path) -> dict[str, Any]:
    """Measure the run in float32 and the packed model, as it is opened, on the same documents and masks.

    Those are the run's test documents: chosen by a hash of their text, read neither in training nor to choose a
    checkpoint. The packed model's card and metrics get its own scores.
    """
    whole, packed = load(run, device="cpu"), load(folder, device="cpu")
    assert whole.data is not None
    split: Split = "test" if whole.data.test else "validation"
    files = [str(results.data_directory().resolve() / file) for file in small.measured]
    packed.data = whole.data  # where the text is on this machine
    asked: dict[str, Any] = {"files": files} if files else {"split": split}
    found, after = (evaluate(each, progress=ConsoleProgress(), **asked) for each in (whole, packed))
    of_run, scores = found.flat(), after.flat()
    told = small.told or _measured_on(whole.data.model_dump(), split)
    saved = open_as_saved(folder)
    known = {name: value for name, value in saved.metrics.items() if name not in _OF_THE_TRAINING}
    saved.metrics = {**known, "scores": scores, "measured_on": told, "intervals": intervals_by_flat_name(after)}
    before = ", ".join(f"{name} {figure.format(of_run[name])}" for name, figure in _BRIEF.items() if name in of_run)
    _save(saved, small, folder, before=before)
    return {
        "scores": scores,
        "scores_before_packing": of_run,
        "split": "test" if files else split,
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


def _save(model: Model, small: Small, folder: Path, *, before: str = "not measured") -> Model:
    count = sum(parameter.numel() for parameter in model.module.parameters())
    size = sum(parameter.nbytes for parameter in model.module.parameters()) / 1e6
    if count > PARAMETERS or size > MEGABYTES:
        raise CheckpointError(
            f"a model that travels has at most {PARAMETERS:,} parameters and {MEGABYTES} MB of weights",
            got=f"{count:,} and {size:.2f} MB",
        )
    model.card = write_card(model, folder) + _MORE.format(licence=small.licence, before=before)
    model.save(folder)
    here = (str(Path.cwd()).encode(), str(results.data_directory().resolve()).encode())
    for path in folder.iterdir():
        if any(place in path.read_bytes() for place in here):
            raise CheckpointError("no path of this machine may travel", got=str(path))
    return model
