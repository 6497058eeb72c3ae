"""What a page asks to be written: how a text would be translated, continued or replied to, step by step."""

import hashlib
from typing import Annotated

from pydantic import Field

from glassformer.base.settings import Seed, Settings
from glassformer.decode.options import WritingOptions
from glassformer.decode.settings import LengthPenalty
from glassformer.look.texts.search_tree import search_tree, writing_verb
from glassformer.page.server.asked import Name, Text
from glassformer.page.server.overview import packed
from glassformer.run.serving.limits import read_body
from glassformer.run.serving.refusals import TooLargeError
from glassformer.saved.artefact import Artefact
from glassformer.tasks import VERBS

MOST_TOKENS = 128
"""Tokens of a text whose search is drawn: its tree has some nodes for each beam and each token that is written."""
MOST_BEAMS = 16
MOST_TREES = 32
"""Trees that are kept; a large one has 2 MB, and 0.2 MB compressed."""


class AskedTree(Settings):
    """One text to be translated or continued, or a conversation, a turn a line, to be replied to. What is not given is
    as the model writes otherwise.
    """

    model: Name
    text: Text
    beams: Annotated[int, Field(ge=1, le=MOST_BEAMS)] | None = None
    length_penalty: LengthPenalty | None = None
    sample: bool = False
    temperature: Annotated[float, Field(ge=0.001, le=1000)] | None = None
    top_k: Annotated[int, Field(ge=1)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    n_best: Annotated[int, Field(ge=1, le=MOST_BEAMS)] | None = None
    seed: Seed | None = None
    max_tokens: Annotated[int, Field(ge=1, le=4 * MOST_TOKENS)] | None = None
    begins: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(max_length=4 * MOST_TOKENS)] = Field(
        default_factory=list
    )
    """Tokens with which the answer begins: what is rewritten from one of its words on."""

    @property
    def key(self) -> str:
        """What the tree of this is called: the same for the same wish."""
        return hashlib.sha256(f"tree {self.model_dump_json()}".encode()).hexdigest()[:32]


def read_asked_tree(body: bytes) -> AskedTree:
    """The body of a request; raises ConfigError."""
    return read_body(body, AskedTree)


def grow(model: Artefact, asked: AskedTree) -> bytes:
    """The tree as compressed JSON. Raises what `Model.search_tree` raises, and TooLargeError."""
    tokens = len(model.tokenizer.encode(asked.text, special=False))
    if tokens > MOST_TOKENS:
        raise TooLargeError(f"a search is drawn for at most {MOST_TOKENS} tokens of a text", got=f"{tokens:,}")
    options = WritingOptions(**asked.model_dump(exclude={"model", "text", "begins"}))
    verb = writing_verb(model)
    text = asked.text.split("\n") if VERBS[verb].turns else asked.text
    return packed(search_tree(model, text, options, verb=verb, begins=asked.begins).to_dict())
