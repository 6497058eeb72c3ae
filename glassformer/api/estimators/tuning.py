"""Fine-tuning for the estimators: records to a file, a recipe, a training, the model."""

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.api.train import train
from glassformer.training.progress import ConsoleProgress, NoProgress

# Tokens of a row where nothing else is asked for, as in the recipes; fewer where the model reads fewer.
_LENGTH = 128


def tuned(
    task: str,
    records: Iterable[Mapping[str, Any]],
    start: str | Path | Model | None,
    settings: Mapping[str, Any],
    *,
    out: str | Path | None,
    verbose: bool,
) -> Model:
    """A model trained on these records by the recipe of its task; `settings` change single ones (`train.epochs`), None
    leaves the recipe's. With `start` a pre-trained encoder is fine-tuned, else everything is learned from the records.

    Raises as `gf.train` does.
    """
    with tempfile.TemporaryDirectory(prefix="glassformer-") as folder:
        file = Path(folder) / "records.jsonl"
        with file.open("w", encoding="utf-8") as handle:
            for record in records:
                handle.write(json.dumps(record) + "\n")
        changes = {name: value for name, value in settings.items() if value is not None}
        changes["data.files"] = [str(file)]
        if start is not None and "data.length" not in changes:
            known = (start if isinstance(start, Model) else load(start)).config.output_stack.max_length
            changes |= {"data.length": known} if known is not None and known < _LENGTH else {}
        if isinstance(start, Model):
            changes["model.start"] = str(start.save(Path(folder) / "start"))
        elif start is not None:
            changes["model.start"] = str(start)
        recipe = task if start is not None else f"{task}-from-scratch"
        progress = ConsoleProgress() if verbose else NoProgress()
        model = train(recipe, set=changes, out=Path(folder) / "run" if out is None else out, progress=progress)
        if out is None:
            model.source = None  # its folder is gone: an index that it makes must not look for it there
        return model
