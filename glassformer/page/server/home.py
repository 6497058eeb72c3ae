"""The home page of a server: the models that it offers as cards, and the opening of others."""

import json
import re
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Annotated
from urllib.parse import quote

from pydantic import Field

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import CheckpointError, DataError
from glassformer.base.json_text import parse_json
from glassformer.base.paths import RECENT, cache_folder, check_path
from glassformer.base.settings import Settings
from glassformer.bundled.travelling import travels
from glassformer.look.trace.trace import Trace
from glassformer.page.server.offers import Group, Models, Offer, offer_of
from glassformer.page.site.cards import card_of
from glassformer.page.site.drawn import svg_of
from glassformer.page.site.examples import Example, examples_of, in_order
from glassformer.page.site.home import Shown, home_served
from glassformer.page.site.publish import what
from glassformer.run.serving.refusals import TooLargeError
from glassformer.saved.recipe import HUB

MOST_RECENT, MOST_OWN = 8, 24
RUNS = "runs"
SHOWS_A_MODEL = ("glassformer.json", "config.json", "recipe.toml")
KINDS = (".json", ".jsonl", ".safetensors", ".toml", ".txt", ".model", ".spm", ".jinja", ".md")
"""The kinds of files that a model's folder has; others of a folder that is dropped are left out."""
PLAIN = re.compile(r"\w[\w.-]{0,99}", re.ASCII)
MOST_DROPPED = 4_000_000_000
GROUPS = {"own": "Your models, the last one first", "recent": "Opened before", "bundled": "Models of the package"}


class AskedModel(Settings):
    """A model to open: where it is, or what was dropped, under the name of its folder."""

    place: Annotated[str, Field(max_length=400)] = ""
    dropped: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = None
    name: Annotated[str, Field(max_length=100)] = ""


class Home:
    """The cards of the models on offer, each made once; and what was dropped into the page, kept until `close`."""

    def __init__(self, models: Models) -> None:
        self.models = models
        self.lock = Lock()
        self.temporary: TemporaryDirectory[str] | None = None
        self.received = 0

    def page(self) -> str:
        """The page as it is now; cards without a picture ask for it."""
        groups: dict[str, list[Shown]] = {group: [] for group in GROUPS}
        for offer in [*self.models.offers.values()]:
            groups[offer.group].append(self.pending(offer))
        order = in_order(card.name for card in groups["bundled"])
        groups["bundled"].sort(key=lambda card: order.index(card.name))
        return home_served([(GROUPS[group], cards) for group, cards in groups.items()])

    def pending(self, offer: Offer) -> Shown:
        """The card of a model before its run is made."""
        example = example_of(offer)
        href = f"./#level={'training' if offer.unfinished else 'model'}&model={quote(offer.name)}"
        question = example.question or ("How does it learn?" if offer.unfinished else f"What does {offer.name} do?")
        return Shown(offer.name, question, href, text=text_of(offer))

    def card(self, offer: Offer, trace: Trace) -> dict[str, str]:
        """The card of a model by the run of its first texts."""
        card = card_of(trace, example_of(offer))
        return {
            "question": card.question,
            "answer": card.answer,
            "href": f"./#{card.place}&model={quote(offer.name)}",
            "picture": svg_of(card),
            "what": what(trace),
            "text": text_of(offer),
        }

    def open(self, asked: AskedModel) -> str:
        """Offer another model, and return its name; raises what opening it raises, DataError for no place."""
        place = asked.place.strip()
        if asked.dropped is not None:
            place = str(self.folder_of(asked.dropped))
        if not place:
            raise DataError("the folder of a model is needed, or hub:owner/name", got="nothing")
        if not place.startswith(HUB):
            check_path(place, CheckpointError)
        with self.lock:
            known = next((offer for offer in self.models.offers.values() if same(offer.place, place)), None)
            offer = known or offer_of(place, taken=self.models.offers, name=asked.name, group="recent")
            self.models.offers[offer.name] = offer
        try:
            if not offer.unfinished:
                self.models[offer.name]
        except BaseException:
            if known is None:
                self.models.offers.pop(offer.name, None)  # another client may have had the same place
            raise
        if asked.dropped is None:
            remember(place)
        return offer.name

    def folder_of(self, key: str) -> Path:
        """Where the files of a folder are that was dropped; raises CheckpointError where none came."""
        folder = Path(self.temporary.name) / key if self.temporary else None
        if folder is None or not folder.is_dir():
            raise CheckpointError("the folder that was dropped must have the files of a model", got="none of them")
        return folder

    def receive(self, key: str, name: str, offset: int, data: bytes) -> None:
        """Take in a piece of a file; DataError for a foreign name or a wrong order; TooLargeError."""
        if not PLAIN.fullmatch(name) or Path(name).suffix not in KINDS:
            raise DataError("a file of a model is needed", got=repr(name))
        if self.received + len(data) > MOST_DROPPED:
            raise TooLargeError(f"at most {MOST_DROPPED:,} bytes are taken in", got="more", do="write where it is")
        with self.lock:
            self.temporary = self.temporary or TemporaryDirectory(prefix="glassformer-")
        folder = Path(self.temporary.name) / key
        folder.mkdir(exist_ok=True)
        with (folder / name).open("ab") as file:
            if file.tell() != offset:
                raise DataError(f"the piece at {file.tell()} is next", got=str(offset), do="drop the folder again")
            file.write(data)
        self.received += len(data)

    def close(self) -> None:
        if self.temporary is not None:
            self.temporary.cleanup()


