"""What can be asked of one run, by the last step of its address, and with what: of a server and in a notebook."""

from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from glassformer.page.server.answers import Run
from glassformer.page.server.asked import cells_in
from glassformer.run.serving.refusals import MissingError, RequestError

JSON, BINARY, FILE = "application/json", "application/octet-stream", "text/html"
"""What an answer is: compressed JSON, numbers in the layout of safetensors, or a page to keep."""

Names = Annotated[str, Field(max_length=20_000)]
"""Several of them, with commas between."""
Dots = Annotated[int, Field(ge=1, le=2048)]


class Query(BaseModel):
    """What follows `?` in an address: each of `addresses.QUERIES` has some of these."""

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(max_length=200)] = ""
    names: Names = ""
    attention: Names = ""
    numbers: Names = ""
    part: Annotated[str, Field(max_length=200, pattern=r"^[0-9:, ]*$")] = ""
    cell: Annotated[str, Field(max_length=80, pattern=r"^(\d{1,9}(,\d{1,9})*)?$")] = ""
    language: Annotated[str, Field(pattern=r"^[a-z]{2}$")] = "en"
    rows: Dots = 512
    columns: Dots = 512
    dots: Annotated[int, Field(ge=1, le=64)] = 32
    sentence: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    count: Annotated[int, Field(ge=1, le=100)] = 3

    @property
    def index(self) -> list[int]:
        """The cell along each axis."""
        return [int(step) for step in self.cell.split(",") if step]


def read_query(given: Mapping[str, str]) -> Query:
    """The query of an address; raises RequestError for a value that cannot be one."""
    try:
        return Query.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        got = repr(first["input"])[:80]
        raise RequestError(f"{first['loc'][-1]} in the address: {first['msg']}", got=got) from None


ANSWERS: Mapping[str, tuple[str, Callable[[Run, Query], bytes]]] = {
    "honesty": (JSON, lambda run, _: run.honesty()),
    "numbers": (BINARY, lambda run, _: run.all_numbers()),
    "page": (FILE, lambda run, query: run.page(query.language)),
    "tensor": (BINARY, lambda run, query: run.part(query.name, query.part)),
    "picture": (BINARY, lambda run, query: run.picture(query.name, query.part, (query.rows, query.columns))),
    "pictures": (BINARY, lambda run, query: run.pictures(query.names.split(","), (query.rows, query.columns))),
    "heads": (BINARY, lambda run, query: run.heads(query.attention.split(","), query.sentence, query.dots)),
    "section": (JSON, lambda run, query: run.section(query.name)),
    "largest": (JSON, lambda run, query: run.largest(query.name, query.part, query.count)),
    "explain": (JSON, lambda run, query: run.explain(query.name, query.index)),
    "explained": (JSON, lambda run, query: run.explained(cells_in(query.numbers))),
}
"""What each answer is, and what makes it; with what each is asked is in `addresses.QUERIES`."""


def answer_to(what: str) -> tuple[str, Callable[[Run, Query], bytes]]:
    """The row of `ANSWERS`; raises MissingError."""
    if what not in ANSWERS:
        raise MissingError("there is nothing at this address", got=what[:80])
    return ANSWERS[what]
