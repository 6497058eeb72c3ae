"""Changes made by hand in a real browser: by mouse and by keys, undone, in the address, as Python, live and alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

import glassformer as gf
from glassformer.api.model import Model
from glassformer.api.trace import Trace
from glassformer.bundled.texts import slides, slides_model
from tests.page.serving import desk_of, small_model
from tests.page.test_browser import show
from tests.page.test_server_browser import serving
from tests.page.watched import place_of, reach, turn, until, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ATTENTION = "encoder.blocks.0.self_attention"
WEIGHTS = f"{ATTENTION}.weights"
TEXTS = [sentence.masked for sentence in slides().sentences]


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Page]:
    """A window in which nothing may go wrong."""
    with watched(browser) as page:
        yield page


def shown(page: Page, name: str, index: str) -> float:
    """The number on the last level."""
    turn(page, with_number(place_of(page), name, index), anew=False)
    article = page.locator(f'article[data-tensor="{name}"][data-cell="{index}"]')
    article.wait_for()
    return float(article.get_attribute("data-value") or "nan")


def with_number(place: str, name: str, index: str) -> str:
    """The address of a number of the same run."""
    rest = "&".join(part for part in place.removeprefix("#").split("&") if re.match("changes=|model=", part))
    return f"level=number&tensor={name}&cell={index}&{rest}"


def listed(page: Page, count: int) -> list[str]:
    """The changes in the rail, once there are so many."""
    entries = page.locator(".changes li")
    until(page, "count => document.querySelectorAll('.changes li').length === count", count)
    return [text.splitlines()[0] for text in entries.all_inner_texts()]


def code_of(page: Page) -> str:
    """What "Copy as Python" copies."""
    return page.locator(".python pre").text_content() or ""


def run_code(code: str) -> dict[str, Any]:
    """The names that the copied code leaves; it is our own."""
    found: dict[str, Any] = {}
    exec(code, found)
    return found


def test_a_word_is_masked_and_a_look_forbidden_and_the_copied_code_gives_the_shown_numbers(
    window: Page, demo_page: Path
) -> None:
    reach(window, demo_page, f"tensor={WEIGHTS}&cell=0,1,2,0")
    window.locator("button.word", has_text="summer").click()
    window.get_by_role("button", name="Mask", exact=True).click()
    assert listed(window, 1) == ["text 1: summer → [MASK]"]
    window.keyboard.press("f")
    window.keyboard.press("l")
    assert listed(window, 3)[1:] == [
        "the → She forbidden in head 1, encoder block 0, self-attention",
        "encoder block 0, self-attention off",
    ]
    window.keyboard.press("u")
    listed(window, 2)
    expected = gf.load(slides_model()).trace(["She [MASK] [MASK] [MASK] better", *TEXTS[1:]])
    expected = expected.intervene(gf.forbid(ATTENTION, 2, 0, head=1))
    generator = torch.Generator().manual_seed(5)
    for name in ("head.probabilities", f"{ATTENTION}.mixed", WEIGHTS, "encoder.blocks.0.feed_forward.output"):
        cell = [int(torch.randint(size, (), generator=generator)) for size in expected[name].shape]
        value = shown(window, name, ",".join(map(str, cell)))
        assert abs(value - float(expected[name][tuple(cell)])) <= 1e-5
        made: Trace = run_code(code_of(window))["trace"]
        assert abs(value - float(made[name][tuple(cell)])) <= 1e-5
    # The weight of the forbidden look, and what the page says of the mask that was set.
    assert shown(window, WEIGHTS, "0,1,2,0") == 0
    assert shown(window, f"{ATTENTION}.may_look", "0,1,2,0") == 0
    assert "Set by hand: its formula would give 1" in window.locator("[data-set]").inner_text()


def test_the_address_holds_the_changes_and_back_undoes_them(window: Page, demo_page: Path) -> None:
    reach(window, demo_page, f"tensor={WEIGHTS}&cell=0,0,1,0")
    before = place_of(window)
    window.keyboard.press("h")
    assert listed(window, 1) == ["head 0 off, encoder block 0, self-attention"]
    address = demo_page.as_uri() + place_of(window)
    window.go_back()
    listed(window, 0)
    assert place_of(window) == before
    window.go_forward()
    listed(window, 1)
    window.goto("about:blank")
    window.goto(address)
    listed(window, 1)
    window.get_by_role("button", name="take back: head 0 off, encoder block 0, self-attention").press("Enter")
    listed(window, 0)
    until(window, "document.activeElement.closest('main') !== null")  # the button that had the focus is gone


def test_a_number_is_set_by_keys_alone_and_what_follows_from_it_is_shown(
    window: Page, demo_page: Path, demo: Trace
) -> None:
    name = f"{ATTENTION}.query"
    reach(window, demo_page, f"level=number&tensor={name}&cell=0,0,0,0")
    window.locator(".set input").focus()
    window.keyboard.type("−2,5")  # a true minus sign and a comma
    window.keyboard.press("Enter")
    window.locator("[data-set]").first.wait_for()
    assert shown(window, name, "0,0,0,0") == -2.5
    changed = demo.intervene(gf.set_number(name, (0, 0, 0, 0), -2.5))
    found = int(window.locator(".since[data-changed]").get_attribute("data-changed") or 0)
    others = sum(int((changed[each].double() - demo[each].double()).abs().gt(1e-5).sum()) for each in changed)
    assert 0 < others <= found <= others * 1.5


def test_words_are_put_in_and_left_out_and_the_changes_of_cells_go_with_them(window: Page, demo_page: Path) -> None:
    reach(window, demo_page, f"tensor={WEIGHTS}&cell=0,0,4,3&changes=forbid,{ATTENTION},0,0,4,3")
    assert listed(window, 1) == ["better → summer forbidden in head 0, encoder block 0, self-attention"]
    window.locator("button.word", has_text="She").click()
    window.get_by_role("button", name="Word after").click()
    window.keyboard.type("often")
    window.keyboard.press("Enter")
    found = listed(window, 2)
    assert "text 1: “often” put in" in found
    assert "better → summer forbidden in head 0, encoder block 0, self-attention" in found
    until(window, "moved => location.hash.includes(moved)", f"forbid,{ATTENTION},0,0,5,4")
    assert shown(window, WEIGHTS, "0,0,5,4") == 0


def test_undone_and_after_back_the_other_changes_are_where_they_were(window: Page, demo_page: Path) -> None:
    both = f"allow,{ATTENTION},0,0,2,1;allow,{ATTENTION},0,0,3,2"
    window.goto("about:blank")  # nothing has been done that could be undone
    reach(window, demo_page, f"tensor={WEIGHTS}&cell=0,0,4,3&changes={both}")
    before = listed(window, 2)
    window.locator("button.word", has_text="She").click()
    window.get_by_role("button", name="Word after").click()
    window.keyboard.type("often")
    window.keyboard.press("Enter")
    listed(window, 3)
    until(window, "moved => location.hash.includes(moved)", "0,0,4,3")
    window.locator("body").press("u")
    assert listed(window, 2) == before
    window.locator("body").press("l")
    listed(window, 3)
    window.go_back()
    assert listed(window, 2) == before
    window.locator("body").press("u")  # of a page that came with changes the last one, and not the layer again
    assert listed(window, 1) == before[:1]


def test_what_an_address_says_wrongly_is_reported_and_the_page_stands(window: Page, demo_page: Path) -> None:
    show(window, demo_page, "changes=text,0,She <img onerror%3Dalert(1)> it;nonsense;forbid,no.attention,0,0,0,0")
    window.locator(".told").first.wait_for()  # its part of the script is fetched first
    message = " ".join(window.locator(".told").all_inner_texts())
    assert "“<img” is none of this model’s 15 words" in message
    assert "“nonsense”" in message
    assert "no attention no.attention" in message


@pytest.mark.long
def test_zeroing_after_the_position_makes_two_words_the_same(window: Page, demo_page: Path) -> None:
    steps = ";".join(f"set,encoder.embed.sum,0,{place}" for place in ("0.1", "0.2", "1.3", "2.4"))
    reach(window, demo_page, f"tensor={WEIGHTS}&cell=0,0,1,0&changes={steps}")
    listed(window, 4)
    for word in range(15):
        assert shown(window, "head.probabilities", f"0,{word}") == shown(window, "head.probabilities", f"1,{word}")


def test_the_live_page_chooses_a_model_and_reads_another_text(window: Page, tmp_path: Path) -> None:
    folder = small_model(tmp_path)
    desk = desk_of(folder)
    with serving(desk) as address:
        window.goto(address)
        window.locator(".choose select").select_option("small")
        window.get_by_role("link", name="block 0", exact=True).click()  # of a larger model the whole comes first
        window.locator("button.word").nth(6).wait_for()
        window.get_by_role("button", name="Write another text").click()
        window.keyboard.press("Control+a")
        window.keyboard.type("He loves the [MASK]; <b>winter</b>, too.")
        window.keyboard.press("Enter")
        assert listed(window, 1) == ["text 1: He loves the [MASK]; <b>winter</b>, too."]
        window.keyboard.press("h")
        listed(window, 2)
        until(window, lambda: any(run.trace.interventions for run in desk.runs.values()))  # the list is there before it
        (run,) = (run for run in desk.runs.values() if run.trace.interventions)
        assert len(run.trace.interventions) == 1
        head = int(place_of(window).partition("cell=")[2].split(",")[1])  # that of the number in hand
        until(window, lambda: shown(window, f"{ATTENTION}.mixed", f"0,{head},2,1") == 0)
        other = [0, 1 - head, 2, 1]
        value = shown(window, f"{ATTENTION}.mixed", ",".join(map(str, other)))
        assert value == float(run.trace[f"{ATTENTION}.mixed"][tuple(other)])
        assert "[MASK]" in code_of(window)
        window.goto("about:blank")


@pytest.mark.long
def test_a_link_to_a_view_of_another_model_opens_that_view(window: Page, tmp_path: Path) -> None:
    with serving(desk_of(small_model(tmp_path))) as address:
        window.goto(address)
        window.locator("button.word").first.wait_for()
        window.evaluate("location.hash = 'level=heads&model=small'")
        until(window, lambda: window.locator(".choose select").input_value() == "small")
        assert "level=heads" in place_of(window)
        assert window.locator("main").get_attribute("data-level") == "heads"
        window.locator(".choose select").select_option(index=0)  # who chooses a model begins with the whole of it
        until(window, lambda: window.locator("main").get_attribute("data-level") == "block")
        window.goto("about:blank")


@pytest.mark.long
def test_a_slow_run_is_shown_and_can_be_stopped(window: Page) -> None:
    desk = desk_of()
    with serving(desk) as address:
        window.goto(address)
        window.locator("button.word").first.wait_for()
        held: list[Any] = []
        asking = re.compile(r"/api/runs(\?|$)")
        window.route(asking, lambda route: held.append(route))
        window.keyboard.press("h")
        window.locator(".busy-says button").wait_for()
        assert "Running the text through slides" in window.locator(".busy-says").inner_text()
        assert window.locator(".sentence").count() > 0
        window.locator(".busy-says button").focus()
        window.keyboard.press("Enter")
        until(window, "document.activeElement.matches('canvas')")  # the button is gone
        window.locator(".told").wait_for()
        until(window, "!location.hash.includes('changes=')")
        listed(window, 0)
        window.unroute(asking)
        window.goto("about:blank")


def test_a_page_that_is_too_large_names_the_command(window: Page, english: Model, tmp_path: Path) -> None:
    found = english.trace("She likes the [MASK].")
    path = tmp_path / "english.html"
    found.to_html(path)
    show(window, path, f"level=tensor&tensor={WEIGHTS}&cell=0,0,1,0")
    window.locator(".inspector .code").first.wait_for()
    stated = window.locator(".inspector").inner_text()
    assert "glassformer explore english 'She likes the [MASK].'" in stated


def middle_of(page: Page, place: str) -> tuple[float, float]:
    """Where a cell of the tensor's grid is, once it is in hand."""
    turn(page, place, anew=False)
    frame = page.locator(".main .frame-of-cell").last
    frame.wait_for()
    box = frame.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def dragged(page: Page, start: str, end: str, *, shift: bool = False) -> None:
    """One cell of a grid dragged onto another."""
    to, at = middle_of(page, end), middle_of(page, start)
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move((at[0] + to[0]) / 2, (at[1] + to[1]) / 2, steps=3)
    page.mouse.move(*to, steps=3)
    page.locator(".foot", has_text="Drop it on another cell").wait_for()
    if shift:
        page.keyboard.down("Shift")
    page.mouse.up()
    if shift:
        page.keyboard.up("Shift")


