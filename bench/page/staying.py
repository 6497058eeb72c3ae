"""A page that is open for long, and many pages at once."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from bench.page.models import Models, Served, text_of
from bench.page.opening import BASE, served_cells
from bench.page.views import VIEWS
from bench.page.window import Case, Samples, late, show, window
from bench.page_server import memory, processor_seconds

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Goes from number to number, one a second, and reports how long each took to be explained.
FOLLOW = """async ({ places, seconds, seed }) => {
  const random = probe.random(seed + 1);
  const times = [];
  const end = performance.now() + seconds * 1000;
  await probe.sleep(random() * 1000);
  while (performance.now() < end) {
    const place = places[Math.floor(random() * places.length)];
    const cell = new URLSearchParams(place).get("cell") ?? "";
    const tensor = new URLSearchParams(place).get("tensor");
    const began = performance.now();
    const there = new Promise((resolve) => {
      const here = () => document.querySelector(`article[data-tensor="${tensor}"][data-cell="${cell}"]`) !== null;
      // Fifty pages that looked every 4 ms would keep a processor busy with looking.
      const observer = new MutationObserver(() => { if (here()) { observer.disconnect(); resolve(); } });
      observer.observe(document, { subtree: true, childList: true, attributeFilter: ["data-tensor", "data-cell"] });
    });
    location.hash = place;
    await Promise.race([there, probe.sleep(20000)]);
    times.push(performance.now() - began);
    await probe.sleep(Math.max(0, 1000 - (performance.now() - began)));
  }
  return times;
}"""

# An hour in a hurry: random numbers, their tensors, and every view, one after the other; at the end the same view each
# time, so that what is counted then is not what that view happens to need.
WANDER = """async ({ places, home, count, seed }) => {
  const random = probe.random(seed + 11);
  for (let step = 0; step < count; step++) {
    location.hash = places[Math.floor(random() * places.length)];
    await probe.sleep(2);
    const canvas = document.querySelector("main canvas");
    if (canvas !== null) {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      const at = { clientX: left + random() * width, clientY: top + random() * height, bubbles: true };
      canvas.dispatchEvent(new MouseEvent("mousemove", at));
      canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    }
    if (step % 10 === 9) await probe.settled(5);
  }
  location.hash = home;
  await probe.sleep(1000);
  await probe.settled(5);
}"""


def pages(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """Fifty windows on one server, each looking at a number a second: what a click waits for in all of them, and what
    the server's answers take where no browser shares the processor with it.
    """
    served = models.serve(BASE, text_of(128))
    places = served_cells(served, 200)
    times: list[float] = []
    with window(browser) as first:
        context = first.context
        all_pages: list[Page] = [first, *(context.new_page() for _ in range(samples.pages - 1))]
        for page in all_pages:
            page.goto(f"{served.address}#{places[0]}", wait_until="commit")
        for page in all_pages:
            page.wait_for_selector("article", timeout=120_000)
        for seed, page in enumerate(all_pages):
            script = f"(given) => {{ globalThis.followed = ({FOLLOW})(given); }}"
            page.evaluate(script, {"places": places, "seconds": samples.seconds, "seed": seed})
        for page in all_pages:
            times += page.evaluate("() => globalThis.followed")
    return [
        late(f"{samples.pages} pages open, each explains a number a second", times, 300.0),
        Case("memory of the server with them", memory(served.process), "MB"),
        alone(served, samples.pages, samples.seconds),
    ]


def alone(served: Served, clients: int, seconds: int) -> Case:
    """As many clients without a window, each asking for the terms of a number a second; their answers."""
    address = urlsplit(served.address)
    times: list[float] = []

    async def client(seed: int) -> None:
        await asyncio.sleep(random.Random(seed).random())
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        for name, cell in served.cells(seconds, seed):
            began = time.perf_counter()
            path = f"{address.path}api/runs/{served.overview['run']}/explain?name={quote(name)}&cell={quote(cell)}"
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAccept-Encoding: gzip\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
            took = time.perf_counter() - began
            times.append(1000 * took)
            await asyncio.sleep(max(0.0, 1 - took))
        writer.close()

    async def all_of_them() -> None:
        await asyncio.gather(*(client(seed) for seed in range(1, clients + 1)))

    used = processor_seconds(served.process)
    # The driver of the browser has a loop of its own in this thread.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, all_of_them()).result()
    each = 1000 * (processor_seconds(served.process) - used) / len(times)
    what = f"the server alone, {clients} clients, each a number a second: its answers"
    return late(what, times, 100.0, processor_ms_each=round(each, 2))


def memory_of_an_hour(browser: Browser, models: Models, samples: Samples) -> list[Case]:
    """As much as a person does in an hour, in a minute: the page's objects after each part, and the server's memory.

    The browser goes on compiling what is used often for half an hour. That is no leak of the page's, so that both are
    reported and held to the goal: what the page itself holds, and that with the code.
    """
    cases = []
    for what, size, text in (("the slides' model", "slides", None), (f"{BASE}, 128 words", BASE, text_of(128))):
        served = models.serve(size, text)  # one at a time: the one before is stopped
        places = [*served_cells(served, 100), *(view.place for view in VIEWS)] * 2
        places += [place.replace("level=number", "level=tensor") for place in served_cells(served, 60)]
        with window(browser) as page:
            show(page, served.address, places[0])
            heap, code, nodes, server = list[float](), list[float](), list[float](), list[float]()
            for part in range(samples.parts + 1):
                count = samples.interactions // samples.parts
                page.evaluate(WANDER, {"places": places, "home": places[0], "count": count, "seed": part})
                held = objects(page)
                heap.append(held["heap"] / 1e6)
                code.append(held["code"] / 1e6)
                nodes.append(held["nodes"])
                server.append(memory(served.process))
        # The first part fills what is kept on purpose; a leak would go on.
        own = [every - compiled for every, compiled in zip(heap, code, strict=True)]
        for kind, values in (
            ("objects of the page, without compiled code", own),
            ("objects of the page and the code that the browser compiled", heap),
            ("memory of the server", server),
        ):
            cases.append(growth(f"{what}: {kind}, growth from the second quarter to the last", values[1:], "MB"))
        cases.append(growth(f"{what}: elements of the page, growth", nodes[1:], "elements"))
    return cases


def growth(what: str, values: list[float], unit: str) -> Case:
    """By how much the last quarter's median exceeds that of the second, as a share of it."""
    quarter = len(values) // 4
    second, last = statistics.median(values[quarter : 2 * quarter]), statistics.median(values[-quarter:])
    more = {"values": [round(value, 1) for value in values], "of": unit}
    return Case(what, 100 * (last - second) / second, "%", 5.0, more)


def objects(page: Page) -> dict[str, Any]:
    """The bytes in use after the collector has been, how many of them are code that the browser compiled, with what
    belongs to it, and the number of elements.
    """
    session = page.context.new_cdp_session(page)
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    chunks: list[str] = []
    session.on("HeapProfiler.addHeapSnapshotChunk", lambda event: chunks.append(event["chunk"]))
    session.send("HeapProfiler.takeHeapSnapshot", {"reportProgress": False})
    held = {
        "heap": session.send("Runtime.getHeapUsage")["usedSize"],
        "code": compiled(json.loads("".join(chunks))),
        "nodes": session.send("Memory.getDOMCounters")["nodes"],
    }
    session.detach()
    return held


def compiled(snapshot: dict[str, Any]) -> int:
    """The bytes of a heap snapshot that are code and what belongs to it."""
    meta, nodes = snapshot["snapshot"]["meta"], snapshot["nodes"]
    names, kinds = meta["node_fields"], meta["node_types"][0]
    step, kind, size = len(names), names.index("type"), names.index("self_size")
    code = kinds.index("code")
    return sum(nodes[at + size] for at in range(0, len(nodes), step) if nodes[at + kind] == code)
