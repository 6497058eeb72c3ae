"""What a request holds."""

import json
from typing import Any, TypeVar

from glassformer.base.errors import ConfigError
from glassformer.base.settings import REQUEST, Settings, read_settings
from glassformer.run.serving.refusals import TooLargeError

Wish = TypeVar("Wish", bound=Settings)
MOST_VALUES, MOST_NAMES = 70_000, 100
"""The most values of a request, those within others included, and of the names in an object. To check more would keep
all other clients waiting."""


def read_body(body: bytes, kind: type[Wish]) -> Wish:
    """The body of a request as a wish of this kind; raises ConfigError and TooLargeError."""
    return read_settings(kind, read_object(body), where=REQUEST)


def read_object(body: bytes) -> dict[str, Any]:
    """The body of a request as an object; raises ConfigError and TooLargeError."""
    try:
        values = json.loads(body)
    except (ValueError, RecursionError) as error:  # a UnicodeDecodeError is a ValueError
        got = "brackets within brackets, too deep to read" if isinstance(error, RecursionError) else str(error)[:200]
        raise ConfigError("a request must be JSON", got=got) from None
    if not isinstance(values, dict):
        raise ConfigError("a request must be a JSON object", got=type(values).__name__)
    groups: list[Any] = [values]
    left = MOST_VALUES
    while groups:
        group = groups.pop()
        left -= len(group)
        if left < 0 or (isinstance(group, dict) and len(group) > MOST_NAMES):
            raise TooLargeError(
                f"a request must have at most {MOST_VALUES:,} values, an object {MOST_NAMES} names",
                got="more",
                do="ask for fewer at once",
            )
        inside = group.values() if isinstance(group, dict) else group
        groups += [each for each in inside if isinstance(each, dict | list)]
    return values
