"""What a request holds."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from glassformer.base.errors import ConfigError
from glassformer.base.settings import Settings, read_settings

Wish = TypeVar("Wish", bound=Settings)


def read_body(body: bytes, kind: type[Wish]) -> Wish:
    """The body of a request as a wish of this kind; raises ConfigError."""
    return read_settings(kind, read_object(body), where="the request")


def read_object(body: bytes) -> dict[str, Any]:
    """The body of a request as an object; raises ConfigError."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:  # a UnicodeDecodeError is a ValueError
        got = "brackets within brackets, too deep to read" if isinstance(error, RecursionError) else str(error)[:200]
        raise ConfigError("a request must be JSON", got=got) from None
    if not isinstance(values, dict):
        raise ConfigError("a request must be a JSON object", got=type(values).__name__)
    return values
