"""How a model is to be searched where nobody asks for anything else."""

from __future__ import annotations

from dataclasses import dataclass

from glassformer.decode.request import SpecialIds
from glassformer.decode.settings import DecodeSettings


@dataclass(frozen=True)
class SearchDefaults:
    """The settings that came with a model. Each answer begins with `prefix` and contains none of `forbidden`, as
    sequences of tokens; `ids` is None where nothing says how an answer begins and ends.
    """

    settings: DecodeSettings
    ids: SpecialIds | None = None
    prefix: tuple[int, ...] = ()
    forbidden: tuple[tuple[int, ...], ...] = ()