@pytest.mark.long
def test_a_number_and_a_row_are_dragged_onto_another_word(window: Page, demo_page: Path, demo: Trace) -> None:
    name = f"{ATTENTION}.query"
    grid = f"level=tensor&tensor={name}&cell="
    reach(window, demo_page, f"{grid}0,0,1,0")
    dragged(window, f"{grid}0,0,1,0", f"{grid}0,0,3,2")
    listed(window, 1)
    patched = demo.intervene(gf.set_number(name, (0, 0, 3, 2), float(demo[name][0, 0, 1, 0])))
    assert shown(window, name, "0,0,3,2") == pytest.approx(float(demo[name][0, 0, 1, 0]), abs=1e-9)
    for cell in ((0, 0, 3, 1), (0, 1, 3, 2), (2, 0, 3, 0)):
        found = shown(window, f"{ATTENTION}.mixed", ",".join(map(str, cell)))
        assert found == pytest.approx(float(patched[f"{ATTENTION}.mixed"][cell]), abs=1e-5)
    window.locator("body").press("u")
    listed(window, 0)

    wide = demo[name].shape[-1]
    address = f"level=tensor&tensor={name}&cell="
    turn(window, f"{address}0,0,1,0", anew=False)
    dragged(window, f"{address}0,0,1,0", f"{address}0,0,3,2", shift=True)
    listed(window, wide)
    for channel in range(wide):
        found = shown(window, name, f"0,0,3,{channel}")
        assert found == pytest.approx(float(demo[name][0, 0, 1, channel]), abs=1e-9)
    # One change made them all.
    window.locator("body").press("u")
    listed(window, 0)


