"""Building an index: vectors of length 1, words and texts, in bounded memory; a stopped build can be resumed.

N texts · W numbers of a vector
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, get_args

import numpy as np
from pydantic import Field

from glassformer.base.errors import ConfigError, DataError
from glassformer.base.json_text import file_checksum, sealed_json
from glassformer.base.paths import check_path
from glassformer.base.settings import Settings
from glassformer.bundled.travelling import PLACE
from glassformer.data.readers.paragraphs import split_sentences
from glassformer.features import streams
from glassformer.features.embed import vectors_of
from glassformer.features.search.nearest import Floats
from glassformer.features.search.words import LENGTHS, PAIRS, WORDS, Counted, write_words
from glassformer.features.store import vectors_file
from glassformer.features.strategies import Mix
from glassformer.features.streams import Format, VectorsFile
from glassformer.features.vectors import Vectors, VectorsOf
from glassformer.models.transformer import fingerprint
from glassformer.saved.artefact import Artefact
from glassformer.text.words import Span

Held = Literal["vectors.npy", "texts.jsonl", "places.npy", "sentences.npy"] | Counted
Per = Literal["sentence", "text"]
INDEX = "index.json"
VECTORS: Held = "vectors.npy"
TEXTS: Held = "texts.jsonl"
PLACES: Held = "places.npy"
SENTENCES: Held = "sentences.npy"
HELD, COUNTED = (VECTORS, TEXTS, PLACES), (WORDS, PAIRS, LENGTHS)
# The poolings that take all tokens of a sentence; the first and the last token of a text say something of all of it.
OF_SENTENCES = ("mean", "max")
# Texts that become vectors together, and vectors that are read together.
TOGETHER, AT_ONCE = 4096, 1 << 14

Advances = Callable[[int], AbstractContextManager[Callable[[int], object]]]
"""Progress through so many texts: inside, call the function with how many more are done."""


class IndexFacts(Settings):
    """The facts of an index. `model` is where the model that made it was, "" for one in memory; `texts` is how many
    there are, `vectors` how many vectors where each sentence has one, `empty` the rows of the vectors that are zero;
    `words` how many different words they have, and `pairs` how many pairs of a word and a text: 0 in an index without
    words.
    """

    made_for: Literal["glassformer search index, format 1"] = "glassformer search index, format 1"
    model: str
    digest: str
    strategy: str
    mix: Mix | None
    pooling: str
    width: int = Field(ge=1)
    per: Per = "text"
    texts: int = Field(ge=0)
    vectors: int = Field(0, ge=0)
    empty: tuple[Annotated[int, Field(ge=0)], ...]
    words: int = Field(0, ge=0)
    pairs: int = Field(0, ge=0)
    checksums: dict[Held, Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]] = Field(min_length=3)


class Extended(Protocol):
    """An opened index whose texts another one begins with."""

    path: Path
    facts: IndexFacts


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
    pooling: str | None = None,
    per: Per | None = None,
    extends: Extended | None = None,
    named: str = "",
    request: Mapping[str, Any] | None = None,
    resume: bool = False,
    counting: Advances = lambda total: nullcontext(lambda more: None),
) -> Iterator[Building]:
    """Inside, put the texts' vectors into `file`; at the end the index is in a new directory. `named` is where the
    model is found again: by default the folder it was opened from, or its bundled name. Vectors are those of sentences
    or of texts (`per`; by default of sentences where the pooling takes all of their tokens). With an index that it
    `extends`, whose texts and vectors are copied into the file first, they are made as in that one. `request` and
    `resume` are those of `vectors_file`; `counting` shows how many texts' words are counted, after the vectors. Raises
    DataError for an existing directory, for no text, and where none has a token.
    """
    check_path(path, DataError, utf8=True)
    path = Path(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise DataError("an index is written to a new folder", got=f"{path}, which exists", do="choose another --out")
    if extends is not None:
        of = extends.facts
        strategy, pooling, per = of.mix or of.strategy, of.pooling, of.per
    pooling = pooling or model.pooling
    per = per_of(per, pooling)
    maker = maker_of(model, strategy, pooling, per)
    (feature,) = maker.features
    mix = feature.strategy.mix
    facts = {
        "model": named or _name_of(model),
        "digest": model_digest(model),
        "strategy": "mix" if isinstance(strategy, Mix) else strategy,
        "mix": mix,
        "pooling": pooling,
        "width": maker.widths[0],
        "per": per,
    }
    format = Format(
        lambda draft, made: _write(draft, made, facts, counting),
        "an index",
        is_folder=True,
        with_texts=True,
        prepared=_of_length_one,
    )
    words = per == "sentence"
    with vectors_file(path, [feature.name], maker.widths, request, words=words, resume=resume, format=format) as file:
        if extends is not None and not file.texts:
            _copy(extends, file)
        yield Building(file, model, maker)


def _copy(extends: Extended, file: VectorsFile) -> None:
    """Append the vectors, the texts and the sentences of an index as they are, and make them whole."""
    facts, words = extends.facts, file.words
    rows = facts.vectors if words else facts.texts
    ((numbers, width),) = file.numbers.values()
    held = {numbers.name: (VECTORS, rows * width * 4), streams.TEXTS: (TEXTS, None)}
    held |= {streams.PLACES: (SENTENCES, rows * 3 * 8)} if words else {}
    for name, (its, size) in held.items():
        with (extends.path / its).open("rb") as raw:
            if size is not None:
                raw.seek(-size, os.SEEK_END)  # after the header of the array
            while some := raw.read(1 << 22):
                file.streams[name].write(some)
    file.texts, file.rows = facts.texts, rows
    file.commit()


def files_of(per: Per, words: int) -> tuple[Held, ...]:
    """The files of an index that has so many words."""
    return HELD + (COUNTED if words else ()) + ((SENTENCES,) if per == "sentence" else ())


def per_of(per: Per | None, pooling: str) -> Per:
    """What has a vector: as asked, by default each sentence; raises ConfigError for the two that do not go together."""
    if per not in (None, *get_args(Per)):
        raise ConfigError("an index has a vector for each sentence or each text", got=repr(per)[:60])
    if per == "sentence" and pooling not in OF_SENTENCES:
        raise ConfigError(f"vectors of sentences are pooled by {' or '.join(OF_SENTENCES)}", got=pooling)
    return per or ("sentence" if pooling in OF_SENTENCES else "text")


def maker_of(model: Artefact, strategy: str | Mix, pooling: str, per: Per) -> VectorsOf:
    """What makes the vectors of texts for an index. Raises as `vectors_of` does."""
    if per == "text":
        return vectors_of(model, [strategy], [pooling])
    read = model.tokenizer.ids

    def spans(text: str) -> list[Span]:
        """The characters [start, end) of each sentence that has a token: one with a letter or a number has."""
        found = ((each.start, each.end) for each in split_sentences(text))
        return [span for span in found if any(map(str.isalnum, text[slice(*span)])) or read(text[slice(*span)])]

    return vectors_of(model, [strategy], [pooling], spans=spans)


def _of_length_one(each: Vectors) -> Vectors:
    """The same vectors as an index keeps them: of length 1, and of zeros where the text has no token of its own, so
    that it is like nothing.
    """
    own = {
        name: normalized(np.atleast_2d(of)).reshape(of.shape) if each.tokens else np.zeros_like(of)
        for name, of in each.vectors.items()
    }
    return replace(each, vectors=own)


def normalized(vectors: Floats) -> Floats:
    """Vectors [N, W] brought to length 1; one of only zeros stays."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _write(draft: Path, made: VectorsFile, facts: Mapping[str, Any], counting: Advances) -> None:
    """The numbers as an array with a header, the texts, where each of them begins, which vectors are zero, the
    sentences; the words.
    """
    draft.mkdir()
    ((numbers, width),) = made.numbers.values()
    said = made.folder / streams.TEXTS
    empty: list[int] = []
    with (draft / VECTORS).open("wb") as file, numbers.open("rb") as raw:
        streams.write_header(file, "<f4", (made.rows, width))
        for start in range(0, made.rows, AT_ONCE):
            some = np.fromfile(raw, "<f4", min(AT_ONCE, made.rows - start) * width)
            empty += (start + np.flatnonzero(~some.reshape(-1, width).any(axis=1))).tolist()
            file.write(some.tobytes())
    if len(empty) == made.rows:
        raise DataError("an index needs a text with words", got=f"{made.texts:,} without any token")
    if made.words:
        with (draft / SENTENCES).open("wb") as file, (made.folder / streams.PLACES).open("rb") as raw:
            streams.write_header(file, "<i8", (made.rows, 3))
            shutil.copyfileobj(raw, file, 1 << 22)
    shutil.copyfile(said, draft / TEXTS)
    places = np.zeros(made.texts + 1, np.int64)
    with said.open("rb") as file:
        for number, line in enumerate(file, start=1):
            places[number] = places[number - 1] + len(line)
    np.save(draft / PLACES, places)
    with counting(made.texts) as advance:
        words, pairs = write_words(said, draft, advance)
    vectors = made.rows if made.words else 0
    checksums = {name: file_checksum(draft / name) for name in files_of(facts["per"], words)}
    counts: dict[str, Any] = {"texts": made.texts, "vectors": vectors, "words": words, "pairs": pairs}
    whole = IndexFacts(**facts, **counts, empty=tuple(empty), checksums=checksums)
    (draft / INDEX).write_text(sealed_json(whole.model_dump(mode="json")), encoding="utf-8")


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
