"""What a page asks for: texts through a model, with changes made by hand."""

import hashlib
import re
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor

from glassformer.base.settings import Settings
from glassformer.look.trace.interventions import ChangeWord, Intervention, MaskWord, Replace, Visibility, patch
from glassformer.look.trace.trace import Trace
from glassformer.run.serving.limits import read_body
from glassformer.run.serving.refusals import RequestError, TooLargeError

MOST_TEXTS = 16
MOST_CHARACTERS = 20_000
MOST_STEPS = 64
MOST_TARGET = 2048

Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1, max_length=MOST_TEXTS)]
Target = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1, max_length=MOST_TARGET)]
Targets = Annotated[tuple[Target, ...], Field(min_length=1, max_length=MOST_TEXTS)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Side = Literal["inputs", "decoder_inputs"]
Place = int | Name
Cell = Annotated[tuple[int | None, ...], Field(max_length=8)]
KEY = r"^[0-9a-f]{32}$"
Key = Annotated[str, Field(pattern=KEY)]

TraceOf = Callable[[str], Trace]
"""The trace of a run by its key; raises MissingError."""


class ChangeWordStep(Settings):
    """Put another token at a place."""

    kind: Literal["change_word"]
    token: Place
    id: Place
    sentence: int = 0
    where: Side = "inputs"

    def read(self, traces: TraceOf) -> Intervention:
        return ChangeWord(self.token, self.id, self.sentence, self.where)


class MaskWordStep(Settings):
    """Mask the word at a place."""

    kind: Literal["mask_word"]
    token: Place
    mask_id: Place | None = None
    sentence: int = 0
    where: Side = "inputs"

    def read(self, traces: TraceOf) -> Intervention:
        return MaskWord(self.token, self.mask_id, self.sentence, self.where)


class VisibilityStep(Settings):
    """Allow or forbid one query to look at one key."""

    kind: Literal["allow", "forbid"]
    attention: Name
    query: Place
    key: Place
    head: int | None = None
    sentence: int = 0

    def read(self, traces: TraceOf) -> Intervention:
        return Visibility(self.attention, self.query, self.key, self.kind == "allow", self.head, self.sentence)


class ReplaceStep(Settings):
    """Put a number or a mean in the place of a tensor or of a part of it: a head or a layer is switched off by it."""

    kind: Literal["replace"]
    where: Name
    by: float | Literal["mean"]
    cell: Cell = ()

    def read(self, traces: TraceOf) -> Intervention:
        return Replace(self.where, self.by, self.cell)


class PatchStep(Settings):
    """Put the numbers of another run in the place of a tensor or of a part of it."""

    kind: Literal["patch"]
    where: Name
    run: Key
    cell: Cell = ()

    def read(self, traces: TraceOf) -> Intervention:
        """As a run takes it; raises MissingError and UnknownNameError."""
        other = traces(self.run)
        name = other.full_name(self.where)
        tensor: dict[str, Tensor] = {name: other.tensor(name)}
        return patch(tensor, name, self.cell)


Step = Annotated[ChangeWordStep | MaskWordStep | VisibilityStep | ReplaceStep | PatchStep, Field(discriminator="kind")]


class Asked(Settings):
    """Texts through one of the models that are offered.

    `seconds` are the second texts of pairs, or the targets of an encoder–decoder, one for each text; `target_ids` are
    such targets as tokens, the start token first. `choices` are the candidates of the only text.
    `steps` are the changes made by hand, in their order.
    """

    model: Name
    texts: Texts
    seconds: Texts | None = None
    choices: Texts | None = None
    target_ids: Targets | None = None
    steps: Annotated[tuple[Step, ...], Field(max_length=MOST_STEPS)] = ()

    @property
    def key(self) -> str:
        """What the run of this is called: the same for the same wish, so that its numbers never change."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:32]


def read_asked(body: bytes) -> Asked:
    """The wish for a run; raises ConfigError, and TooLargeError for more characters than all texts may have."""
    asked = read_body(body, Asked)
    characters = sum(map(len, (*asked.texts, *(asked.seconds or ()), *(asked.choices or ()))))
    if characters > MOST_CHARACTERS:
        raise TooLargeError(
            f"all texts together must have at most {MOST_CHARACTERS:,} characters", got=f"{characters:,}"
        )
    return asked


_NUMBER = re.compile(r"([^:;]{1,200}):(\d{1,9}(?:,\d{1,9})*)?")
MOST_NUMBERS = 64


def cells_in(text: str) -> list[tuple[str, list[int]]]:
    """Tensors and cells, as `NAME:0,3;NAME:1`. Raises RequestError for another text, or more than 64 of them."""
    found = [_NUMBER.fullmatch(each) for each in text.split(";", MOST_NUMBERS)]
    if len(found) > MOST_NUMBERS or None in found:
        raise RequestError(f"numbers in the address must be 1 to {MOST_NUMBERS}, as NAME:0,3;NAME:1", got=text[:80])
    return [(each[1], [int(step) for step in (each[2] or "").split(",") if step]) for each in found if each]
