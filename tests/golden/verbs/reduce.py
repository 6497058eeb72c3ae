"""From what a command wrote to fields and numbers: without wording, places, times and versions."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from tests.golden.verbs.readers import digest, numbers

# Fields that are written for a person to read.
WORDING = {
    *("caption", "description", "formula", "header", "hint", "left_out", "make", "mathml", "measured_on", "message"),
    *("more", "note", "notes", "reason", "remark", "remarks", "said", "sentence", "switch", "title", "told", "verdict"),
    *("what", "why"),
}
# Fields that are a name in one place and a sentence in another.
EITHER = {"counted", "measure", "rule", "shared", "unit", "words"}
# Fields that depend on the machine, the day, the folder or the release.
PASSING = {
    *("address", "bytes", "cache", "checksum", "checksums", "command", "created", "date", "documents", "loads"),
    *("machine", "made_by", "megabytes", "peak_bytes", "port", "seconds", "seconds_per_text", "time"),
    *("tokens_per_second", "transformers_version", "url", "version"),
}
# Lists of more numbers than this are kept as a checksum.
SHORT = 24
# Lists of more values than this are kept as a checksum and their ends.
LONG = 300


def reduced(value: Any, root: Path) -> Any:
    """The value without what may change while the behaviour stays."""
    if isinstance(value, dict):
        measured = value.get("measured")
        passing = {*PASSING, *(measured if isinstance(measured, list) else ())}
        if "traced_in" in value:  # whether looking changes the answer: the sentence next to the numbers
            passing.add("text")
        return {str(key): reduced(each, root) for key, each in value.items() if not _dropped(str(key), each, passing)}
    if isinstance(value, list | tuple):
        array = _numbers(value)
        return numbers(array) if array is not None else _digested([reduced(each, root) for each in value])
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return _placeless(value, root)
    return value


def _digested(rows: list[Any]) -> Any:
    """The ends of a list of so many values, and a checksum of the whole; of a shorter one the list."""
    # Counted, not measured as text: a number has more digits on one processor than on another.
    if len(rows) <= 4 or _leaves(rows) < LONG:
        return rows
    text = json.dumps(rows, ensure_ascii=False, sort_keys=True)
    return {"count": len(rows), "bits": digest(text.encode()), "ends": [rows[0], rows[-1]]}


def _leaves(value: Any) -> int:
    if isinstance(value, dict | list):
        return sum(map(_leaves, value.values() if isinstance(value, dict) else value))
    return 1


def _dropped(key: str, value: Any, passing: set[str]) -> bool:
    if key in passing:
        return True
    if isinstance(value, str) and key in EITHER:
        return " " in value
    found = isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))
    return found and key in WORDING


def _numbers(value: Any) -> np.ndarray[Any, Any] | None:
    """A list of many numbers, or of equally long lists of them, as one array."""
    first = value
    while isinstance(first, list | tuple) and first:
        first = first[0]
    if isinstance(first, bool) or not isinstance(first, int | float):
        return None
    try:
        array = np.array(value)
    except (ValueError, OverflowError):
        return None
    if array.dtype.kind not in "fi" or array.size <= SHORT:
        return None
    return array


def _placeless(text: str, root: Path) -> str:
    """A text without the folder it was made in; of a path to the package, its last name."""
    text = text.replace(f"{root}/", "").replace(str(root), "")
    if re.fullmatch(r"(/[\w.+-]+){2,}", text):
        return text.rpartition("/")[2]
    return text


def rounded(value: Any) -> Any:
    """Numbers of four digits and no checksums: what another processor reaches too."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items() if key != "bits"}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return value
