"""How a model is to be searched where nobody asks for anything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from glassformer.decode.settings import DecodeSettings

if TYPE_CHECKING:
    from glassformer.decode.request import SpecialIds


@dataclass(frozen=True)
class SearchDefaults:
    """The settings that came with a model. Each answer begins with `prefix` and contains none of `forbidden`, as
    sequences of tokens; `ids` is None where nothing says how an answer begins and ends. `whole`: the most tokens of a
    prompt and its answer together. `aside`, of a decoder alone, are its settings that the decoding loop does not have,
    each with the reason.
    """

    settings: DecodeSettings
    ids: SpecialIds | None = None
    prefix: tuple[int, ...] = ()
    forbidden: tuple[tuple[int, ...], ...] = ()
    whole: int | None = None
    aside: Mapping[str, str] = field(default_factory=dict)