def test_a_row_of_another_sentence_is_put_in_by_keys(window: Page, demo_page: Path, demo: Trace) -> None:
    name = f"{ATTENTION}.value"
    wide = demo[name].shape[-1]
    reach(window, demo_page, f"level=tensor&tensor={name}&cell=1,0,2,1")
    window.locator("main canvas[tabindex]").last.focus()
    window.keyboard.press("c")
    turn(window, f"level=tensor&tensor={name}&cell=0,0,0,0", anew=False)
    window.get_by_role("button", name="Put its row of").wait_for()
    window.keyboard.press("V")
    listed(window, wide)
    for channel in range(wide):
        assert shown(window, name, f"0,0,0,{channel}") == pytest.approx(float(demo[name][1, 0, 2, channel]), abs=1e-9)
    # What no formula works out cannot be set, and the page says so.
    turn(window, with_number(place_of(window), "inputs.ids", "0,1"), anew=False)
    window.locator('article[data-tensor="inputs.ids"]').wait_for()
    window.keyboard.press("v")
    window.locator(".told").first.wait_for()
    assert "cannot be set" in " ".join(window.locator(".told").all_inner_texts())
    listed(window, wide)


def test_a_drag_that_is_left_changes_nothing_and_a_click_stays_a_click(window: Page, demo_page: Path) -> None:
    grid = f"level=tensor&tensor={ATTENTION}.query&cell="
    reach(window, demo_page, f"{grid}0,0,1,0")
    to, at = middle_of(window, f"{grid}0,0,3,2"), middle_of(window, f"{grid}0,0,1,0")
    window.mouse.move(*at)
    window.mouse.down()
    window.mouse.move(*to, steps=4)
    window.get_by_text("Escape: leave it").wait_for()  # a browser hears of the mouse once a frame
    window.keyboard.press("Escape")
    window.mouse.up()
    assert "level=tensor" in place_of(window)
    listed(window, 0)
    window.mouse.click(*to)
    window.wait_for_url("**cell=0,0,3,2**")
    assert listed(window, 0) == []
