"""Reading JSON from untrusted files and lines: a text that cannot be read raises ValueError, never another
exception.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any


class RepeatedKey:
    """Stands for an object that has a key twice: which of the two values is meant nobody knows."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __repr__(self) -> str:
        return f"an object with the key {self.key[:40]!r} twice"


def parse_json(text: str | bytes, *, marked: bool = False) -> Any:
    """The value of a JSON text; `marked`: RepeatedKey for an object with a repeated key. Raises ValueError."""
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    try:
        return (_MARKING if marked else _REFUSING).decode(text)
    except RecursionError:
        raise ValueError("brackets within brackets, too deep to read") from None


def _marked(pairs: list[tuple[str, Any]]) -> dict[str, Any] | RepeatedKey:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    return RepeatedKey(Counter(key for key, _ in pairs).most_common(1)[0][0])


def _refused(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = _marked(pairs)
    if isinstance(found, RepeatedKey):
        raise ValueError(repr(found))
    return found


# Made once: json.loads would make a decoder for each text, which takes longer than reading a short one.
_REFUSING, _MARKING = json.JSONDecoder(object_pairs_hook=_refused), json.JSONDecoder(object_pairs_hook=_marked)


def read_json(path: Path) -> Any:
    """The value in a UTF-8 file; raises OSError when it cannot be read and ValueError when it holds no JSON."""
    return parse_json(path.read_text(encoding="utf-8"))
