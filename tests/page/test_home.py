"""The home page of a server: a card for each model, made of a run; the visitor's own models; others are opened."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

from glassformer.base.errors import DataError
from glassformer.base.paths import RECENT, cache_folder
from glassformer.bundled.texts import slides_model
from glassformer.page.server import home
from glassformer.page.server.home import own_offers, recent, remember
from glassformer.page.server.offers import Models, Offer, offer_of
from tests.page.serving import SENTENCES, TEXTS, desk_of, served, small_model
from tests.page.test_server_browser import serving
from tests.page.test_site import Links
from tests.page.watched import until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

KEY = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the visitor's."""
    return small_model(tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def _nothing_before() -> None:
    (cache_folder() / RECENT).unlink(missing_ok=True)


def test_each_model_has_a_card_made_of_its_run(small: Path) -> None:
    with served(desk_of(small)) as page:
        answer = page.get("home")
        assert answer.status_code == 200
        links = Links(answer.text)
        assert sorted(links.loads) == ["data:,", "script/home.css", "script/home.js"]
        for name in ("small", "slides"):
            assert f'data-card="{name}"' in answer.text
            card = page.get(f"api/cards/{name}").json()
            place = parse_qs(card["href"].partition("#")[2])
            assert place["model"] == [name]
            assert card["picture"].startswith("<svg")
            assert card["answer"]
            # The view that answers is one of a run that is kept: opening it runs nothing anew.
        runs = len(page.desk.runs)
        page.overview("small", (TEXTS[0],))
        assert len(page.desk.runs) == runs
        page.error(page.get("api/cards/none"), 404)


def test_another_model_is_opened_by_its_place(small: Path, tmp_path: Path) -> None:
    with served(desk_of()) as page:
        page.overview()  # what a page begins with is known once its run is there
        assert page.client.post("/a-token/api/models", json={"place": str(small)}).json() == {"name": "small"}
        assert [each["name"] for each in page.get("api/models").json()["models"]] == ["slides", "small"]
        assert '"small"' in page.get("").text  # the page begins with it among its models
        assert page.overview("small", (TEXTS[0],))["model"]["parameters"] > 0
        assert recent() == [str(small)]
        # The same model once more is the one that is there; another of the same name is called by its place.
        assert page.client.post("/a-token/api/models", json={"place": f"{small}/"}).json() == {"name": "small"}
        other = shutil.copytree(small, tmp_path / "small")
        assert page.client.post("/a-token/api/models", json={"place": str(other)}).json() == {"name": str(other)}
        for place in (
            "",
            " ",
            "/nowhere/at/all",
            "hub:no such",
            "a\0b",
            "a/" * 199,
            "y" * 400,
            str(tmp_path),
            "x" * 401,
            3,
        ):
            assert page.client.post("/a-token/api/models", json={"place": place}).status_code in (400, 404, 422), place
        assert [each["name"] for each in page.get("api/models").json()["models"]] == ["slides", "small", str(other)]


def test_without_a_network_a_name_of_the_hub_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def unreachable(*given: object, **options: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(hub, "snapshot_download", unreachable)
    with served(desk_of()) as page:
        error = page.error(page.client.post("/a-token/api/models", json={"place": "hub:owner/name"}), 400)
        assert "owner/name" in error["wanted"]
        assert [each["name"] for each in page.get("api/models").json()["models"]] == ["slides"]


def test_a_folder_that_is_dropped_is_opened(small: Path) -> None:
    with served(desk_of()) as page:
        for file in small.iterdir():
            data = file.read_bytes()
            for start in range(0, len(data), 900_000):
                answer = page.client.post(
                    f"/a-token/api/dropped/{KEY}/{file.name}?offset={start}", content=data[start : start + 900_000]
                )
                assert answer.status_code == 200, answer.text
        body = {"dropped": KEY, "name": "mine"}
        assert page.client.post("/a-token/api/models", json=body).json() == {"name": "mine"}
        assert page.overview("mine", (TEXTS[0],))["words"]["inputs"]
        assert recent() == []  # it is gone when the server is


def test_what_is_dropped_is_files_of_a_model_in_their_order(tmp_path: Path) -> None:
    with served(desk_of()) as page:
        for name in ("..%2Fx.json", ".hidden.json", "x.py", "x.bin", "x"):
            answer = page.client.post(f"/a-token/api/dropped/{KEY}/{name}?offset=0", content=b"1")
            assert answer.status_code in (400, 404), name
        where = f"/a-token/api/dropped/{KEY}/x.json"
        assert page.client.post(f"{where}?offset=5", content=b"1").status_code == 400
        assert page.client.post(f"{where.replace(KEY, 'short')}?offset=0", content=b"1").status_code in (400, 422)
        page.error(page.client.post("/a-token/api/models", json={"dropped": KEY[::-1], "name": "x"}), 400)
    held = home.Home(Models([Offer("slides", slides_model(), SENTENCES)]))
    held.receive(KEY, "x.json", 0, b"{")
    assert held.temporary is not None
    folder = Path(held.temporary.name)
    with pytest.raises(DataError):
        held.receive(KEY, "../x.json", 0, b"{")
    held.close()
    assert not folder.exists()


def test_own_runs_come_first_and_the_last_of_them(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert own_offers({}) == []
    for name in ("old", "english", "new"):
        shutil.copytree(small, tmp_path / "runs" / name)
    (tmp_path / "runs" / "notes").mkdir()
    for age, name in enumerate(("new", "english", "old")):
        os.utime(tmp_path / "runs" / name, (1e9 - age, 1e9 - age))
    remember(small)
    remember(tmp_path / "gone")
    remember(tmp_path / "runs" / "old")
    bundled = offer_of("english")
    found = own_offers({"english": bundled})
    # A run with the name of a bundled model is called by its place; what is in runs/ is not named twice.
    names = [("new", "own"), (str(Path("runs") / "english"), "own"), ("old", "own"), ("small", "recent")]
    assert [(offer.name, offer.group) for offer in found] == names


def test_a_list_of_recent_models_that_is_none_is_nothing() -> None:
    for text in ("", "{", "[1, 2]", '{"a": 1}', "\xff"):
        (cache_folder()).mkdir(parents=True, exist_ok=True)
        (cache_folder() / RECENT).write_text(text, encoding="latin-1")
        assert recent() == []


def test_the_cards_are_filled_and_lead_to_their_views(browser: Browser) -> None:
    with serving(desk_of()) as address, watched(browser) as page:
        page.goto(f"{address}home")
        until(page, "document.querySelector('[data-card]') === null")
        assert page.locator(".card svg text").count() > 0
        assert page.locator(".wrong").count() == 0
        page.locator("#place").focus()
        page.keyboard.press("Shift+Tab")
        assert page.evaluate("document.activeElement.closest('.card') !== null")
        page.keyboard.press("Enter")
        page.wait_for_selector("main[data-level]")
        assert page.locator("main").get_attribute("data-level") in ("head", "lens")
