"""The data of each row of the tables, how long both sides train, and where runs are kept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from experiments.results import data_directory
from glassformer.data.readers.parallel import SOURCE, TARGET, read_pairs, read_parallel
from glassformer.tasks.writing.translate.scores import with_all_references

WORK = Path("runs/translation")
OURS, PEER, SCORES, PACKAGE = "ours", "peer", "scores", "package"
# The model that travels in the package, trained on Tatoeba.
TRAVELLING = "en-fr"
# Snapshots of a run, for its curve.
SNAPSHOTS = 20


class Texts(NamedTuple):
    """Sources, and all right translations of each."""

    sources: list[str]
    references: list[list[str]]


@dataclass(frozen=True)
class Pairs:
    """A set of pairs in a folder of the shared data: a part is two files, NAME.en.gz and NAME.fr.gz, or one table."""

    folder: str
    train: str
    validation: str
    tests: dict[str, str]

    def files(self, part: str) -> tuple[Path, ...]:
        """The table of a part, or its files of sources and of targets."""
        folder = data_directory().resolve() / self.folder
        table = folder / part
        return (table,) if table.is_file() else (folder / f"{part}.en.gz", folder / f"{part}.fr.gz")

    def settings(self) -> dict[str, Any]:
        """The tables `[data]` of a recipe for the training pairs, with the validation part beside them."""
        train, *targets = map(str, self.files(self.train))
        validation, *validation_targets = map(str, self.files(self.validation))
        both = {"data.target_files": targets, "data.validation_target_files": validation_targets} if targets else {}
        return {
            "data.files": [train],
            "data.validation_files": [validation],
            "data.validation": 0.0,
            **both,
        }

    def texts(self, part: str, most: int | None = None) -> Texts:
        """The texts of a part, or `most` of them: all lines of two files; of a table, each source once."""
        files = self.files(part)
        rows = read_pairs(*files, ("0", "1")) if len(files) == 1 else read_parallel(*files)
        pairs = [(str(row.values[SOURCE]), str(row.values[TARGET])) for row in rows]
        sources, targets = map(list, zip(*pairs, strict=True))
        found = [sources, [[target] for target in targets]]
        if len(files) == 1:
            found = list(with_all_references(sources, targets))
        return Texts(*(each[:most] for each in found))


SETS = {
    "multi30k": Pairs(
        "multi30k_en_fr",
        "train",
        "val",
        {"test 2016": "test_2016_flickr", "test 2017": "test_2017_flickr", "MSCOCO": "test_2017_mscoco"},
    ),
    "tatoeba": Pairs("tatoeba_en_fr", "train.tsv.gz", "validation.tsv", {"test": "test.tsv"}),
}


@dataclass(frozen=True)
class Budget:
    """How long a side trains: minutes, or steps for a try; on so many threads."""

    minutes: float
    steps: int | None
    threads: int | None
    seed: int

    @property
    def sentences(self) -> int | None:
        """How many sentences of each part a try translates."""
        return None if self.steps is None else 10

    @property
    def name(self) -> str:
        """Part of the name of runs and results."""
        return f"{self.minutes:g}-minutes" if self.steps is None else f"{self.steps}-steps"

    def folder(self, name: str, side: str) -> Path:
        """Where a run keeps its checkpoints and what it translated."""
        return WORK / name / f"{side}-{self.name}-{self.seed}"


def write_json(path: Path, values: Any) -> None:
    """Write values as JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(values, indent=1, ensure_ascii=False), encoding="utf-8")
    partial.replace(path)


def read_json(path: Path) -> Any:
    """The values of a file that `write_json` has written."""
    return json.loads(path.read_text(encoding="utf-8"))
