"""Building an index: vectors of length 1, words and texts, in bounded memory; a stopped build can be resumed.

N texts · W numbers of a vector
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from glassformer.base.errors import DataError
from glassformer.base.json_text import file_checksum, sealed_json
from glassformer.base.paths import check_path
from glassformer.base.settings import Settings
from glassformer.bundled.travelling import PLACE
from glassformer.features.embed import embed, vectors_of
from glassformer.features.mix import Mix
from glassformer.features.search.nearest import Floats
from glassformer.features.search.words import LENGTHS, PAIRS, WORDS, Counted, write_words
from glassformer.features.store import vectors_file
from glassformer.features.streams import Content, Format, VectorsFile
from glassformer.features.vectors import Vectors, VectorsOf
from glassformer.models.fingerprint import fingerprint
from glassformer.saved.artefact import Artefact

Held = Literal["vectors.npy", "texts.jsonl", "places.npy"] | Counted
INDEX = "index.json"
VECTORS: Held = "vectors.npy"
TEXTS: Held = "texts.jsonl"
PLACES: Held = "places.npy"
HELD, COUNTED = (VECTORS, TEXTS, PLACES), (WORDS, PAIRS, LENGTHS)
# Texts that become vectors together, and vectors that are read together.
_TOGETHER, AT_ONCE = 4096, 1 << 14

Advances = Callable[[int], AbstractContextManager[Callable[[int], object]]]
"""Progress through so many texts: inside, call the function with how many more are done."""


class IndexFacts(Settings):
    """The facts of an index. `model` is where the model that made it was, "" for one in memory; `texts` is how many
    there are, `empty` the rows of those without a vector; `words` how many different words they have, and `pairs` how
    many pairs of a word and a text: 0 in an index without words.
    """

    made_for: Literal["glassformer search index, format 1"] = "glassformer search index, format 1"
    model: str
    digest: str
    strategy: str
    mix: Mix | None
    pooling: str
    width: int = Field(ge=1)
    texts: int = Field(ge=0)
    empty: tuple[Annotated[int, Field(ge=0)], ...]
    words: int = Field(0, ge=0)
    pairs: int = Field(0, ge=0)
    checksums: dict[Held, Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]] = Field(min_length=3)


@dataclass(frozen=True)
class Building:
    """An index that is being built: its file, and what makes the vectors."""

    file: VectorsFile
    model: Artefact
    maker: VectorsOf


@contextmanager
def building(
    path: str | Path,
    model: Artefact,
    *,
    strategy: str | Mix = "last",
    pooling: str = "mean",
    named: str = "",
    request: Mapping[str, Any] | None = None,
    resume: bool = False,
    counting: Advances = lambda total: nullcontext(lambda more: None),
) -> Iterator[Building]:
    """Inside, put the texts' vectors into `file`; at the end the index is in a new directory. `named` is where the
    model is found again: by default the folder it was opened from, or its bundled name. `request` and `resume` are
    those of `vectors_file`; `counting` shows how many texts' words are counted, after the vectors. Raises DataError for
    an existing directory, for no text, and where none has a token.
    """
    check_path(path, DataError, utf8=True)
    path = Path(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise DataError(
            "an index is written to a new folder", got=f"{path}, which exists", do="delete it, or choose another --out"
        )
    maker = vectors_of(model, [strategy], [pooling])
    (feature,) = maker.features
    mix = feature.strategy.mix
    facts = {
        "model": named or _name_of(model),
        "digest": model_digest(model),
        "strategy": "mix" if isinstance(strategy, Mix) else strategy,
        "mix": mix,
        "pooling": pooling,
        "width": maker.widths[0],
    }
    format = Format(
        lambda draft, content: _write(draft, content, facts, counting),
        "an index",
        is_folder=True,
        with_texts=True,
        prepared=_of_length_one,
    )
    with vectors_file(path, [feature.name], maker.widths, request, words=False, resume=resume, format=format) as file:
        yield Building(file, model, maker)


def build(
    path: str | Path,
    records: Iterable[tuple[Mapping[str, object], str, object]],
    model: Artefact,
    *,
    strategy: str | Mix = "last",
    pooling: str = "mean",
    named: str = "",
) -> int:
    """Write an index of records (text, where it is, its id) to a new directory; how many they are. Raises as `building`
    does.
    """
    with building(path, model, strategy=strategy, pooling=pooling, named=named) as begun:
        left = iter(records)
        while some := list(islice(left, _TOGETHER)):
            found = embed(model, begun.maker, ((values, where) for values, where, _ in some))
            begun.file.add(list(found), [own for _, _, own in some])
        return begun.file.texts


def _of_length_one(each: Vectors) -> Vectors:
    """The same vectors as an index keeps them: of length 1, and of zeros where the text has no token of its own, so
    that it is like nothing.
    """
    return replace(
        each,
        vectors={
            name: normalized(of[None])[0] if each.tokens else np.zeros_like(of) for name, of in each.vectors.items()
        },
    )


def normalized(vectors: Floats) -> Floats:
    """Vectors [N, W] brought to length 1; one of only zeros stays."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _write(draft: Path, content: Content, facts: Mapping[str, Any], counting: Advances) -> None:
    """The numbers as an array with a header, the texts, where each of them begins, which have no vector; the words."""
    draft.mkdir()
    ((numbers, width),) = content.features.values()
    assert content.said is not None
    empty: list[int] = []
    header = {"descr": "<f4", "fortran_order": False, "shape": (content.rows, width)}
    with (draft / VECTORS).open("wb") as file, numbers.open("rb") as raw:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, content.rows, AT_ONCE):
            some = np.fromfile(raw, "<f4", min(AT_ONCE, content.rows - start) * width)
            empty += (start + np.flatnonzero(~some.reshape(-1, width).any(axis=1))).tolist()
            file.write(some.tobytes())
    if len(empty) == content.rows:
        raise DataError("an index needs a text with words", got=f"{content.rows:,} without any token")
    shutil.copyfile(content.said, draft / TEXTS)
    places = np.zeros(content.rows + 1, np.int64)
    with content.said.open("rb") as file:
        for number, line in enumerate(file, start=1):
            places[number] = places[number - 1] + len(line)
    np.save(draft / PLACES, places)
    with counting(content.rows) as advance:
        words, pairs = write_words(content.said, draft, advance)
    checksums = {name: file_checksum(draft / name) for name in HELD + (COUNTED if words else ())}
    written = IndexFacts(**facts, texts=content.rows, empty=tuple(empty), words=words, pairs=pairs, checksums=checksums)
    (draft / INDEX).write_text(sealed_json(written.model_dump(mode="json")), encoding="utf-8")


def _name_of(model: Artefact) -> str:
    """The folder of a model, or its name where it came with the package, which may lie elsewhere tomorrow; "" for one
    in memory.
    """
    if model.source is None:
        return ""
    folder = Path(model.source).resolve()
    return folder.name if folder.parent == PLACE.resolve() else str(folder)


def model_digest(model: Artefact) -> str:
    """Identifies all that a text's vector depends on: weights, settings, tokenizer, and how much is read at once."""
    facts = [fingerprint(model.module), model.tokenizer.fingerprint, model.row_tokens]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()
