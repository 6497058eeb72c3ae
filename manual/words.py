"""How easy pages are to read: the Flesch reading ease of their prose, and their longest sentences.

Code, tables, headings and citations are left out. In the length of a sentence a name in code counts as one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from manual.stage import DOCS, FENCED

SECTIONS = ("start", "learn", "do")
"""The sections that are held to the limits, and the home page."""

EASIEST, LONGEST = 69.0, 35
"""The least reading ease of a page, and the most words of a sentence. Wanted is an ease of 60. textstat counts
syllables by hyphenation, which finds too few: pages came out up to 9 easier than with a dictionary of sounds.
"""

NAME = "Code"
"""What stands for a name in code where sentences are counted."""

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"`+[^`]+`+")
_IMAGE, _LINK = re.compile(r"!\[[^\]]*\]\([^)]*\)"), re.compile(r"\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"<[^<>]+>")
_CITED = re.compile(r"\((?:[^()]*\b(?:19|20)\d\d\b[^()]*)\)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_END = re.compile(r"(?<=[.!?])[\"”*_)]*\s+(?=[\"“(*_]*(?:[A-Z0-9\[`]|glassformer))|(?<=[.!?])$")


class Ease(NamedTuple):
    """The reading ease of a page, None where it has next to no prose, and its sentences with too many words."""

    flesch: float | None
    long: list[str]


def blocks(page: str) -> Iterator[str]:
    """Paragraphs and items of lists, without their marks."""
    text = _COMMENT.sub("", FENCED.sub("", page))
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        ends = not line.strip() or line.lstrip().startswith(("#", "|", "!!!", "???")) or _ITEM.match(line)
        if ends and lines:
            yield " ".join(lines)
            lines = []
        if line.strip() and not line.lstrip().startswith(("#", "|", "!!!", "???")):
            lines.append(_ITEM.sub("", line).strip().lstrip("> "))


def prose(block: str) -> str:
    """A block as words alone."""
    text = _CITED.sub("", _LINK.sub(r"\1", _IMAGE.sub("", block)))
    text = _TAG.sub("", _CODE.sub(NAME, text))
    text = re.sub(r"(\d)[.,](\d)", r"\1\2", text)  # a decimal point ends no sentence
    text = re.sub(r"\b(et al|e\.g|i\.e|cf|vs|no|eq|Sect?|Dr|Mr)\.", r"\1", text)
    return re.sub(r"\s+", " ", text.replace("*", "")).strip()


def sentences(page: str) -> list[str]:
    """All sentences; an item of a list without a full stop is one. A colon or a semicolon ends none."""
    found = []
    for block in blocks(page):
        found += [each.strip() for each in _END.split(prose(block)) if each and re.search(r"[A-Za-z]", each)]
    return found


def ease(page: str) -> Ease:
    """What the page is like to read."""
    import textstat

    all_ = sentences(page)
    long = [each for each in all_ if len(each.split()) > LONGEST]
    if sum(len(each.split()) for each in all_) < 50:
        return Ease(None, long)
    words = (re.sub(rf"[.!?]+|\b{NAME}\b", "", each).strip() for each in all_)
    text = " ".join(f"{each}." for each in words if re.search(r"[A-Za-z]", each))
    return Ease(float(textstat.flesch_reading_ease(text)), long)


def pages() -> list[Path]:
    """The pages that are held to the limits."""
    return [DOCS / "index.md", *(path for each in SECTIONS for path in sorted((DOCS / each).glob("*.md")))]


def report() -> str:
    """A line for each page, and its long sentences under it."""
    lines = []
    for path in pages():
        found = ease(path.read_text(encoding="utf-8"))
        sign = "" if (found.flesch is None or found.flesch >= EASIEST) and not found.long else "  <--"
        shown = "few words" if found.flesch is None else f"{found.flesch:.1f}"
        lines.append(f"{path.relative_to(DOCS).as_posix():32} {shown:>9}  {len(found.long)} long{sign}")
        lines += [f"    {len(each.split())}: {each}" for each in found.long]
    return "\n".join(lines)
