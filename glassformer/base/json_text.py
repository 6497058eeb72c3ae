"""JSON as text: read without repeated keys, and written with its own checksum."""

import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

_FIELD = "checksum"
_LAST_LINE = re.compile(r"# checksum [0-9a-f]{8}\n")
# Bytes that are read at a time, so that a file larger than the memory can be checked.
_CHUNK = 1 << 22


def file_checksum(path: Path) -> str:
    """The CRC-32 of a file, 8 hexadecimal digits; reads the whole file, in bounded memory. Raises OSError."""
    check_regular_file(path)
    total, buffer = 0, memoryview(bytearray(_CHUNK))
    with path.open("rb") as file:
        while count := file.readinto(buffer):
            total = zlib.crc32(buffer[:count], total)
    return f"{total:08x}"


def sealed_json(values: Mapping[str, Any]) -> str:
    """A JSON object as text, with its own checksum as the first field."""
    values = json.loads(json.dumps(values))  # as it will be read back: tuples become lists
    return json.dumps({_FIELD: _of_values(values), **values}, indent=2) + "\n"


def sealed_line(values: Mapping[str, Any]) -> str:
    """A JSON object as one line, with its own checksum as the first field."""
    values = json.loads(json.dumps(values, allow_nan=False))
    return json.dumps({_FIELD: _of_values(values), **values}, separators=(",", ":")) + "\n"


def read_sealed_line(line: str | bytes) -> dict[str, Any]:
    """The object in a line that `sealed_line` made, without its checksum; raises ValueError for any other line."""
    values = parse_json(line)
    if not isinstance(values, dict):
        raise ValueError("no JSON object")
    check_seal(values)
    return {name: value for name, value in values.items() if name != _FIELD}


def read_sealed_json(path: Path) -> dict[str, Any]:
    """The object in a file that `sealed_json` made, without its checksum; raises ValueError, OSError."""
    check_regular_file(path)
    return read_sealed_line(path.read_bytes())


def check_seal(values: Mapping[str, Any]) -> None:
    """Raise ValueError unless the checksum among the values matches the other values."""
    rest = {name: value for name, value in values.items() if name != _FIELD}
    if _FIELD not in values:
        raise ValueError("it has no checksum: it is damaged, or an older glassformer wrote it")
    if values[_FIELD] != _of_values(rest):
        raise ValueError("its checksum does not match its content")


def sealed_text(text: str) -> str:
    """The text of a TOML file, with a comment as its last line that holds the checksum of the lines before it."""
    return f"{text}# checksum {zlib.crc32(text.encode()):08x}\n"


def check_sealed_text(text: str) -> None:
    """Raise ValueError when the last line is a checksum that does not match the lines before it."""
    lines = text.splitlines(keepends=True)
    found = _LAST_LINE.fullmatch(lines[-1]) if lines else None
    if found and sealed_text("".join(lines[:-1])) != text:
        raise ValueError("its checksum does not match its content")


def check_regular_file(path: Path) -> None:
    """Raise OSError for a path that exists and is not a regular file: opening a pipe could block forever."""
    if path.exists() and not path.is_file():
        raise OSError(f"{path.name} is not a regular file")


def _of_values(values: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(values, sort_keys=True).encode()):08x}"


class RepeatedKey:
    """Stands for an object with a repeated key, whose value is ambiguous."""

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
        raise ValueError("brackets nested too deep to read") from None


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


def in_json(value: Any) -> Any:
    """The value with what JSON does not know as strings: infinity and NaN, and dates and decimals of Parquet. A
    dataclass becomes an object of its fields.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return {key: in_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [in_json(inner) for inner in value]
    if isinstance(value, str | int | float | None):
        return value
    if getattr(value, "ndim", 0):  # of NumPy, as the next
        return [in_json(inner) for inner in value]
    if hasattr(value, "item") and getattr(getattr(value, "dtype", None), "kind", "f") not in "mM":
        return str(value) if type(inner := value.item()) is type(value) else in_json(inner)
    if is_dataclass(value):
        return {each.name: in_json(getattr(value, each.name)) for each in fields(value)}
    return str(value)
