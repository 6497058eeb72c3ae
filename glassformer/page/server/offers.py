"""The models that a page can choose from: each is opened when it is first asked for, and few stay open."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from glassformer.base.errors import CheckpointError, UnknownNameError, did_you_mean
from glassformer.base.json_text import read_json
from glassformer.bundled.texts import slides
from glassformer.bundled.travelling import located, travelling, travels
from glassformer.models.transformer import Transformer
from glassformer.page.sections.sections import Maker
from glassformer.page.sections.training import Training, has_training, is_unfinished, watched_texts
from glassformer.page.site.examples import Example, examples_of
from glassformer.saved.artefact import Artefact
from glassformer.tasks import TASKS

MOST_OPEN = 3
# A text to begin with where the task has none of its own.
_ANY_TEXT = "She likes the summer better than the winter."

Files = tuple[tuple[str, int, int], ...]
Group = Literal["own", "recent", "bundled"]
"""Whose a model is: a run of the current folder, one that was opened by its place, or one of the package."""


@dataclass(frozen=True)
class Offer:
    """A model by the name that the page shows, where it is, and texts to begin with, with their second ones.

    `makers` make the sections that this model has besides those of every run; `model` is the model where it was opened
    for them.
    """

    name: str
    place: str | Path
    texts: tuple[str, ...]
    seconds: tuple[str, ...] | None = None
    choices: tuple[str, ...] | None = None
    makers: Mapping[str, Maker] = field(default_factory=dict)
    model: Artefact | None = None
    group: Group = "bundled"

    @property
    def unfinished(self) -> bool:
        """Whether it is a run that has saved no model yet."""
        return is_unfinished(located(self.place))

    @property
    def record(self) -> dict[str, Any]:
        """What the page gets; where a model is on this machine is no concern of it."""
        return {"name": self.name, "texts": self.texts, "seconds": self.seconds, "choices": self.choices}


def offer_of(
    which: str,
    texts: Sequence[str] = (),
    second: str | None = None,
    choices: Sequence[str] | None = None,
    *,
    taken: Mapping[str, Offer] | None = None,
    name: str = "",
    group: Group = "recent",
) -> Offer:
    """The offer of a model by its place: with these texts, each with the same second one, else with some to begin with.
    Where another model has its name it is called by its place; `taken` are the offers so far.
    """
    seconds = None if second is None else (second,) * len(texts)
    given = tuple(texts)
    if not given:
        given, own = first_texts(which)
        seconds = (second,) * len(given) if second is not None else own
    called = name or Path(which).name or which
    other = called in travelling() if not travels(which) else False
    if other or (taken and called in taken):
        called = which
    return Offer(
        called, which, given, seconds, tuple(choices) if choices else None, group="bundled" if travels(which) else group
    )


def first_texts(which: str) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Texts to begin with and their second ones: watched in training, of the card, else usual for the task."""
    if watched := watched_texts(located(which)):
        return watched
    (example, *_) = examples_of(which, Example()) if travels(which) else (Example(),)
    if example.texts:
        return example.texts, example.seconds
    try:
        facts = dict(read_json(Path(located(which)) / "glassformer.json"))
    except (OSError, ValueError, TypeError):  # another kind of folder, or one that opening it will refuse
        facts = {}
    if facts.get("family") == "slides":
        return tuple(sentence.masked for sentence in slides().sentences), None
    task = facts.get("task")
    entry = TASKS.get(str(task.get("name"))) if isinstance(task, dict) else None
    return (entry.text if entry is not None and entry.text else _ANY_TEXT,), None


class Models:
    """The models on offer; those used last stay open."""

    def __init__(self, offers: Sequence[Offer], *, device: str = "auto", most_open: int = MOST_OPEN) -> None:
        self.offers = {offer.name: offer for offer in offers}
        self.device, self.most_open = device, most_open
        self.open: OrderedDict[str, Artefact] = OrderedDict()
        self.copies: dict[str, Transformer] = {}
        self.opened: dict[str, Files] = {}
        self.lock = threading.Lock()
        self.trainings: dict[str, Training] = {}

    def offer(self, name: str) -> Offer:
        """The offer of this name; raises UnknownNameError."""
        if name not in self.offers:
            raise UnknownNameError(f"no model {name!r} is offered here", do=did_you_mean(name, self.offers))
        return self.offers[name]

    def training(self, name: str, known: str) -> dict[str, Any] | None:
        """The record of its training since the mark `known`; None where it comes from no folder of a run."""
        folder = Path(located(self.offer(name).place))
        if not has_training(folder):
            return None
        with self.lock:
            training = self.trainings.setdefault(name, Training(folder))
        return training.record(known)

    def __getitem__(self, name: str) -> Artefact:
        """The model of this name; raises UnknownNameError, and CheckpointError where it cannot be opened."""
        self.offer(name)
        with self.lock:
            if name not in self.open:
                from glassformer.saved.artefact import Artefact
                from glassformer.saved.opening import open_model

                offer = self.offers[name]
                files = self.unchanged(offer)
                self.open[name] = offer.model or open_model(offer.place, Artefact, self.device)
                self.opened[name] = files
            self.open.move_to_end(name)
            while len(self.open) > self.most_open:
                self.copies.pop(self.open.popitem(last=False)[0], None)
            return self.open[name]

    def unchanged(self, offer: Offer) -> Files:
        """The files of its weights. Raises CheckpointError where they are others than when it was opened before: its
        runs are kept, and a browser keeps the weights that it has got.
        """
        try:
            found = sorted(Path(located(offer.place)).glob("*.safetensors"))
            files = tuple((file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in found)
        except (OSError, ValueError):  # a hub's, or one that opening it will refuse
            files = ()
        if self.opened.get(offer.name, files) != files:
            raise CheckpointError(
                f"{offer.name} must be the model that was opened here",
                got="other weights",
                do="end this server and start it again",
            )
        return files

    def copy(self, name: str) -> Transformer | None:
        """The copy for all traces of a model; None for one that was given open, as its owner may change it."""
        model = self[name]
        if self.offers[name].model is not None or model.int8:
            return None
        from glassformer.look.trace.replay import eval_copy

        with self.lock:
            if name not in self.copies:
                self.copies[name] = eval_copy(model.module, next(model.module.parameters()).dtype)
            return self.copies[name]
