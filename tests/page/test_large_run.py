"""A run that is too large to be sent: drawn from pictures, read from windows, explained by the server."""

from __future__ import annotations

import base64
import json
import random
import re
import time
import urllib.request
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from safetensors.torch import load as read_tensors

from glassformer.api.model import Model
from glassformer.api.trace import Trace
from glassformer.page.server import overview
from glassformer.page.server.asked import Asked
from glassformer.page.server.pictures import LIFT, full_strength, signed, signed_picture
from tests.page.serving import ATTENTION, Page, desk_of, served, small_model
from tests.page.test_everywhere import SCENES, WALK
from tests.page.test_server_browser import serving, window  # noqa: F401 (a fixture)
from tests.page.watched import WAIT, turn, until

if TYPE_CHECKING:
    from playwright.sync_api import Page as Window

TEXT = " ".join(["She likes the summer better than the winter"] * 6)
NAME = f"{ATTENTION}.scores"


def test_signed_dots_are_the_strength_of_the_cell_and_its_sign() -> None:
    values = torch.randn(3, 40, 50)
    values[0, 0, 0], values[1, 2, 3] = -torch.inf, torch.nan
    dots = signed(values, 2.0)
    shown = values.isfinite()
    assert (dots == 0).eq(~shown).all()
    strength = (values.abs() / 2).clamp(max=1) ** LIFT
    back = (dots.double() - 128) / 127
    assert (back.abs() - strength)[shown].abs().max() <= 0.5 / 127 + 1e-6
    assert (back.sign() * values.sign())[shown].min() >= 0


def test_one_outlier_does_not_make_a_large_tensor_pale() -> None:
    values = torch.rand(100, 100)
    values[3, 4] = 1000.0
    assert 0.9 < full_strength(values) <= 1.0
    assert full_strength(torch.tensor([1.0, -7.0])) == 7.0
    assert full_strength(torch.tensor([float("inf")])) == 0.0
    sent, _ = signed_picture(values, (slice(None), slice(None)), (8, 8))
    assert sent.shape == (8, 8)
    assert int(sent.max()) == 255


def test_a_fill_is_no_number_of_a_picture() -> None:
    with served(desk_of()) as page:
        stated = page.overview("slides")
        found = page.desk.run(stated["run"]).trace
        dots = dots_of(page, stated["run"], f"{ATTENTION}.masked")
        forbidden = (found[f"{ATTENTION}.may_look"] == 0).expand(dots.shape)
        assert forbidden.any()
        assert (dots == 0).eq(forbidden).all()
        before = found[f"{ATTENTION}.scores"]
        assert torch.equal(dots[~forbidden], signed(before, full_strength(before))[~forbidden])


def dots_of(page: Page, key: str, name: str) -> torch.Tensor:
    return page.tensors(f"api/runs/{key}/pictures", names=name)[name]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def large(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Trace, list[str]]]:
    """The address of a page whose run is not sent whole, its trace, and a list of what is asked for."""
    monkeypatch.setattr(overview, "MOST_WHOLE", 100)
    desk = desk_of(folder)
    with serving(desk, model="small", texts=(TEXT,)) as address:
        yield address, Model.of(desk.models["small"]).trace([TEXT]), []


def test_a_large_run_is_drawn_and_read_without_being_sent(
    window: Window,  # noqa: F811
    large: tuple[str, Trace, list[str]],
) -> None:
    address, found, asked = large
    window.on("request", lambda request: asked.append(request.url))
    for level in ("block", "tensor"):
        window.goto("about:blank")
        window.goto(f"{address}#level={level}&unit=encoder.blocks.0&tensor={NAME}&cell=0,1,2,3")
        window.wait_for_selector("main canvas")
        assert window.locator(".wrong").count() == 0
    # Pictures of what is large; no request for all numbers of it.
    assert found[NAME].numel() > 4096
    until(window, lambda: any("/pictures?" in url and NAME in url for url in asked))
    assert not any("/numbers" in url for url in asked)
    whole = [url for url in asked if "/tensor?" in url and url.endswith("part=")]
    assert not any(f"name={NAME}&" in url for url in whole)
    # The digits of the table are those of the trace.
    window.locator("details.twin > summary").first.click()
    window.locator("details.twin td a").nth(20).wait_for()  # the rows are made when it is opened
    shown = window.locator("details.twin td a").evaluate_all("all => all.map((a) => [a.hash, a.textContent])")
    assert len(shown) > 20
    for hash_, text in random.Random(2).sample(shown, 12):
        cell = [int(step) for step in hash_.partition("cell=")[2].partition("&")[0].split(",")]
        value = float(found[NAME][tuple(cell)])
        assert abs(float(text.replace("−", "-")) - value) <= (0.0051 if abs(value) < 10 else 0.051)
    # A step of an arrow key beyond the window fetches further digits; a far one too.
    before = len(asked)
    window.locator("main canvas").last.focus()
    window.keyboard.press("ArrowDown")
    until(window, "location.hash.includes('cell=0,1,3,3')")
    # The controls of the number, which come in a later part, ask for the mask.
    assert not any("/tensor?" in url and f"name={NAME}&" in url for url in asked[before:])
    window.goto(f"{address}#level=number&tensor={NAME}&cell=0,1,2,3")
    number = window.locator(f'article[data-tensor="{NAME}"][data-cell="0,1,2,3"]')
    number.wait_for()
    assert float(number.get_attribute("data-value") or "nan") == float(found[NAME][0, 1, 2, 3])
    # A weight is read alone.
    weight = next(name for name in found.parameters if name.startswith("parameters.encoder.blocks.0.feed_forward"))
    ones = [1 for _ in found.parameters[weight].shape]
    window.goto(f"{address}#level=number&tensor={weight}&cell={','.join(map(str, ones))}")
    window.locator(f'article[data-tensor="{weight}"]').wait_for()
    shown_value = window.locator("article").get_attribute("data-value")
    assert float(shown_value or "nan") == float(found.parameters[weight][tuple(ones)])
    window.goto("about:blank")


