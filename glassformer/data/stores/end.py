"""Holding out the end of a text, where whole documents would be a large part of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from glassformer.data.readers.read import Document
from glassformer.data.stores.split import Split

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
    """Where a text is cut, at most so many characters away."""
    for kind in _CUTS:
        places = [found.end() for found in kind.finditer(text, max(0, at - most), min(len(text), at + most))]
        if places:
            return min(places, key=lambda place: abs(place - at))
    return at