def own_offers(taken: dict[str, Offer]) -> list[Offer]:
    """The runs of the current folder, the last one first, and what was opened before, without those that are gone."""
    found: dict[str, Offer] = {}
    places: list[tuple[str, Group]] = [(each, "own") for each in runs()]
    for place, group in (*places, *((each, "recent") for each in recent())):
        there = place.startswith(HUB) or is_model(Path(place))
        if there and not any(same(offer.place, place) for offer in (*taken.values(), *found.values())):
            offer = offer_of(place, taken={**taken, **found}, group=group)
            found[offer.name] = offer
    return list(found.values())


def runs() -> list[str]:
    try:
        folders = [each for each in Path(RUNS).iterdir() if is_model(each)]
        return [str(each) for each in sorted(folders, key=lambda each: each.stat().st_mtime, reverse=True)[:MOST_OWN]]
    except OSError:
        return []


def is_model(folder: Path) -> bool:
    """Whether a folder looks like one of a model or a run; only opening it shows whether it is."""
    try:
        return any((folder / name).is_file() for name in SHOWS_A_MODEL)
    except (OSError, ValueError):
        return False


def recent() -> list[str]:
    try:
        listed = parse_json((cache_folder() / RECENT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [place for place in listed if isinstance(place, str)][:MOST_RECENT] if isinstance(listed, list) else []


def remember(place: str | Path) -> None:
    """Put a model in front of those that were opened before; what cannot be kept is not."""
    if travels(place):
        return
    whole = str(place) if str(place).startswith(HUB) else str(Path(place).resolve())
    with suppress(OSError):
        folder = cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / RECENT) as draft:
            kept = [whole, *(each for each in recent() if each != whole)][:MOST_RECENT]
            draft.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def same(one: str | Path, other: str | Path) -> bool:
    if str(one) == str(other):
        return True
    named = travels(one) or travels(other) or str(one).startswith(HUB) or str(other).startswith(HUB)
    return not named and Path(one).resolve() == Path(other).resolve()


def example_of(offer: Offer) -> Example:
    given = Example(offer.texts, offer.seconds, offer.choices)
    return examples_of(offer.name, given)[0] if travels(offer.place) else given


def text_of(offer: Offer) -> str:
    return " ".join((*offer.texts[:1], *(offer.seconds or ())[:1]))
