from typing import Annotated

import typer

from glassformer.base.errors import GlassformerError


def search(
    part: Annotated[str | None, typer.Argument(metavar="build|ask", help="What to do.", show_default=False)] = None,
) -> None:
    """Search texts by meaning: `search build` makes an index of them, `search ask` finds those nearest to a question.
    glassformer search build --help and glassformer search ask --help tell more.
    """
    raise GlassformerError(
        "search is told to build an index or to ask one",
        got="nothing" if part is None else repr(part),
        do="glassformer search build MODEL FILE --out INDEX, then glassformer search ask INDEX QUESTION",
    )
