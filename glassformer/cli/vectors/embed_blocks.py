"""Vectors of texts that other processes make, in blocks (`--ray`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glassformer.cli.corpus.batch import as_line
from glassformer.cli.corpus.written import write_blocks
from glassformer.cli.terminal.readers import Text
from glassformer.cli.terminal.texts import batches
from glassformer.cli.vectors.embed_fill import chunks, refusals, usable

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.base.counting import Counting
    from glassformer.base.errors import DataError
    from glassformer.cli.corpus.blocks import Spread
    from glassformer.data.readers.lines import Skipped
    from glassformer.features.strategies import Feature
    from glassformer.features.streams import VectorsFile
    from glassformer.features.vectors import Vectors, VectorsOf


@dataclass(frozen=True)
class Embedding:
    """Vectors of whole texts as other processes are asked for them (`Asked`): as lines of JSON, or in a file of
    numbers. There a vector travels as its id, a line of JSON, and its float32 numbers, the features one after another.
    """

    features: tuple[Feature, ...]
    json: bool

    def maker(self, opened: Model) -> VectorsOf:
        from glassformer.features.vectors import VectorsOf  # not at the top: --help must not import torch

        return VectorsOf(opened.module, opened.tokenizer, self.features, length=opened.row_tokens, words=False)

    def batches(self, texts: Iterable[Text]) -> Iterator[list[Text]]:
        return batches(texts) if self.json else chunks(texts)

    def refusals(self, opened: Model, texts: Sequence[Text]) -> Iterator[DataError | None]:
        return refusals(self.maker(opened), texts)

    def answers(self, opened: Model, texts: Sequence[Text]) -> Iterator[Vectors]:
        from glassformer.features.embed import embed

        maker = self.maker(opened)
        return embed(opened, maker, ((one.values, one.where) for one in usable(maker, texts, None)))

    def packed(self, text: Text, answer: Vectors) -> bytes:
        if self.json:
            return as_line(text, answer)
        numbers = (answer.vectors[feature.name].astype("<f4").tobytes() for feature in self.features)
        return b"".join([json.dumps(text.kept.get("id")).encode(), b"\n", *numbers])


def unpacked(count: int, packed: bytes, maker: VectorsOf) -> Iterator[tuple[Vectors, object]]:
    """The vectors of a block, with the id of each, as `Embedding` has packed them; the texts stay with the worker."""
    import numpy as np

    from glassformer.features.vectors import Vectors

    at, total = 0, sum(maker.widths)
    ends = np.cumsum(maker.widths)[:-1]
    for _ in range(count):
        line = packed.index(b"\n", at)
        parts = np.split(np.frombuffer(packed, "<f4", total, line + 1), ends)
        vectors = {feature.name: part for feature, part in zip(maker.features, parts, strict=True)}
        yield Vectors("", vectors), json.loads(packed[at:line])
        at = line + 1 + 4 * total


def fill_by(
    spread: Spread, model: Model, maker: VectorsOf, file: VectorsFile, advance: Counting, bad: Skipped | None
) -> int:
    """As `fill` of a lone process, block by block; gives back how many texts have no token of their own."""

    def write(count: int, packed: bytes) -> None:
        for each, own in unpacked(count, packed, maker):
            file.put(each, own)
        if count:
            file.commit()
        advance(count)

    return write_blocks(spread, model, file.texts, bad, write)
