"""How a page asks for parts of a run. Made from `web/addresses.json` by `make web`: change it there."""

RUN_PATH = "api/runs/{key}/{what}"
"""Where a page asks for something of a run: the key of the run, and what is asked for."""

QUERIES: dict[str, tuple[str, ...]] = {
    "honesty": (),
    "numbers": (),
    "page": ("language",),
    "tensor": ("name", "part"),
    "picture": ("name", "part", "rows", "columns"),
    "pictures": ("names", "rows", "columns"),
    "heads": ("attention", "sentence", "dots"),
    "section": ("name",),
    "largest": ("name", "part", "count"),
    "explain": ("name", "cell"),
    "explained": ("numbers",),
}
"""What can be asked for, and what each is asked with, in the order in which an address has it."""

HEADS_AT_ONCE = 12
"""Of so many attentions a page asks for the heads in one request."""

HEAD_DOTS = 32
"""The largest picture of a head among all heads has so many dots a side: a page with room for it asks for that."""

ATTENTIONS = (("encoder", "self"), ("decoder", "self"), ("decoder", "cross"))
"""The kinds of attention in the order in which a page asks for them: the stack, and what its tokens look at."""

ANSWERS = "head.probabilities"
"""The tensor of the answers at hidden words."""

ANSWERS_LISTED = 3
"""So many answers of a place are listed."""

PLACES_FETCHED = 2
"""A run that is not sent whole is asked for the answers at so many hidden words."""
