"""What an engine is: a library that computes a part of a model in the place of our own stack."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from glassformer.models.transformer import Transformer
from glassformer.tasks.predictor import Predictor
from glassformer.tasks.rows import Row


@dataclass(frozen=True)
class Plan:
    """What is to be done so that an engine answers. `depends`: what the converted files depend on besides the weights;
    `asked`: what else its answers do. `convert` writes the files into a folder, `opened` reads them.
    """

    depends: str
    convert: Callable[[Path], None]
    opened: Callable[[Path], "StandIn"]
    asked: str = ""


class Scores(IntEnum):
    """Whose scores a greedy search computes as it goes; others are computed when they are read."""

    NONE = 0
    ANSWERS = 1
    TOKENS = 2


class StandIn(Protocol):
    """A model that the engine of this `name` computes, how often it has, and which scores it computes as it goes.
    `alone` gives what a predictor finds for a row that comes by itself; None where it needs the model for that, as
    where it is None.
    """

    name: str
    model: Transformer
    computes: Scores

    @property
    def used(self) -> int: ...

    @property
    def alone(self) -> Callable[[Predictor[Any, Any], Row], Any] | None: ...


class Engine(Protocol):
    """`packages` must be installed, the first one is the engine itself. One that is `exact` gives the answers of torch,
    and `auto` uses it where it is `least` times as fast: 0 where it always has been, so that the choice is the same
    each time. Another one is only used where it is asked for.
    """

    name: str
    packages: tuple[str, ...]
    least: float
    exact: bool

    def plan(self, model: Transformer, predictor: Predictor[Any, Any], rows: Sequence[Row]) -> Plan | str:
        """How to answer rows like these, or why it cannot, as the end of a sentence."""

    def pays(self, model: Transformer, rows: int, tokens: int, *, ready: bool) -> bool:
        """Whether `auto` opens the engine for so many rows and tokens: if `ready`, or after a conversion."""


def version(engine: Engine) -> str:
    return metadata.version(engine.packages[0])


def missing(engine: Engine) -> str | None:
    """The first package that an engine lacks here."""
    return next((package for package in engine.packages if find_spec(package) is None), None)


def _engine(module: str, name: str, **settings: bool) -> Engine:
    return getattr(importlib.import_module(module), name)(**settings)


# Each is imported when it is first asked for: they import torch.
ENGINES: dict[str, Callable[[], Engine]] = {
    "ctranslate2": partial(_engine, "glassformer.answering.engines.writing", "CTranslate2"),
    "ctranslate2-int8": partial(_engine, "glassformer.answering.engines.writing", "CTranslate2", exact=False),
    "onnxruntime": partial(_engine, "glassformer.answering.engines.reading", "OnnxRuntime"),
    "onnxruntime-int8": partial(_engine, "glassformer.answering.engines.reading", "OnnxRuntime", exact=False),
}
