"""An index of texts: a directory with their vectors, the texts, and which model made them; whole or absent.

N texts · W numbers of a vector
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from glassformer.answering.answers import check_text, listed
from glassformer.base.errors import CheckpointError, ConfigError, DataError, ShapeError
from glassformer.base.json_text import file_checksum, read_sealed_json
from glassformer.base.paths import check_path
from glassformer.features.embed import embed, vectors_of
from glassformer.features.mix import Mix
from glassformer.features.pooling import Reals
from glassformer.features.search.building import (
    INDEX,
    MADE_FOR,
    PLACES,
    TEXTS,
    VECTORS,
    build,
    model_digest,
    normalized,
)
from glassformer.features.search.nearest import Backend, Floats, nearest
from glassformer.features.vectors import VectorsOf
from glassformer.saved.artefact import Artefact
from glassformer.saved.recipe import HUB
from glassformer.tasks.predictor import Within


@dataclass(frozen=True)
class Hit:
    """A text of an index: its place in the answer, from 1, the cosine with the question, its row in the index, from 0,
    and its id where it has one.
    """

    rank: int
    score: float
    row: int
    text: str
    id: Any = None


class SearchIndex:
    """Texts that can be asked for by meaning, with the model that made their vectors."""

    def __init__(self, path: Path, facts: dict[str, Any], model: Artefact, backend: Backend = "auto") -> None:
        self.path, self.facts, self.model = path, facts, model
        self._vectors: Floats = np.load(path / VECTORS, mmap_mode="r")  # [N, W]
        self._places = np.load(path / PLACES, mmap_mode="r")  # [N + 1], bytes in TEXTS
        self.nearest = nearest(self._vectors, backend, empty=facts.get("empty", ()))
        self.maker = _maker(model, facts)

    def __len__(self) -> int:
        return len(self._vectors)

    def __repr__(self) -> str:
        return f"SearchIndex({str(self.path)!r}, {len(self):,} texts, {self.nearest.name})"

    @classmethod
    def build(
        cls,
        path: str | Path,
        texts: Iterable[str],
        model: Artefact | str | Path,
        *,
        strategy: str | Mix = "last",
        pooling: str = "mean",
        backend: Backend = "auto",
    ) -> SearchIndex:
        """Make an index of texts, by an opened model or one that is named, and write it to a new directory.

        Raises DataError for no texts, for what is no text, and for a directory that is there already.
        """
        if isinstance(texts, str | bytes | Mapping) or not isinstance(texts, Iterable):  # of one, each letter
            raise DataError("an index is made of a list of texts", got=repr(texts)[:60])
        named = model if isinstance(model, str) and model.startswith(HUB) else ""
        model = _opened(model)
        records: Iterator[tuple[dict[str, object], str, object]] = (
            ({"text": check_text(each, f"text {number}")}, "", None) for number, each in enumerate(texts, 1)
        )
        build(path, records, model, strategy=strategy, pooling=pooling, named=named)
        return cls.open(path, model, backend=backend)

    @classmethod
    def open(
        cls,
        path: str | Path,
        model: Artefact | str | Path | None = None,
        *,
        backend: Backend = "auto",
        device: str | None = None,
    ) -> SearchIndex:
        """Open an index, by default with the model that is named in it.

        Raises CheckpointError for what is no index, for a damaged one, and for another model than the one that made it.
        """
        facts = read_facts(path)
        if model is None:
            if not facts["model"]:
                raise CheckpointError(
                    f"{path} needs the model that made it", got="an index that does not know where that is",
                    do="name it with --model, in Python with model=",
                )  # fmt: skip
            try:
                model = _opened(facts["model"], device)
            except CheckpointError as error:
                raise CheckpointError(
                    f"{path} needs the model that made it: {error.wanted}",
                    got=error.got,
                    do="name the folder where it is now with --model, in Python with model=",
                ) from None
        model = _opened(model, device)
        if model_digest(model) != facts["digest"]:
            raise CheckpointError(
                f"{path} must be asked with the model that made it ({facts['model'] or 'a model in memory'})",
                got="another model: its weights, settings or tokenizer differ",
                do="name that one with --model, or build the index anew with this one",
            )
        return cls(Path(path), facts, model, backend)

    @overload
    def ask(self, text: str, *, top: int = 5) -> list[Hit]: ...
    @overload
    def ask(self, text: list[str] | tuple[str, ...], *, top: int = 5) -> list[list[Hit]]: ...
    def ask(self, text: str | list[str] | tuple[str, ...], *, top: int = 5) -> list[Hit] | list[list[Hit]]:
        """The `top` texts whose vectors point most in the direction of the question's, or of each of many questions. A
        text without any token is never found.

        Raises DataError for a question of only blanks, or of characters for which the tokenizer has no token.
        """
        asked = listed(text, "question")
        found = self.answers(asked, top=top)
        for number, (each, hits) in enumerate(zip(asked, found, strict=True), 1):
            if hits is None:
                which = f"question {number} of {len(asked):,}" if len(asked) > 1 else "a question"
                raise DataError(f"{which} must hold words", got=repr(each)[:60])
        hits_of_each = [hits or [] for hits in found]
        return hits_of_each[0] if isinstance(text, str) else hits_of_each

    def answers(
        self, questions: Sequence[str], *, top: int = 5, within: Within = lambda done, total: None
    ) -> list[list[Hit] | None]:
        """The same for each of many questions; None for one without any token. `within` is told how far a long one is,
        in parts.
        """
        if top < 1:
            raise ConfigError("at least one text must be asked for", got=f"top {top}")
        found = list(embed(self.model, self.maker, (({"text": each}, "") for each in questions), within=within))
        name = self.maker.features[0].name
        vectors = [each.vectors[name] for each in found if each.tokens]
        hits = iter(self.near(np.array(vectors, np.float32).reshape(len(vectors), self._vectors.shape[1]), top=top))
        return [next(hits) if each.tokens else None for each in found]

    def near(self, vectors: Reals, *, top: int = 5) -> list[list[Hit]]:
        """The same for questions whose vectors [Q, W] are known, of any length. Raises ShapeError for others."""
        asked, width = np.asarray(vectors, np.float32), self._vectors.shape[1]
        if asked.ndim != 2 or asked.shape[1] != width:
            raise ShapeError(f"questions to this index are vectors [Q, {width}]", got=str(list(asked.shape)))
        if not np.isfinite(asked).all():
            raise ShapeError("vectors of questions are finite numbers", got="NaN or infinity")
        scores, rows = self.nearest.find(normalized(asked), top)
        return [
            [
                Hit(rank, float(score), int(row), *self._text(int(row)))
                for rank, (score, row) in enumerate(zip(its, of, strict=True), start=1)
            ]
            for its, of in zip(scores, rows, strict=True)
        ]

    def vector(self, row: int) -> Floats:
        """The vector of a text, [W], of length 1; of zeros where the text has no token."""
        return np.array(self._vectors[row])

    def _text(self, row: int) -> tuple[str, Any]:
        """A text of the index and its id."""
        begin, end = int(self._places[row]), int(self._places[row + 1])
        with (self.path / TEXTS).open("rb") as file:
            file.seek(begin)
            values = json.loads(file.read(end - begin))
        return values["text"], values.get("id")


def read_facts(path: str | Path) -> dict[str, Any]:
    """What an index knows of itself; raises CheckpointError for no index, an empty and a damaged one."""
    check_path(path, CheckpointError)
    path = Path(path)
    if not (path / INDEX).is_file():
        got = "no such folder" if not path.exists() else "a folder without index.json" if path.is_dir() else "a file"
        raise CheckpointError(
            f"an index is needed at {path}", got=got, do=f"make one: glassformer search build MODEL FILE --out {path}"
        )
    try:
        facts = read_sealed_json(path / INDEX)
        if facts.get("made_for") != MADE_FOR:
            raise ValueError("it is of another format")
        for name, checksum in facts["checksums"].items():
            if file_checksum(path / name) != checksum:
                raise ValueError(f"the checksum of {name} does not fit")
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{path} must be a whole index", got=str(error), do="build it again") from None
    if not facts["texts"]:
        raise CheckpointError("an index must have texts to be asked", got=f"{path}, which is empty")
    return facts


def _opened(model: Artefact | str | Path, device: str | None = None) -> Artefact:
    """The model itself where it is one, else that of a folder or a name."""
    from glassformer.saved.opening import open_model

    return model if isinstance(model, Artefact) else open_model(model, Artefact, device)


def _maker(model: Artefact, facts: dict[str, Any]) -> VectorsOf:
    mix = facts["mix"]
    strategy = facts["strategy"] if mix is None else Mix(tuple(mix["weights"]), mix["scale"], tuple(mix["shares"]))
    return vectors_of(model, [strategy], [facts["pooling"]])
