"""Reading JSON from untrusted files and lines: a text that cannot be read raises ValueError, never another
exception.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """The value that a JSON text holds.

    Raises ValueError for text that is no JSON, brackets nested too deep to read, and numbers of thousands of digits.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("brackets within brackets, too deep to read") from None


def read_json(path: Path) -> Any:
    """The value in a UTF-8 file; raises OSError when it cannot be read and ValueError when it holds no JSON."""
    return parse_json(path.read_text(encoding="utf-8"))
