"""The meanings of WordNet 3.0 as text, for `sentences`: everyday words, science, people and places in plain English."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

_MARK = re.compile(r"\((?:a|p|ip)\)$")  # the position of an adjective


def meanings() -> str:
    """A document for each meaning: its words and their definition, and each example as a separate sentence."""
    # Where Debian's package wordnet-base puts them; WordNet's own variable names another folder.
    folder = Path(os.environ.get("WNSEARCHDIR", "/usr/share/wordnet"))
    kinds = ("noun", "verb", "adj", "adv")
    lines = (line for kind in kinds for line in (folder / f"data.{kind}").read_text("utf-8").splitlines())
    return "\n".join("".join(f"{text}\n" for text in _of(line)) for line in lines if line[:1] != " ")


def _of(line: str) -> Iterator[str]:
    fields, gloss = line.split(" | ", 1)
    _, _, _, count, *rest = fields.split()
    words = [_MARK.sub("", word).replace("_", " ") for word in rest[: 2 * int(count, 16) : 2]]
    definition, *examples = re.split(r';\s*(?=")', gloss.strip())
    yield f"{', '.join(words)}: {definition}."
    yield from (example.strip('"').rstrip(".?!;\"' ") + "." for example in examples)
