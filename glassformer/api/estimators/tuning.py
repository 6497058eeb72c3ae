"""What the estimators that fine-tune a model share: records to a file, a recipe, a training, the model; saving."""

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.api.train import train
from glassformer.base.atomic import atomic_write
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.json_text import read_sealed_json, sealed_json
from glassformer.saved.recipe import RECIPE
from glassformer.training.progress import ConsoleProgress, NoProgress
from glassformer.training.stopping import Interrupted

FILE = "estimator.json"
_MADE_FOR = "glassformer estimator, format 1"
_OF_A_FIT = {"model", "out", "verbose"}  # parameters that are not written next to a saved model


def save_estimator(
    directory: str | Path, kind: str, model: Model, parameters: Mapping[str, Any], learned: Mapping[str, Any]
) -> Path:
    """Write the model and the facts of the estimator. Raises CheckpointError when that is impossible."""
    given = {name: _in_json(value) for name, value in parameters.items()}
    facts = {"made_for": _MADE_FOR, "kind": kind, "parameters": given, "learned": dict(learned)}
    try:
        text = sealed_json(facts)  # before the model is written
        folder = model.save(directory)
        with atomic_write(folder / FILE) as draft:
            draft.write_text(text, encoding="utf-8")
    except (OSError, TypeError) as error:
        raise CheckpointError(f"an estimator must be saved to {directory}", got=str(error)) from None
    return folder


def _in_json(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    if isinstance(value, Mapping):
        pairs = [(_in_json(key), _in_json(each)) for key, each in value.items()]
        named = all(isinstance(key, str) for key, _ in pairs)
        return dict(pairs) if named else pairs  # the keys of an object are words
    return value.tolist() if hasattr(value, "tolist") else value


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def load_estimator(
    directory: str | Path, kind: str, device: str | None = None
) -> tuple[Model, dict[str, Any], dict[str, Any]]:
    """The model, the parameters and what was learned. Raises CheckpointError for anything but such an estimator."""
    path = Path(directory) / FILE
    try:
        facts = read_sealed_json(path)
        if facts.get("made_for") != _MADE_FOR or facts.get("kind") != kind:
            raise ValueError(f"it is of {facts.get('kind', 'another kind')!r}")
    except (OSError, ValueError) as error:
        got = "no such file" if isinstance(error, FileNotFoundError) else str(error)
        raise CheckpointError(f"a saved {kind} is needed at {path}", got=got) from None
    return load(directory, device=device), dict(facts["parameters"]), dict(facts["learned"])


# Tokens of a row where nothing else is asked for, as in the recipes; fewer where the model reads fewer.
_LENGTH = 128


@dataclass(eq=False, repr=False)
class Tuned:
    """They are fitted once they have a model, and are loaded from the folder that `save` wrote."""

    model: str | Path | Model | None = "english"
    _: KW_ONLY
    epochs: int | None = None
    learning_rate: float | None = None
    batch: int | None = None
    length: int | None = None
    validation: float = 0.1
    seed: int = 0
    device: str = "auto"
    settings: Mapping[str, Any] | None = None
    out: str | Path | None = None
    verbose: bool = False
    model_: Model = field(init=False)

    def _tuned(self: Any, task: str, records: Iterable[Mapping[str, Any]], own: Mapping[str, Any]) -> Model:
        """The model that learns these records by the recipe of its task, with the settings that the parameters name and
        `own` ones; None leaves the recipe's. With a `model` a pre-trained encoder is fine-tuned, else everything is
        learned from the records. Raises as `gf.train` does.
        """
        if not isinstance(self.settings, Mapping | None):
            raise ConfigError("settings are a mapping of names to values", got=repr(self.settings)[:60])
        if isinstance(self.validation, bool) or not isinstance(self.validation, int | float | np.number):
            raise ConfigError("validation is a share of the texts, 0 to below 1", got=repr(self.validation)[:60])
        asked = {
            "train.epochs": self.epochs,
            "train.learning_rate": self.learning_rate,
            "train.batch": self.batch,
            "train.seed": self.seed,
            "train.device": self.device,
            "data.length": self.length,
            "data.validation": float(self.validation),
            **own,
            **(self.settings or {}),
        }
        start, out = self.model, self.out
        if out is not None and (Path(out) / RECIPE).exists():
            do = "choose another folder for each fit, or out=None: then no run is kept"
            raise ConfigError(
                "the run of an estimator needs a new folder", got=f"out = {str(out)!r}, which has a run", do=do
            )
        with tempfile.TemporaryDirectory(prefix="glassformer-") as folder:
            file = Path(folder) / "records.jsonl"
            with file.open("w", encoding="utf-8") as handle:
                for record in records:
                    handle.write(json.dumps(record) + "\n")
            changes = {name: value for name, value in asked.items() if value is not None}
            changes["data.files"] = [str(file)]
            if start is not None and "data.length" not in changes:
                known = (start if isinstance(start, Model) else load(start)).config.output_stack.max_length
                changes |= {"data.length": known} if known is not None and known < _LENGTH else {}
            if isinstance(start, Model):
                changes["model.start"] = str(start.save(Path(folder) / "start"))
            elif start is not None:
                changes["model.start"] = str(start)
            progress = ConsoleProgress() if self.verbose else NoProgress()
            try:
                model = train(task, set=changes, out=Path(folder) / "run" if out is None else out, progress=progress)
            except Interrupted as error:
                if out is not None:
                    raise
                said = "stopped: nothing is kept of a fit without a folder; out= keeps it"
                raise Interrupted(said, signal_number=error.exit_code - 128) from None
            if out is None:
                model.source = None  # its folder is gone: an index that it makes must not look for it there
            return model

    def save(self, directory: str | Path) -> Path:
        """Write the model, its labels if it has any, and the parameters that JSON has values for, to a folder, without
        pickle; every command reads it.
        """
        check_is_fitted(self)
        names = [each.name for each in fields(self) if each.init and each.name not in _OF_A_FIT]
        given = {name: value for name in names if _is_json(value := _in_json(getattr(self, name)))}
        learned = {"classes": self.classes_.tolist()} if hasattr(self, "classes_") else {}
        return save_estimator(directory, type(self).__name__, self.model_, given, learned)

    @classmethod
    def load(cls, directory: str | Path, *, device: str | None = None) -> Self:
        """A fitted one from its folder; raises CheckpointError for another folder."""
        model, given, learned = load_estimator(directory, cls.__name__, device)
        parameters: dict[str, Any] = {
            name: dict(value) if isinstance(value, list) else value for name, value in given.items()
        }
        found = cls(str(directory), **parameters)
        classes = {"classes_": np.array(learned["classes"])} if "classes" in learned else {}
        vars(found).update(model_=model, **classes)
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")
