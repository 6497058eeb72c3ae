"""How much a server takes on, and what a request holds."""

from typing import Annotated, Any, TypeVar

from pydantic import Field

from glassformer.base.errors import ConfigError
from glassformer.base.json_text import parse_json
from glassformer.base.plain import REQUEST
from glassformer.base.settings import Settings, read_settings
from glassformer.run.serving.refusals import TooLargeError

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]


class Limits(Settings):
    """Limits of each request, and of all that wait.

    `body`: bytes of a request. `records`: records of a request. `tokens`: tokens of one record, all of its rows
    together, alone or among others. `request_tokens`: tokens of all records of a request. `token_characters`: so
    many times these, the characters of a record and of a request: blanks and long words are read to become few
    tokens or none. `numbers`: numbers of an answer, as of its vectors. `new_tokens`: tokens that may
    be asked for of each text that is written. `beams`: beams, or answers to one text. `words`: texts of one option,
    as `stop`; `characters`: those of them all. `waiting`: records that wait for one model; `waiting_tokens`: their
    tokens. `streams`: texts of one model that are streamed at once. `requests`: requests that are answered at once.
    `seconds`: from the last byte of a request to the last byte of its answer. `seconds_to_read`: for a request to
    come. `seconds_to_take`: for a client to take some more of its answer. `grace`: seconds for what was taken when
    the server is stopped.
    """

    body: Count = 4_000_000
    records: Count = 1024
    tokens: Count = 16_384
    request_tokens: Count = 65_536
    token_characters: Count = 16
    numbers: Count = 4_000_000
    new_tokens: Count = 2048
    beams: Count = 32
    words: Count = 1024
    characters: Count = 65_536
    waiting: Count = 4096
    waiting_tokens: Count = 262_144
    streams: Count = 64
    requests: Count = 4096
    seconds: Seconds = 60.0
    seconds_to_read: Seconds = 10.0
    seconds_to_take: Seconds = 30.0
    grace: Count = 60

    @property
    def request_characters(self) -> int:
        return self.token_characters * self.request_tokens


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
        values = parse_json(body)
    except ValueError as error:  # a UnicodeDecodeError is a ValueError
        got = "text that is not UTF-8" if isinstance(error, UnicodeError) else str(error)[:200]
        raise ConfigError("a request must be JSON, each key of an object once", got=got) from None
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
