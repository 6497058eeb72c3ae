"""What services show with a link to a page: its title, a sentence, and the picture of its view."""

from __future__ import annotations

import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import cast

import pytest
import torch

import glassformer as gf
from glassformer.api.trace import Trace
from glassformer.bundled.texts import slides_model
from glassformer.page.page import page
from glassformer.page.server.offers import Offer
from glassformer.page.site import drawn
from glassformer.page.site import publish as module
from glassformer.page.site.cards import Bar, Card, Lines, card_of, settled
from glassformer.page.site.examples import Example
from glassformer.page.site.publish import publish
from tests.page.serving import SENTENCES


class Head(HTMLParser):
    """What the head of a page states for services, by name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stated: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "meta" and "content" in given:
            self.stated[given.get("property") or given.get("name", "")] = given["content"]


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch) -> list[Offer]:
    """The slides' model; of its page only the elements of the head are made."""
    monkeypatch.setattr(module, "page", lambda *given, more, **options: more)
    monkeypatch.setattr(module, "shared_script", lambda language: "")
    monkeypatch.setattr(module, "sections_of", lambda trace: {})
    return [Offer("slides", slides_model(), SENTENCES)]


@pytest.mark.parametrize("address", ["https://example.org/docs", ""])
def test_pages_of_a_site_say_what_services_show_with_a_link(offers: list[Offer], tmp_path: Path, address: str) -> None:
    site = publish(tmp_path / "site", offers, address=address).parent
    base = f"{address}/" if address else ""
    for name in ("index", "slides"):
        found = Head((site / f"{name}.html").read_text()).stated
        assert found["og:type"] == "website"
        assert found["og:title"]
        assert found["og:description"] == found["description"]
        assert found.get("og:url") == (f"{base}{name}.html" if base else None)
        # Without an address it is relative: the picture is next to the page on any host.
        assert found["og:image"] == f"{base}slides.png"
        picture = (site / "slides.png").read_bytes()
        size = [str(number) for number in struct.unpack(">II", picture[16:24])]
        assert [found["og:image:width"], found["og:image:height"]] == size
        assert found["og:image:type"] == "image/png"
        assert found["og:image:alt"]
        assert found["twitter:card"] == "summary_large_image"


def test_an_exported_page_says_what_it_is_of(demo: Trace) -> None:
    found = Head(page(demo, title='a "title"')).stated
    assert found["og:title"].startswith('a "title"')
    assert SENTENCES[0].split()[0] in found["og:description"]
    # One file has no picture that a service could fetch.
    assert "og:image" not in found
    assert found["twitter:card"] == "summary"


def dots_of(data: bytes) -> torch.Tensor:
    """The colours [height, width, 3] of a picture."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[start - 4 : start])
    rows = torch.frombuffer(bytearray(zlib.decompress(data[start + 4 : start + 4 + length])), dtype=torch.uint8)
    return rows.view(height, 1 + 3 * width)[:, 1:].view(height, width, 3)


def test_a_picture_in_dots_has_their_shades() -> None:
    shades = torch.zeros(3, 5)
    shades[1, 2] = 1
    found = dots_of(drawn.png(shades))
    assert found.shape == (3, 5, 3)
    assert tuple(found[1, 2].tolist()) == drawn.INK
    assert tuple(found[0, 0].tolist()) == drawn.PAPER


def test_the_picture_for_links_is_that_of_the_view(demo: Trace) -> None:
    bars = (Bar("the words", 0.1, "a 10%", meant=False), Bar("block 0", 0.4, "b 40%", meant=True))
    found = dots_of(drawn.png_of_card(Card("?", "!", "level=lens", bars)))
    ink = (found == torch.tensor(drawn.INK)).all(-1)  # [height, width]: the bar that is meant alone has the whole ink
    rows, columns = (ink.any(axis).nonzero().flatten().tolist() for axis in (1, 0))
    room, along = drawn.WIDTH - 2 * drawn.LABEL - 12, (drawn.CARD[0] - 80) / drawn.WIDTH
    assert columns[-1] - columns[0] + 1 == pytest.approx(room * along, abs=2)
    assert min(rows) > drawn.CARD[1] / 2  # it is the second of two rows
    # A line leads from the word in question to the one that it looks at most, darker than those to the others.
    card = card_of(demo, Example(SENTENCES, view="hidden"))
    assert isinstance(card.picture, Lines)
    shown = dots_of(drawn.png_of_card(card)).sum(-1)  # [height, width]
    assert shown.shape == drawn.CARD[::-1]
    meant = [line for line in card.picture.lines if line[3]]
    _, right, weight, _ = max(meant, key=lambda line: line[2])
    high = max(len(card.picture.left), len(card.picture.right)) * drawn.ROW + 2 * drawn.EDGE
    down = min(3.3, (drawn.CARD[1] - 60) / high)
    top = (drawn.CARD[1] - down * high) / 2
    row, column = round(top + down * drawn.middle(right)), round(40 + (drawn.WIDTH - drawn.LABEL - 10) * along)
    darkest = shown[row - 3 : row + 4, column].min()
    assert darkest == shown[:, column].min()
    shade = (sum(drawn.PAPER) - darkest.item()) / (sum(drawn.PAPER) - sum(drawn.INK))
    assert shade == pytest.approx(max(weight, drawn.FAINT), abs=0.02)


def test_the_answer_of_a_card_is_that_of_its_text() -> None:
    model, asked = gf.load("writer"), cast("Example", None)
    first = "She looked at him for a long time"
    alone, *_ = settled(model.trace(first), asked)
    for other in ("It was", "The old man went to the house by the sea and"):
        assert settled(model.trace([first, other]), asked)[0] == alone