def test_the_window_follows_the_cell_in_hand(
    window: Window,  # noqa: F811
    large: tuple[str, Trace, list[str]],
) -> None:
    address, found, _ = large
    last = found[NAME].shape[-1] - 1
    window.goto(f"{address}#level=tensor&tensor={NAME}&cell=0,0,0,0")
    window.wait_for_selector("main canvas")
    window.locator("details.twin > summary").first.click()
    turn(window, f"level=tensor&tensor={NAME}&cell=0,1,{last},{last}", anew=False)
    corner = window.locator(f'details.twin td a[href*="cell=0,1,{last},{last}"]')
    corner.wait_for()
    shown = float(corner.inner_text().replace("−", "-"))
    assert abs(shown - float(found[NAME][0, 1, last, last])) <= 0.051
    window.goto("about:blank")


def test_each_picture_is_drawn_or_says_what_it_needs(
    window: Window,  # noqa: F811
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where not even one tensor of the attention is fetched whole."""
    monkeypatch.setattr(overview, "MOST_WHOLE", 100)
    with serving(desk_of(folder), model="small", texts=(" ".join([TEXT] * 5),)) as address:
        window.goto(address)
        window.wait_for_selector(".frame")
        scenes = [f"level=scene&scene={scene}" for scene in SCENES]
        assert window.evaluate(WALK.replace("WAIT", str(WAIT)), scenes) == []
        window.goto("about:blank")


@pytest.mark.long
def test_what_stands_below_a_head_follows_to_the_first_and_last_word(
    window: Window,  # noqa: F811
    large: tuple[str, Trace, list[str]],
) -> None:
    """Of a run that is not sent whole the rows around the one in hand are fetched: at an edge as many as elsewhere."""
    address, found, _ = large
    name = f"{ATTENTION}.weights"
    last = found[name].shape[-1] - 1
    for query in (0, 3, last - 1):
        window.goto(f"{address}#level=head&tensor={name}&cell=0,1,{query},1")
        # The numbers around the cell in hand, its stages, what it takes, the pair in hand.
        until(
            window,
            "at => document.querySelectorAll(`.details[data-cell='${at}'] > .block`).length === 4",
            f"0,1,{query},1",
        )
    window.goto("about:blank")


def test_what_is_shown_first_comes_with_the_page(
    window: Window,  # noqa: F811
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(overview, "MOST_WHOLE", 100)
    desk, text = desk_of(folder), "She likes the [MASK] better than the winter."
    desk.begin(Asked(model="small", texts=(text,)))
    sent = re.compile(r'<script type="application/(json|octet-stream)" id="(api/[^"]*)">([^<]*)</script>')
    with serving(desk, model="small", texts=(text,)) as address:
        found: list[tuple[str, str, str]] = []
        for _ in range(600):  # until it has been worked out
            found = sent.findall(got(address).decode())
            if found:
                break
            time.sleep(0.1)
        assert [name.partition("?")[0].rpartition("/")[2] for _, name, _ in found] == ["largest", "heads"]
        for kind, name, data in found:
            answer = got(address + unescape(name))
            if kind == "json":
                assert json.loads(data) == json.loads(answer)
            else:
                stated, again = read_tensors(base64.b64decode(data)), read_tensors(answer)
                assert stated.keys() == again.keys()
                assert all(stated[each].equal(again[each]) for each in stated)
        asked: list[str] = []
        window.on("request", lambda request: asked.append(request.url))
        window.goto(f"{address}#level=model")
        window.wait_for_selector("a[data-answer]", state="attached")
        until(window, "performance.getEntriesByName('heads drawn').length > 0")
        assert not any(part in url for url in asked for part in ("/heads?", "/largest?"))
        window.goto("about:blank")


def got(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=600) as answer:
        return bytes(answer.read())
