"""The words of a site in its language. The page translates in the browser; a home page has no script."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

from glassformer.page.page import ENGLISH, built
from glassformer.page.site.cards import Card, Lines

PLACE = re.compile(r"\{(\d)\}")
PUT = re.compile(r"([„“]?)\{(\d)\}")
"""What stands in quotation marks is a word of a run: it stays."""


@cache
def table(language: str) -> tuple[dict[str, str], list[tuple[re.Pattern[str], str]]]:
    """The sentences of `web/words/site.json` in a language, and those with places as expressions that find them."""
    sentences: dict[str, str] = {} if language == ENGLISH else json.loads(built("words.json"))[language]
    parted = [key for key in sentences if PLACE.search(key)]
    expressions = ["(.+?)".join(map(re.escape, PLACE.split(key)[::2])) for key in parted]
    return sentences, [
        (re.compile(each, re.DOTALL), sentences[key]) for each, key in zip(expressions, parted, strict=True)
    ]


def spoken(text: str, language: str) -> str:
    """A sentence of a site in a language, and the parts that are put into it; what has no words stays as it is."""
    sentences, patterns = table(language)
    if text in sentences:
        return sentences[text]
    for pattern, translated in patterns:
        if found := pattern.fullmatch(text):
            return PUT.sub(partial(put, found.groups(), language), translated)
    return text


def put(parts: Sequence[str], language: str, place: re.Match[str]) -> str:
    quoted, order = place.groups()
    part = parts[int(order)]
    return quoted + part if quoted else spoken(part, language)


def spoken_card(card: Card, language: str) -> Card:
    """A card in a language: its words are those of its run, and stay."""
    picture = card.picture
    if not isinstance(picture, Lines) and card.place.startswith("level=lens"):
        picture = tuple(replace(bar, label=spoken(bar.label, language)) for bar in picture)
    return replace(
        card, question=spoken(card.question, language), answer=spoken(card.answer, language), picture=picture
    )
