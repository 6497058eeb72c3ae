"""Which split a document belongs to: decided by a hash of its text, so that repeated documents stay together."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from glassformer.base.errors import ConfigError
from glassformer.data.readers.read import Document

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


def text_hash(text: str) -> int:
    """64 bits of a text that do not depend on case, Unicode form or whitespace (NFKC, case-folded)."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return int.from_bytes(hashlib.blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def hash_fraction(hashed: int, seed: int) -> float:
    """A number in [0, 1) from a seed and a text's `text_hash`, uniform over texts."""
    salted = hashlib.blake2b(f"{seed}:{hashed}".encode(), digest_size=8).digest()
    return (int.from_bytes(salted, "little") >> 11) * 2.0**-53


def split_of(place: float, shares: Mapping[str, float]) -> Split:
    """The split for a `hash_fraction`: validation has the lowest numbers, then test, then training."""
    validation, test = shares.get("validation", 0.0), shares.get("test", 0.0)
    if min(validation, test) < 0 or validation + test >= 1:
        raise ConfigError("validation and test are shares and must leave some for training", got=str(dict(shares)))
    if place < validation:
        return "validation"
    return "test" if place < validation + test else "train"


@dataclass(frozen=True)
class Repeats:
    """How many documents repeat an earlier one."""

    documents: int
    repeated: int

    def __str__(self) -> str:
        share = self.repeated / max(self.documents, 1)
        return f"{self.repeated:,} of {self.documents:,} documents ({share:.1%}) repeat an earlier one"


def repeats(hashes: npt.NDArray[np.uint64]) -> Repeats:
    """Count repeats among the `text_hash`es of documents: [D] -> Repeats."""
    return Repeats(len(hashes), len(hashes) - len(np.unique(hashes)))


def shared(left: npt.NDArray[np.uint64], right: npt.NDArray[np.uint64]) -> int:
    """How many documents of `right` are also in `left`: these would make an evaluation's scores too high."""
    return int(np.isin(right, left).sum())


# Where a text may be cut: at the end of a line, of a sentence, of a word.
_CUTS = tuple(map(re.compile, (r"\n+", r"[.!?…][\"'”’»)\]]*\s+|[。！？]", r"\s+")))


def parted(documents: Callable[[], Iterable[Document]], end: float) -> Iterator[tuple[Split, Document]]:
    """The documents before and after the place from which `end` of all characters is held out, cut nearby."""
    total = sum(len(each.text) for each in documents())
    cut = round(total * (1 - end))
    before, begun = 0, False
    for document in documents():
        at = cut - before
        before += len(document.text)
        if at >= len(document.text):
            yield "train", document
            continue
        if at > 0:
            at = _cut_near(document.text, at, max(1, (total - cut) // 2))
            if at:
                yield "train", document._replace(text=document.text[:at])
            document = document._replace(text=document.text[at:])
        if document.text.strip():
            yield "validation", document._replace(continued=document.continued and begun)
            begun = True


def _cut_near(text: str, at: int, most: int) -> int:
    for kind in _CUTS:
        places = [found.end() for found in kind.finditer(text, max(0, at - most), min(len(text), at + most))]
        if places:
            return min(places, key=lambda place: abs(place - at))
    return at
