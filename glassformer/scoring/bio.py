"""Spans as tags of words: B- for the first word of a span, I- for the others, O outside (Ramshaw & Marcus 1995).

L labels · N words
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from glassformer.models.chain import Chain

OUTSIDE = "O"
_TAG = re.compile(r"([BIESLUM])-(.+)", re.DOTALL)
# What opens a span whatever stood before it, what closes one, and what goes on with one (IOB, BIOES, BILOU, BMES).
_OPENS, _CLOSES, _INSIDE = frozenset("BSU"), frozenset("ESLU"), frozenset("IMEL")


class TagSpan(NamedTuple):
    """The words [start, end) of a span, and its label."""

    label: str
    start: int
    end: int


class Scheme(NamedTuple):
    """How tags are written, and how many are illegal: they continue a span that has not begun."""

    name: str
    illegal: int

    def __str__(self) -> str:
        repaired = f"; {self.illegal:,} illegal tags: each is read as the start of a span" if self.illegal else ""
        return f"tags are written as {self.name}" + (", read as BIO" if self.name != "BIO" else "") + repaired


def is_scheme(labels: Collection[str]) -> bool:
    """Whether all labels are O or a prefix with a type, so that they mark spans."""
    return any(_TAG.fullmatch(label) for label in labels) and all(
        label == OUTSIDE or _TAG.fullmatch(label) for label in labels
    )


def is_bio(labels: Collection[str]) -> bool:
    return is_scheme(labels) and all(label == OUTSIDE or label[0] in "BI" for label in labels)


def spans_of(tags: Sequence[str]) -> list[TagSpan]:
    """The spans of tags of any scheme; a tag that continues nothing begins a span, as in conlleval and seqeval."""
    spans: list[TagSpan] = []
    begun, inside = 0, ""  # the label of the span that may go on
    for place, tag in enumerate([*tags, OUTSIDE]):
        prefix, label = _parts(tag)
        starts = bool(label) and (prefix in _OPENS or label != inside)
        if inside and (starts or not label):
            spans.append(TagSpan(inside, begun, place))
            inside = ""
        if starts:
            begun, inside = place, label
        if inside and prefix in _CLOSES:
            spans.append(TagSpan(inside, begun, place + 1))
            inside = ""
    return spans


def tags_of(spans: Iterable[TagSpan], words: int) -> list[str]:
    """The BIO tags of `words` words, from spans that do not overlap."""
    tags = [OUTSIDE] * words
    for label, start, end in spans:
        tags[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return tags


def scheme_of(sentences: Iterable[Sequence[str]]) -> Scheme:
    """The scheme of tags: BIO, IOB1 (B- only after another span of its type), BIOES, BILOU or BMES."""
    prefixes: set[str] = set()
    unbegun = needless = 0
    for tags in sentences:
        before, inside = "", ""
        for tag in tags:
            prefix, label = _parts(tag)
            prefixes.add(prefix)
            unbegun += prefix in _INSIDE and label != inside
            needless += prefix == "B" and label != before
            before, inside = label, "" if prefix in _CLOSES else label
    name = "BIO"
    if prefixes & set("LU"):
        name = "BILOU"
    elif prefixes & set("ES"):
        name = "BMES" if "M" in prefixes else "BIOES"
    elif unbegun and not needless:
        return Scheme("IOB1", 0)
    return Scheme(name, unbegun)


def legal_steps(labels: Sequence[str], *, begun: bool = True) -> Chain:
    """0 where a label may follow [L, L], begin [L] or end [L] a sequence; −∞ where that breaks a span. `begun`: where
    labels have B-, a span begins with it; else, as IOB1 does it, B- may separate two spans alone.
    """
    count = len(labels)
    steps, first, last = np.zeros((count, count)), np.zeros(count), np.zeros(count)
    if not is_scheme(labels):
        return Chain(steps, first, last)
    parts = [_parts(label) for label in labels]
    with_begin = {label for prefix, label in parts if prefix == "B"} if begun else set()
    closed = {label for prefix, label in parts if prefix in "EL" and prefix}
    illegal = float("-inf")
    for after, (prefix, label) in enumerate(parts):
        goes_on = prefix in _INSIDE and label in with_begin
        if goes_on:
            first[after] = illegal
        for before, (other, its) in enumerate(parts):
            open_ = bool(other) and other not in _CLOSES
            follows = prefix in _INSIDE and label == its and open_
            if (goes_on and not follows) or (open_ and its in closed and not follows):
                steps[before, after] = illegal
    for before, (other, its) in enumerate(parts):
        if other and other not in _CLOSES and its in closed:
            last[before] = illegal
    return Chain(steps, first, last)


def _parts(tag: str) -> tuple[str, str]:
    found = _TAG.fullmatch(tag)
    return (found[1], found[2]) if found else ("", "")
