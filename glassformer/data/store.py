"""Text as numbers, once: pieces on disk, read through a memory map.

D documents, N pieces, S sentences.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from glassformer.errors import DataError

FORMAT = 2

# Pieces looked at in one go, so that a text larger than the memory can be opened.
_STRETCH = 1 << 22


@dataclass(frozen=True)
class TokenStore:
    """Documents as pieces, without special pieces. All arrays are memory maps.

    `ids` [N]; `offsets` [D+1]: document d holds the pieces offsets[d] … offsets[d+1]; `word_bits` [N/8]: one bit per
    piece, 1 where a word begins; `sentences` [S]: pieces where a sentence begins, each document's first piece among
    them; `hashes` [D]: the documents' `text_hash`. `fingerprint` names the text, the tokenizer and the settings.
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
    def open(cls, directory: str | Path) -> TokenStore:
        """Open a store. Raises DataError when there is none, or it is cut short, damaged or of another version."""
        directory = Path(directory)
        try:
            facts = json.loads((directory / "store.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise DataError(f"{directory} must be a store of tokenized text", got="another folder or none") from None
        if facts.get("format") != FORMAT:
            raise DataError(
                f"{directory} must be a store of version {FORMAT}", got=str(facts.get("format")), do="delete it"
            )
        arrays = {
            name: _mapped(directory / f"{name}.bin", np.dtype(kind), count)
            for name, (kind, count) in facts["arrays"].items()
        }
        store = cls(directory, facts["fingerprint"], facts["vocabulary"], **arrays)
        store._check()
        return store

    def _check(self) -> None:
        """Refuse what would be met as an index out of range, hours later: one look at each piece."""
        damaged = DataError(
            f"{self.directory} must hold pieces of a vocabulary of {self.vocabulary_size:,}",
            got="damaged files, with numbers out of range",
            do="delete the store",
        )
        if self.offsets[0] != 0 or self.offsets[-1] != len(self) or (np.diff(self.offsets) < 0).any():
            raise damaged
        for start in range(0, len(self), _STRETCH):
            if self.ids[start : start + _STRETCH].max() >= self.vocabulary_size:
                raise damaged

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return len(self.offsets) - 1

    def __len__(self) -> int:
        return len(self.ids)

    def words_begin(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether a word begins at each of these pieces; same shape as `places`."""
        bits = self.word_bits[places >> 3] >> (7 - (places & 7)).astype(np.uint8)
        begins: npt.NDArray[np.bool_] = (bits & 1).astype(np.bool_)
        return begins

    def document(self, number: int) -> npt.NDArray[np.unsignedinteger[Any]]:
        """The pieces of one document."""
        return self.ids[self.offsets[number] : self.offsets[number + 1]]


def _mapped(path: Path, kind: np.dtype[Any], count: int) -> npt.NDArray[Any]:
    size = path.stat().st_size if path.exists() else 0
    if size != count * kind.itemsize:
        raise DataError(f"{path} must hold {count * kind.itemsize:,} bytes", got=f"{size:,}", do="delete the store")
    if count == 0:  # an empty file cannot be mapped
        return np.empty(0, kind)
    return np.memmap(path, kind, mode="r", shape=(count,))
