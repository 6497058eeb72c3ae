from typing import Annotated

import typer

from glassformer.base.errors import GlassformerError

_PART = "Build an index, or search it."


def search(
    part: Annotated[str | None, typer.Argument(metavar="build|ask", help=_PART, show_default=False)] = None,
) -> None:
    """Search texts by meaning and by words: `search build` makes an index of texts, and `search ask` finds the texts
    that are nearest to a question. See glassformer search build --help and glassformer search ask --help.
    """
    raise GlassformerError(
        "search needs build or ask",
        got="nothing" if part is None else repr(part),
        do="glassformer search build MODEL FILE --out INDEX, then glassformer search ask INDEX QUESTION",
    )
