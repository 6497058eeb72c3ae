"""Cells as text: `weights[head=1,query=likes,key=She]`, each axis with the value that is given for it."""

import re

from glassformer.base.errors import UnknownNameError

STEP = re.compile(
    r"\s*(?P<axis>[a-z_]+)\s*=\s*(?:\"(?P<quoted>.*?)\"(?P<at>@\d+)?|(?P<plain>[^,\"]+?))\s*(?:,\s*(?=[a-z_]+\s*=|$)|$)",
    re.DOTALL,
)


def split_name(text: str) -> tuple[str, str]:
    """`name[cell]` to its name and the text between the brackets."""
    name, bracket, rest = text.partition("[")
    if bracket and not rest.endswith("]"):
        raise UnknownNameError("a cell is written in brackets", got=text, do="write name[head=1,query=likes,key=She]")
    return name.strip(), rest.removesuffix("]")


def read_cell(text: str) -> dict[str, str]:
    """`head=1,query=likes`, in brackets or without, as the value given for each axis; raises UnknownNameError."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    asked: dict[str, str] = {}
    end = 0
    while text[end:].strip():
        step = STEP.match(text, end)
        if step is None:
            raise UnknownNameError("a cell is written axis=word or axis=index, separated by commas", got=text)
        # A quoted word keeps its quotes, which mean "never an index", until it is looked up.
        asked[step["axis"]] = step["plain"] if step["quoted"] is None else f'"{step["quoted"]}"{step["at"] or ""}'
        end = step.end()
    return asked
