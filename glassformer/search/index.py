"""An index of texts: a directory with their vectors, the texts, and which model made them; whole or absent.

N texts · W numbers of a vector
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, overload

import numpy as np

from glassformer.artefact.artefact import Artefact
from glassformer.artefact.embed import embed, vectors_of
from glassformer.artefact.texts import check_text, listed
from glassformer.atomic import atomic_write
from glassformer.checksum import file_checksum, read_sealed_json, sealed_json
from glassformer.errors import CheckpointError, ConfigError, DataError, ShapeError
from glassformer.features.mix import Mix
from glassformer.features.vectors import Reals, VectorsOf
from glassformer.look.saved import fingerprint
from glassformer.paths import check_path
from glassformer.search.nearest import Backend, Floats, nearest

INDEX, VECTORS, TEXTS, PLACES = "index.json", "vectors.npy", "texts.jsonl", "places.npy"
_MADE_FOR = "glassformer search index, format 1"
# Texts that become vectors together.
_TOGETHER = 4096


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
        self.nearest = nearest(self._vectors, backend)
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
        model = _opened(model)
        records: Iterator[tuple[dict[str, object], str, object]] = (
            ({"text": check_text(each, f"text {number}")}, "", None) for number, each in enumerate(texts, 1)
        )
        build(path, records, model, strategy=strategy, pooling=pooling)
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
        """The `top` texts whose vectors point most in the direction of the question's, or of each of many questions.

        Raises DataError for a question of only blanks.
        """
        if top < 1:
            raise ConfigError("at least one text must be asked for", got=f"top {top}")
        asked = listed(text, "question")
        for number, each in enumerate(asked, 1):
            if not each.strip():
                which = f"question {number} of {len(asked):,}" if len(asked) > 1 else "a question"
                raise DataError(f"{which} must hold words", got=repr(each)[:60])
        found = list(embed(self.model, self.maker, (({"text": each}, "") for each in asked)))
        name = self.maker.features[0].name
        width = self._vectors.shape[1]
        vectors = np.array([each.vectors[name] for each in found], np.float32).reshape(len(found), width)
        hits = self.near(vectors, top=top)
        return hits[0] if isinstance(text, str) else hits

    def near(self, vectors: Reals, *, top: int = 5) -> list[list[Hit]]:
        """The same for questions whose vectors [Q, W] are known, of any length. Raises ShapeError for other vectors."""
        asked, width = np.asarray(vectors, np.float32), self._vectors.shape[1]
        if asked.ndim != 2 or asked.shape[1] != width:
            raise ShapeError(f"questions to this index are vectors [Q, {width}]", got=str(list(asked.shape)))
        scores, rows = self.nearest.find(normalized(asked), top)
        return [
            [
                Hit(rank, float(score), int(row), *self._text(int(row)))
                for rank, (score, row) in enumerate(zip(its, of, strict=True), start=1)
            ]
            for its, of in zip(scores, rows, strict=True)
        ]

    def vector(self, row: int) -> Floats:
        """The vector of a text, [W], of length 1."""
        return np.array(self._vectors[row])

    def _text(self, row: int) -> tuple[str, Any]:
        """A text of the index and its id."""
        begin, end = int(self._places[row]), int(self._places[row + 1])
        with (self.path / TEXTS).open("rb") as file:
            file.seek(begin)
            values = json.loads(file.read(end - begin))
        return values["text"], values.get("id")


def build(
    path: str | Path,
    records: Iterable[tuple[dict[str, object], str, object]],
    model: Artefact,
    *,
    strategy: str | Mix = "last",
    pooling: str = "mean",
    named: str = "",
    advance: Callable[[int], None] = lambda done: None,
) -> int:
    """Write an index of records (text, where it is, its id) to a new directory, in bounded memory; how many they are.

    `named` is where the model is found again: by default the folder or the name it was opened by. Raises as
    `SearchIndex.build` does.
    """
    check_path(path, DataError, utf8=True)
    path = Path(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise DataError(
            "an index is written to a new folder",
            got=f"{path}, which is there",
            do="delete it, or choose another --out",
        )
    maker = vectors_of(model, [strategy], [pooling])
    count, at, places = 0, 0, [0]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as draft:
            draft.mkdir()
            with (draft / "vectors.raw").open("wb") as raw, (draft / TEXTS).open("wb") as texts:
                for some in _together(records):
                    vectors = _vectors(model, maker, some)
                    raw.write(vectors.tobytes())
                    for values, _, own in some:
                        line = {"text": values["text"], **({} if own is None else {"id": own})}
                        at += texts.write(json.dumps(line).encode() + b"\n")
                        places.append(at)
                    count += len(some)
                    advance(len(some))
            if not count:
                raise DataError("an index needs at least one text", got="none")
            _finish(draft, places, count, maker.widths[0])
            facts = {
                "made_for": _MADE_FOR,
                "model": named or (str(Path(model.source).resolve()) if model.source is not None else ""),
                "digest": model_digest(model),
                "strategy": "mix" if isinstance(strategy, Mix) else strategy,
                "mix": None if maker.features[0].strategy.mix is None else vars(maker.features[0].strategy.mix),
                "pooling": pooling,
                "texts": count,
                "width": maker.widths[0],
                "checksums": {name: file_checksum(draft / name) for name in (VECTORS, TEXTS, PLACES)},
            }
            (draft / INDEX).write_text(sealed_json(facts), encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"an index must be written to {path}", got=error.strerror or str(error), do="choose another --out"
        ) from None
    return count


def _together(
    records: Iterable[tuple[dict[str, object], str, object]],
) -> Iterator[list[tuple[dict[str, object], str, object]]]:
    records = iter(records)
    while some := list(islice(records, _TOGETHER)):
        yield some


def _vectors(model: Artefact, maker: VectorsOf, some: Sequence[tuple[dict[str, object], str, object]]) -> Floats:
    """The vectors of texts, of length 1, [n, W]."""
    name = maker.features[0].name
    found = embed(model, maker, ((values, where) for values, where, _ in some))
    return normalized(np.array([each.vectors[name] for each in found], np.float32))


def _finish(draft: Path, places: Sequence[int], count: int, width: int) -> None:
    """The raw numbers as an array with a header, and where each text begins."""
    import shutil

    header = {"descr": "<f4", "fortran_order": False, "shape": (count, width)}
    with (draft / VECTORS).open("wb") as file, (draft / "vectors.raw").open("rb") as raw:
        np.lib.format.write_array_header_1_0(file, header)
        shutil.copyfileobj(raw, file, 1 << 22)
    (draft / "vectors.raw").unlink()
    np.save(draft / PLACES, np.array(places, np.int64))


def normalized(vectors: Floats) -> Floats:
    """Vectors [n, W] brought to length 1; one of only zeros stays."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


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
        if facts.get("made_for") != _MADE_FOR:
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
    from glassformer.artefact.open import load

    return model if isinstance(model, Artefact) else load(model, device=device)


def model_digest(model: Artefact) -> str:
    """Identifies all that a text's vector depends on: weights, settings, tokenizer, and how much is read at once."""
    facts = [fingerprint(model.module), model.tokenizer.fingerprint, model.row_tokens]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _maker(model: Artefact, facts: dict[str, Any]) -> VectorsOf:
    mix = facts["mix"]
    strategy = facts["strategy"] if mix is None else Mix(tuple(mix["weights"]), mix["scale"], tuple(mix["shares"]))
    return vectors_of(model, [strategy], [facts["pooling"]])


__all__ = ["Hit", "SearchIndex", "build", "model_digest", "normalized", "read_facts"]
