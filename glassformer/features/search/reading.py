"""Reading an index: its facts and its arrays, each of which must fit the others; nothing in a file is trusted.

N texts · M vectors · W numbers of a vector
"""

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.json_text import file_checksum, read_sealed_json
from glassformer.base.paths import check_path
from glassformer.base.settings import read_settings
from glassformer.base.wrapping import in_one_line
from glassformer.features.search import building
from glassformer.features.search.nearest import Floats, Integers
from glassformer.features.search.words import LENGTHS, PAIRS, WORDS, Words


class Sentences(NamedTuple):
    """Which text each vector is of, and the characters [start, end) of its sentence, [M, 3]; and the first vector of
    each text, [N + 1].
    """

    spans: npt.NDArray[np.int64]
    first: Integers


def read_facts(path: str | Path) -> building.IndexFacts:
    """The facts of an index; raises CheckpointError for no index, an empty or a damaged one."""
    check_path(path, CheckpointError)
    path = Path(path)
    if not (path / building.INDEX).is_file():
        got = "no such folder" if not path.exists() else "a folder without index.json" if path.is_dir() else "a file"
        raise CheckpointError(
            f"the folder of an index is needed, not {in_one_line(str(path))!r}",
            got=got,
            do="make one: glassformer search build MODEL FILE --out FOLDER",
        )
    try:
        facts = read_settings(building.IndexFacts, read_sealed_json(path / building.INDEX), where=building.INDEX)
        for name in building.files_of(facts.per, facts.words):
            if file_checksum(path / name) != facts.checksums.get(name):
                raise ValueError(f"the checksum of {name} does not match")
    except (OSError, ValueError, ConfigError) as error:
        raise damaged(path, error) from None
    if not facts.texts:
        raise CheckpointError("an index must have texts to be searched", got=f"{path}, which is empty")
    return facts


def damaged(path: Path, why: Exception) -> CheckpointError:
    """The error of an index that is not whole."""
    return CheckpointError(f"{path} must be a whole index", got=str(why), do="build it again")


def arrays(path: Path, facts: building.IndexFacts) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The vectors [M, W] of an index and the places [N + 1] of its texts, mapped; raises ValueError unless they fit one
    another.
    """
    count = facts.texts if facts.per == "text" else facts.vectors
    vectors = _mapped(path / building.VECTORS, "<f4", (count, facts.width))
    places = _mapped(path / building.PLACES, "<i8", (facts.texts + 1,))
    if places[0] != 0 or places[-1] != (path / building.TEXTS).stat().st_size or not (places[:-1] < places[1:]).all():
        raise ValueError(f"{building.PLACES}, which does not match {building.TEXTS}")
    empty: list[int] = []
    for start in range(0, count, building.AT_ONCE):
        some = vectors[start : start + building.AT_ONCE]
        squares = np.einsum("nw,nw->n", some, some)
        zero = squares == 0
        empty += (start + np.flatnonzero(zero)).tolist()
        if not (zero | (np.abs(squares - 1) < 1e-3)).all():
            raise ValueError(f"{building.VECTORS}, whose vectors are not of length 1")
    if tuple(empty) != facts.empty:
        raise ValueError(f"{building.INDEX}, whose empty rows are not those of {building.VECTORS}")
    return vectors, places


def sentences(path: Path, facts: building.IndexFacts) -> Sentences | None:
    """The sentences of an index that has a vector for each; raises ValueError unless they fit its texts."""
    if facts.per == "text":
        return None
    spans = _mapped(path / building.SENTENCES, "<i8", (facts.vectors, 3))
    text, begin, end = spans.T
    in_order = (text[:-1] <= text[1:]).all() and (not len(text) or (text[0] >= 0 and text[-1] < facts.texts))
    if not in_order or not ((begin >= 0) & (begin < end)).all():
        raise ValueError(f"{building.SENTENCES}, which does not match {building.TEXTS}")
    return Sentences(spans, text.searchsorted(np.arange(facts.texts + 1)))


def words(path: Path, facts: building.IndexFacts) -> Words | None:
    """The words of an index that has some, mapped; raises ValueError unless they fit each other."""
    if not facts.words:
        return None
    shapes = {WORDS: ("<i8", (2, facts.words)), PAIRS: ("<i4", (facts.pairs, 2)), LENGTHS: ("<i4", (facts.texts,))}
    return Words(*(_mapped(path / name, *kind) for name, kind in shapes.items()))


def _mapped(path: Path, kind: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """An array that `build` wrote; raises ValueError for any other. Nothing in the header is evaluated."""
    with path.open("rb") as file:
        beginning, length = file.read(8), int.from_bytes(file.read(2), "little")
        header = file.read(length).decode("latin-1").strip()
    numbers = np.dtype(kind).itemsize * math.prod(shape)
    wanted = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    if (beginning, header) != (np.lib.format.magic(1, 0), wanted) or path.stat().st_size != 10 + length + numbers:
        raise ValueError(f"{path.name}, which does not hold {list(shape)} numbers {kind}")
    return np.memmap(path, kind, "r", 10 + length, shape)
