"""The models that a page can choose from: each is opened when it is first asked for, and few stay open."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.base.errors import UnknownNameError, did_you_mean
from glassformer.bundled.travelling import located
from glassformer.page.sections.training import Training, has_training, is_unfinished

if TYPE_CHECKING:
    from glassformer.models.transformer import Transformer
    from glassformer.page.sections.sections import Maker
    from glassformer.saved.artefact import Artefact

MOST_OPEN = 3


@dataclass(frozen=True)
class Offer:
    """A model by the name that the page shows, where it is, and texts to begin with, with their second ones.

    `makers` make the sections that this model has beside those of every run; `model` is the model where it was opened
    for them.
    """

    name: str
    place: str | Path
    texts: tuple[str, ...]
    seconds: tuple[str, ...] | None = None
    choices: tuple[str, ...] | None = None
    makers: Mapping[str, Maker] = field(default_factory=dict)
    model: Artefact | None = None

    @property
    def unfinished(self) -> bool:
        """Whether it is a run that has saved no model yet."""
        return is_unfinished(located(self.place))

    @property
    def record(self) -> dict[str, Any]:
        """What the page is told; where a model is on this machine is no concern of it."""
        return {"name": self.name, "texts": self.texts, "seconds": self.seconds, "choices": self.choices}


class Models:
    """The models on offer; those used last stay open."""

    def __init__(self, offers: Sequence[Offer], *, device: str = "auto", most_open: int = MOST_OPEN) -> None:
        self.offers = {offer.name: offer for offer in offers}
        self.device, self.most_open = device, most_open
        self.open: OrderedDict[str, Artefact] = OrderedDict()
        self.copies: dict[str, Transformer] = {}
        self.lock = threading.Lock()
        self.trainings: dict[str, Training] = {}

    def offer(self, name: str) -> Offer:
        """The offer of this name; raises UnknownNameError."""
        if name not in self.offers:
            raise UnknownNameError(f"no model {name!r} is offered here", do=did_you_mean(name, self.offers))
        return self.offers[name]

    def training(self, name: str, known: str) -> dict[str, Any] | None:
        """What is told of its training since the mark `known`; None where it comes from no folder of a run."""
        folder = Path(located(self.offer(name).place))
        if not has_training(folder):
            return None
        with self.lock:
            training = self.trainings.setdefault(name, Training(folder))
        return training.told(known)

    def __getitem__(self, name: str) -> Artefact:
        """The model of this name; raises UnknownNameError, and CheckpointError where it cannot be opened."""
        self.offer(name)
        with self.lock:
            if name not in self.open:
                from glassformer.saved.artefact import Artefact
                from glassformer.saved.opening import open_model

                offer = self.offers[name]
                self.open[name] = offer.model or open_model(offer.place, Artefact, self.device)
            self.open.move_to_end(name)
            while len(self.open) > self.most_open:
                self.copies.pop(self.open.popitem(last=False)[0], None)
            return self.open[name]

    def copy(self, name: str) -> Transformer | None:
        """The copy by which a model is looked at, made once for all its runs; None for a model that was given opened:
        its owner may change it.
        """
        model = self[name]
        if self.offers[name].model is not None or model.int8:
            return None
        from glassformer.look.trace.replay import eval_copy

        with self.lock:
            if name not in self.copies:
                self.copies[name] = eval_copy(model.module, next(model.module.parameters()).dtype)
            return self.copies[name]
