"""Which side of a split a document falls on: a hash of its text decides, so that repeats stay together."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from glassformer.errors import ConfigError

Side = Literal["train", "validation", "test"]
SIDES: tuple[Side, ...] = ("train", "validation", "test")


def text_hash(text: str) -> int:
    """64 bits of a text as a reader sees it: letters, not case, code points or white space (NFKC, folded)."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return int.from_bytes(hashlib.blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def place_of(hashed: int, seed: int) -> float:
    """The place in [0, 1) that a seed gives to a text with this `text_hash`."""
    salted = hashlib.blake2b(f"{seed}:{hashed}".encode(), digest_size=8).digest()
    return (int.from_bytes(salted, "little") >> 11) * 2.0**-53


def side_of(place: float, shares: Mapping[str, float]) -> Side:
    """The side that a place falls on: validation lies lowest, then test, then training."""
    validation, test = shares.get("validation", 0.0), shares.get("test", 0.0)
    if min(validation, test) < 0 or validation + test >= 1:
        raise ConfigError("validation and test are shares and must leave some for training", got=str(dict(shares)))
    if place < validation:
        return "validation"
    return "test" if place < validation + test else "train"


@dataclass(frozen=True)
class Repeats:
    """How many documents say again what an earlier one said."""

    documents: int
    repeated: int

    def __str__(self) -> str:
        share = self.repeated / max(self.documents, 1)
        return f"{self.repeated:,} of {self.documents:,} documents ({share:.1%}) repeat an earlier one"


def repeats(hashes: npt.NDArray[np.uint64]) -> Repeats:
    """Count repeats among the `text_hash`es of documents: [D] -> Repeats."""
    return Repeats(len(hashes), len(hashes) - len(np.unique(hashes)))


def shared(left: npt.NDArray[np.uint64], right: npt.NDArray[np.uint64]) -> int:
    """How many documents of `right` also stand in `left`: what would make an evaluation too good."""
    return int(np.isin(right, left).sum())
