"""How long the page takes to follow the mouse, the keys, a click on a number, a changed word."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bench.page.models import Models, text_of
from bench.page.opening import BASE, served_cells
from bench.page.views import VIEWS
from bench.page.window import SIZE, Case, Samples, late, middle, p95, settle, show, window
from bench.page_server import WORDS, ask

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARROWS = ("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight")

# Clicks random links to numbers, as many as are asked for; where there is none it goes to the next of the given places.
CLICK = """async ({ places, count }) => {
  const random = probe.random(7);
  const took = { explained: [], drawn: [] };
  const until = (place) => {
    const wanted = new URLSearchParams(place);
    const [tensor, cell] = [wanted.get("tensor"), wanted.get("cell") ?? ""];
    const there = () => document.querySelector(`.headline[data-number="${tensor}"][data-at="${cell}"]`) !== null;
    return new Promise((resolve, reject) => {
      if (there()) { resolve(); return; }
      const watch = new MutationObserver(() => { if (there()) { watch.disconnect(); resolve(); } });
      watch.observe(document, { subtree: true, childList: true, attributes: true });
      setTimeout(() => reject(new Error(`not explained within 20 s: ${place}`)), 20000);
    });
  };
  for (let done = 0; done < count; done++) {
    if (done % 6 === 0) {
      const place = places[(done / 6) % places.length];
      location.hash = place;
      await until(place);
      await probe.settled();
    }
    const links = [...document.querySelectorAll('.inspector a[href*="level=number"], article a[data-operand]')];
    const link = links[Math.floor(random() * links.length)];
    if (link === undefined) continue;
    const began = performance.now();
    const arrived = until(link.hash.slice(1));
    link.click();
    await arrived;
    took.explained.push(performance.now() - began);
    const { picture } = await probe.settled();
    took.drawn.push(picture - began);
  }
  return took;
}"""


def hover(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """The mouse over a random cell, and arrow keys, until the picture has followed; each view at 128 and 512 words.

    A time runs from where the page is given the input: a move of the mouse is kept by Chromium until its next frame,
    up to 17 ms, which the last row shows for a page that does nothing.
    """
    cases = []
    for words, goal in ((128, 16.0), (512, 33.0)):
        served = models.serve(BASE, text_of(words))
        for view in VIEWS:
            if words > view.longest or view.level == "number":
                continue
            with window(browser) as page:
                if not view.show(page, served):
                    cases.append(
                        Case(f"{view.level}, {words} words", None, goal=goal, more={"why": "no such level yet"})
                    )
                    continue
                cases.append(
                    followed(f"{view.level}, {words} words: mouse", pointed(page, view.picture, samples.moves), goal)
                )
                cases.append(
                    followed(f"{view.level}, {words} words: arrow key", pressed(page, view.picture, samples.keys), goal)
                )
    with window(browser) as page:
        page.set_content('<main style="height: 700px"></main>')
        page.evaluate("() => addEventListener('mousemove', () => { probe.picture = performance.now(); })")
        cases.append(followed("an empty page: mouse", moved(page, SIZE, samples.moves), None))
    return cases


Times = list[tuple[float, float]]
"""Milliseconds from where the browser gave an input to the page, and from where the input came, to the picture."""


def followed(what: str, found: Times, goal: float | None) -> Case:
    """What the page takes; and the same with the time that Chromium keeps a move of the mouse for a frame."""
    since = p95([since_input for _, since_input in found]) if found else 0.0
    return late(what, [taken for taken, _ in found], goal, with_the_wait_for_a_frame=round(since, 3))


def pointed(page: Page, picture: str, moves: int) -> Times:
    """Times until a picture has followed the mouse; moves over nothing are not counted."""
    canvas = page.locator(picture).last
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    if box is None:
        return []
    return moved(page, {**box, "height": min(box["height"], 700 - box["y"])}, moves)


def moved(page: Page, area: Mapping[str, float], moves: int) -> Times:
    """The mouse at random places of an area."""
    rng = random.Random(3)
    found: Times = []
    last = settle(page)["began"]
    for _ in range(2 * moves):
        x, y = (area.get(at, 0.0) + rng.random() * area[size] for at, size in (("x", "width"), ("y", "height")))
        page.mouse.move(x, y)
        times = settle(page)
        if times["picture"] > times["began"] > last:
            found.append((times["picture"] - times["given"], times["picture"] - times["began"]))
        last = times["began"]
        if len(found) == moves:
            break
    return found


def pressed(page: Page, picture: str, keys: int) -> Times:
    """Times until a picture has followed an arrow key."""
    rng = random.Random(4)
    page.locator(picture).last.focus()
    found: Times = []
    for _ in range(keys):
        page.keyboard.press(rng.choice(ARROWS))
        times = settle(page)
        if times["picture"] > times["began"]:
            found.append((times["picture"] - times["given"], times["picture"] - times["began"]))
    return found


def explain(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """A click on a number until it is explained (what it means, its formula with its largest terms, whether it holds),
    and until its bars and its table are drawn, one task later.
    """
    cases = []
    served = models.serve(BASE, text_of(128))
    pages = [
        ("served, BERT-base size, 128 words", served.address, served_cells(served, 40), 30.0),
        ("in the page, the slides' model", models.file("slides").as_uri(), [*PLACES, *ANSWERS["slides"]], 5.0),
        ("in the page, `english`", models.file("english").as_uri(), [*PLACES, *ANSWERS["english"]], 5.0),
    ]
    for what, address, places, goal in pages:
        with window(browser) as page:
            show(page, address, places[0])
            page.evaluate(CLICK, {"places": places, "count": 12})  # what is compiled at its first use
            took = page.evaluate(CLICK, {"places": places, "count": samples.clicks})
            cases.append(late(f"{what}: explained", took["explained"], goal))
            cases.append(late(f"{what}: all of it drawn", took["drawn"], None))
    with window(browser) as page:
        cases.append(vocabulary(page, models, samples))
    return cases


# What both models have; the slides' has no feed-forward part, and the two give their answers in two ways.
PLACES = [
    f"level=number&tensor=encoder.blocks.0.self_attention.{name}&cell={cell}"
    for name, cell in (
        ("weights", "0,1,2,0"),
        ("mixed", "0,1,2,1"),
        ("output", "0,1,2"),
        ("residual", "0,2,1"),
        ("query", "0,1,1,3"),
    )
]
ANSWERS = {
    "slides": ["level=number&tensor=head.logits&cell=0,3", "level=number&tensor=head.probabilities&cell=0,2"],
    "english": [
        "level=number&tensor=encoder.blocks.0.feed_forward.residual&cell=0,2,1",
        "level=number&tensor=head.logits&cell=0,3",
        "level=number&tensor=head.probabilities&cell=0,2",
    ],
}


def vocabulary(page: Page, models: Models, samples: Samples) -> Case:
    """A softmax over 8,000 words, worked out in the page: the longest sum that it meets."""
    show(page, models.file("english").as_uri(), ANSWERS["english"][-1])
    script = """async (count) => {
      const times = [];
      for (let step = 0; step < count; step++) {
        const place = `level=number&tensor=head.probabilities&cell=0,${40 + step}`;
        const began = performance.now();
        location.hash = place;
        await new Promise((resolve) => {
          const there = () => document.querySelector(`.headline[data-at="0,${40 + step}"]`) !== null;
          const watch = new MutationObserver(() => { if (there()) { watch.disconnect(); resolve(); } });
          watch.observe(document, { subtree: true, childList: true, attributes: true });
        });
        times.push(performance.now() - began);
        await probe.settled();
      }
      return times.slice(5);
    }"""
    times = page.evaluate(script, 5 + samples.clicks)
    return late("in the page, a softmax over 8,000 words: explained", times, 5.0)


def change_word(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """Another word in a text until the server has described the run, without its numbers; and until its picture is
    drawn, where the page can be edited.
    """
    cases = []
    for size, goal in (("6 layers of 384", 200.0), (BASE, 500.0)):
        served = models.serve(size, text_of(32))
        rng = random.Random(9)
        times = []
        for _ in range(samples.runs):
            words = text_of(32).split()
            words[rng.randrange(10)] = rng.choice(WORDS)
            began = time.perf_counter()
            ask(served.address, "api/runs", {"model": served.model, "texts": [" ".join(words)]})
            times.append(1000 * (time.perf_counter() - began))
        cases.append(middle(f"{size}, 32 words: the run is told", times, goal))
        with window(browser) as page:
            # No two of them are the same run.
            new = [word for word in WORDS if word != text_of(32).split()[0]][: samples.runs + 1]
            cases.append(edited(page, served.address, f"{size}, 32 words: the picture stands", goal, new))
    with window(browser) as page:
        address = models.file("slides").as_uri()
        new = ["summer", "better"] * samples.runs
        cases.append(edited(page, address, "the slides' model in the page: the picture stands", 16.0, new))
    return cases


# A word that can be changed by hand, and the field that it becomes.
WORD, FIELD = ".sentence button.word", ".sentence input.word"

# From the Enter key to the picture of the run with the new word: the one before stays until the run is there.
CHANGED = """async (word) => {
  const there = () => document.querySelector(".sentence button.word")?.textContent === word;
  for (let turn = 0; turn < 4000 && !there(); turn++) await probe.sleep(5);
  if (!there()) throw new Error(`the page does not show ${word} after 20 s`);
  const { began, picture } = await probe.settled();
  return picture - began;
}"""


def edited(page: Page, address: str, what: str, goal: float, words: Sequence[str]) -> Case:
    """A word typed over by hand with one after the other of `words`, from the Enter key until the picture stands."""
    show(page, address, "level=block")
    found = []
    for word in words:
        page.locator(WORD).first.click()
        page.locator(FIELD).fill(word)
        settle(page)
        page.keyboard.press("Enter")
        found.append(page.evaluate(CHANGED, word))
    return middle(what, found[1:], goal)
