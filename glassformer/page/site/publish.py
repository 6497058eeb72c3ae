"""A site of static pages: a home page, a page for each model and example, and what all of them share."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassformer.base.errors import ConfigError, DataError
from glassformer.decode.options import WritingOptions
from glassformer.look.texts.search_tree import search_tree
from glassformer.look.texts.trace import trace as traced
from glassformer.look.trace.trace import Trace
from glassformer.page.meta import meta
from glassformer.page.page import ENGLISH, built, check_language, page, shared_script
from glassformer.page.sections.sections import SEARCH, search_section, sections_of
from glassformer.page.sections.training import training_sections
from glassformer.page.server.offers import Models, Offer
from glassformer.page.site.cards import Card, card_of
from glassformer.page.site.drawn import png_of_card, svg_of
from glassformer.page.site.examples import Example, examples_of
from glassformer.page.site.folder import site_folder
from glassformer.page.site.home import SAID, TITLE, Shown, home_file
from glassformer.page.site.spoken import spoken, spoken_card
from glassformer.saved.artefact import Artefact

HOME, SHARED, EMBED = "index.html", "shared.js", "embed.js"
MEGABYTES = 3
"""How large a page is at most if nothing else is said: with its search, a translation has all of its attention in it,
and seven models fit into 25 MB.
"""
ADDRESS = re.compile(r"https?://[^\s\"'<>?#]+")


@dataclass(frozen=True)
class Planned:
    """A page that will be written: the files are named after `stem`."""

    stem: str
    offer: Offer
    example: Example


def publish(
    folder: str | Path,
    offers: Sequence[Offer],
    *,
    megabytes: int = MEGABYTES,
    device: str = "auto",
    address: str = "",
    language: str = ENGLISH,
    overwrite: bool = False,
    tell: Callable[[str], None] = lambda sentence: None,
) -> Path:
    """Write the site of these models and return its home page. `address` is where the site will be: services that show
    links read the addresses of pictures only whole. `language` is that of its words. `tell` is called with a sentence
    for each file of a model.

    Raises DataError for a folder that may not be written into, ConfigError for an address or a language that is none,
    and what opening or running a model raises; then nothing is written.
    """
    if address and not ADDRESS.fullmatch(address):
        raise ConfigError("the address of a site begins with http:// or https://", got=repr(address))
    check_language(language)
    if twice := [name for name, count in Counter(offer.name for offer in offers).items() if count > 1]:
        do = "rename one of their folders"
        raise ConfigError("the models of a site have different names", got=f"{twice[0]} more than once", do=do)
    plan = planned(offers)
    names = [HOME, SHARED, EMBED, *(f"{each.stem}.{kind}" for each in plan for kind in ("html", "svg", "png"))]
    site = site_folder(folder, names, inputs=[offer.place for offer in offers], overwrite=overwrite)
    models = Models(offers, device=device, most_open=1)
    base = address.rstrip("/") + "/" if address else ""
    files: dict[str, bytes] = {}
    cards: dict[str, list[Shown]] = {}
    for each in plan:
        card, trace = made(each, models[each.offer.name], megabytes, base, files, language)
        cards.setdefault(each.offer.name, []).append(shown_card(each, card, trace, language))
        tell(f"{each.stem}.html: {len(files[f'{each.stem}.html']) / 1e6:.1f} MB, {each.offer.name}")
    title, said = (spoken(text, language) for text in (TITLE, SAID))
    alt = cards[plan[0].offer.name][0].answer
    head = meta(title, said, picture=f"{base}{plan[0].stem}.png", alt=alt, place=f"{base}{HOME}" if base else "")
    files[HOME] = in_bytes(
        home_file([card for group in cards.values() for card in group], head=head, language=language)
    )
    files |= {SHARED: in_bytes(shared_script(language)), EMBED: in_bytes(built("embed.js"))}
    site.write(files)
    return site.folder / HOME


def planned(offers: Iterable[Offer]) -> list[Planned]:
    """The pages of a site: each example of each model, under a name that no other file has."""
    taken = {"index", "shared", "embed", "site"}
    found = []
    for offer in offers:
        given = Example(offer.texts, offer.seconds, offer.choices)
        for example in examples_of(offer.name, given):
            plain = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(offer.name).name).strip("-")[:80] or "model"
            stem, order = plain, 1
            while stem.casefold() in taken:
                order += 1
                stem = f"{plain}-{order}"
            taken.add(stem.casefold())
            found.append(Planned(stem, offer, example))
    if not found:
        raise ConfigError("a site needs a model", got="none")
    return found


def made(
    each: Planned, model: Artefact, megabytes: int, base: str, files: dict[str, bytes], language: str
) -> tuple[Card, Trace]:
    """The card and the run of an example; its page and its two pictures are added to `files`."""
    example = each.example
    trace = traced(model, example.texts, example.seconds, choices=example.choices)
    card = spoken_card(card_of(trace, example), language)
    sections: dict[str, Any] = sections_of(trace) | training_sections(model.source)
    if trace.words.decoder_inputs and example.seconds is None:
        sections[SEARCH] = search_section([tree_of(model, text) for text in example.texts])
    text = page(
        trace,
        title=each.offer.name,
        megabytes=megabytes,
        sections=sections,
        language=language,
        shared=SHARED,
        more=meta(
            f"{card.question} ({each.offer.name})",
            card.answer,
            picture=f"{base}{each.stem}.png",
            alt=card.answer,
            place=f"{base}{each.stem}.html" if base else "",
        ),
    )
    files[f"{each.stem}.html"] = in_bytes(text)
    files[f"{each.stem}.svg"] = in_bytes(svg_of(card, alone=True) + "\n")
    files[f"{each.stem}.png"] = png_of_card(card)
    return card, trace


def tree_of(model: Artefact, text: str) -> Any:
    """The search for a translation; none where a text is translated in several parts."""
    try:
        return search_tree(model, text, WritingOptions())
    except DataError:
        return None


def shown_card(each: Planned, card: Card, trace: Trace, language: str) -> Shown:
    file = f"{each.stem}.html"
    return Shown(
        name=each.offer.name,
        question=card.question,
        href=f"{file}#{card.place}",
        what=spoken(what(trace), language),
        text=" ".join((*each.example.texts[:1], *(each.example.seconds or ())[:1])),
        answer=card.answer,
        picture=svg_of(card),
        more=((spoken("the whole model", language), f"{file}#level=model"),),
    )


def what(trace: Trace) -> str:
    """What a model is, in a few words: `encoder, 6 blocks, 2,130,000 weights`."""
    stacks = [
        f"{side}, {len(stack.blocks)} block{'s' * (len(stack.blocks) != 1)}"
        for side, stack in (("encoder", trace.config.encoder), ("decoder", trace.config.decoder))
        if stack is not None
    ]
    weights = sum(tensor.numel() for tensor in trace.parameters.values())
    return f"{'; '.join(stacks)}; {weights:,} weights"


def in_bytes(text: str) -> bytes:
    """A text as a file has it; a lone surrogate in it is no reason to lose it."""
    return text.encode("utf-8", "backslashreplace")
