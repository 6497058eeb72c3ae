"""Tokenized text on disk, read through a memory map.

D documents, N tokens, S sentences.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import DataError
from glassformer.base.json_text import check_regular_file, file_checksum, read_sealed_json

FORMAT = 3
FACTS = "store.json"


@dataclass(frozen=True)
class TokenStore:
    """Documents as tokens, without special tokens. All arrays are memory maps. `ids` [N]; `offsets` [D+1]: document d
    holds the tokens offsets[d] … offsets[d+1]; `word_bits` [N/8]: one bit per token, 1 where a word begins; `sentences`
    [S]: tokens where a sentence begins, each document's first token among them; `hashes` [D]: the documents'
    `text_hash`. `fingerprint` names the text, the tokenizer and the settings.
    """

    directory: Path
    fingerprint: str
    vocabulary_size: int
    ids: npt.NDArray[np.unsignedinteger[Any]]
    offsets: npt.NDArray[np.int64]
    word_bits: npt.NDArray[np.uint8]
    sentences: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.uint64]

    @classmethod
    def open(cls, directory: str | Path) -> Self:
        """Open a store after a check of its files; raises DataError for a missing, damaged or old one."""
        directory = Path(directory)
        facts = read_facts(directory)
        arrays = {
            name: _mapped(directory, name, np.dtype(kind), count, checksum)
            for name, (kind, count, checksum) in facts["arrays"].items()
        }
        return cls(directory, facts["fingerprint"], facts["vocabulary"], **arrays)

    @property
    def documents(self) -> int:
        return len(self.offsets) - 1

    def __len__(self) -> int:
        return len(self.ids)

    def words_begin(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether a word begins at each of these tokens; same shape as `places`."""
        bits = self.word_bits[places >> 3] >> (7 - (places & 7)).astype(np.uint8)
        return (bits & 1).astype(np.bool_)

    def document(self, number: int) -> npt.NDArray[np.unsignedinteger[Any]]:
        return self.ids[self.offsets[number] : self.offsets[number + 1]]


def read_facts(directory: Path) -> dict[str, Any]:
    """The content of `store.json`; raises DataError when it is missing, damaged or of another version."""
    path = directory / FACTS
    try:
        facts = read_sealed_json(path)
    except FileNotFoundError:
        raise DataError(f"{directory} must be a store of tokenized text", got=f"no {FACTS} there") from None
    except (OSError, ValueError) as error:
        raise damaged(directory, f"{FACTS}, damaged ({error})") from None
    if facts.get("format") != FORMAT:
        raise DataError(
            f"{directory} must be a store of version {FORMAT}",
            got=str(facts.get("format")),
            do=f"delete the folder {directory}: it is rebuilt from the text",
        )
    return facts


def _mapped(directory: Path, name: str, kind: np.dtype[Any], count: int, checksum: str) -> npt.NDArray[Any]:
    path = directory / f"{name}.bin"
    try:
        check_regular_file(path)
        size = path.stat().st_size
        if size != count * kind.itemsize:
            raise damaged(directory, f"{path.name} of {size:,} bytes instead of {count * kind.itemsize:,}")
        if file_checksum(path) != checksum:
            raise damaged(directory, f"{path.name}, whose content has changed since it was written")
    except OSError as error:
        raise damaged(directory, f"no readable {path.name} ({error.strerror or error})") from None
    if count == 0:  # an empty file cannot be mapped
        return np.empty(0, kind)
    return np.memmap(path, kind, mode="r", shape=(count,))


def damaged(directory: Path, got: str) -> DataError:
    return DataError(
        f"{directory} must be a whole store of tokenized text",
        got=got,
        do=f"delete the folder {directory}: it is rebuilt from the text",
    )
