"""A run in a notebook: the stored page in a frame, and the live one before a kernel, both in a real browser."""

from __future__ import annotations

import base64
import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load

from glassformer.api.trace import trace
from glassformer.base.errors import ConfigError, MissingExtraError
from glassformer.look.trace.cell import Words
from glassformer.page.kernel import Kernel
from glassformer.page.page import built, document, page
from tests.look.rows import row_named, slides_trace
from tests.page.serving import ATTENTION
from tests.page.watched import watched
from tests.refusals import refused

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Page

NAME = f"{ATTENTION}.weights"
EVIL = "</iframe></script><img src=x onerror=\"document.title='broken'\"> &quot;"


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Page]:
    """A window without a network, in which nothing may go wrong."""
    with watched(browser, height=900, offline=True, idles=True) as page:
        yield page


# --------------------------------------------------------------------- stored


def test_a_notebook_shows_the_page_and_python_a_line() -> None:
    found = slides_trace(dtype=torch.float32)
    shown: Any = found.show(height=500, title="slides")
    assert repr(shown).startswith("<the page of Trace(")
    assert " MB, for a notebook" in repr(shown)
    bundle = shown._repr_mimebundle_(include=None, exclude=None)
    assert bundle == {"text/html": shown._repr_html_(), "text/plain": repr(shown)}
    frame = re.fullmatch(r'<iframe [^>]*height:500px[^>]* srcdoc="([^"]*)"></iframe>', bundle["text/html"])
    assert frame is not None
    assert html.unescape(frame[1]) == page(found, title="slides", megabytes=16)


def test_what_cannot_be_shown_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = slides_trace()
    for wrong in (0, None, "5", True, 1.5):
        for option in ("height", "megabytes"):
            with refused(ConfigError, got=repr(wrong)):
                found.show(**{option: wrong})  # type: ignore[arg-type]  # wrong on purpose
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with refused(MissingExtraError, do="glassformer[notebook]"):
        found.show(live=True)


def in_a_notebook(shown: str, file: Path) -> None:
    """What nbconvert makes of a cell that shows this."""
    file.write_text(f"<!doctype html><meta charset=utf-8><title>nb</title><p>above</p>{shown}<p>below</p>", "utf-8")


def follow(page: FrameLocator) -> None:
    """Open the number in hand, go to an operand, and back up by keys."""
    page.locator("canvas").first.focus()
    page.locator("canvas").first.press("Enter")
    article = page.locator("article")
    article.wait_for()
    link = article.locator("a[data-operand]").first
    operand = link.get_attribute("data-operand")
    link.click()
    page.locator(f'article[data-tensor="{operand}"]').wait_for()
    page.locator("body").press("Escape")
    page.locator("h1:not(article h1)").first.wait_for()


@pytest.mark.long
def test_the_stored_page_works_in_its_frame(window: Page, tmp_path: Path) -> None:
    found = slides_trace(dtype=torch.float32)
    shown: Any = found.show(title="slides")
    in_a_notebook(shown._repr_html_(), tmp_path / "nb.html")
    window.goto((tmp_path / "nb.html").as_uri())
    frame = window.frame_locator("iframe")
    count = sum(tensor.numel() for tensor in found.values())
    frame.locator(f'.foot [data-checked="{count}"][data-holds="true"]').wait_for()
    follow(frame)
    assert window.locator("p").all_inner_texts() == ["above", "below"]
    frame.get_by_role("button", name="Save", exact=True).click()
    frame.locator(".menu button").first.wait_for()
    assert "Link" not in frame.locator(".menu").inner_text()
    with window.expect_download() as waiting:
        frame.locator(".menu button").filter(has_text="HTML file").click()
    waiting.value.save_as(tmp_path / "saved.html")
    window.goto((tmp_path / "saved.html").as_uri())
    window.wait_for_selector(".frame")


def test_words_stay_words_in_a_notebook(window: Page, tmp_path: Path) -> None:
    row = row_named("bert")
    inputs, _ = row.batch(padding="none")
    words = Words(inputs=[[EVIL] * inputs.shape[1]] * inputs.shape[0], vocabulary=[EVIL])
    shown: Any = trace(row.model(dtype=torch.float32), inputs, words=words).show(title=EVIL)
    in_a_notebook(shown._repr_html_(), tmp_path / "nb.html")
    window.goto((tmp_path / "nb.html").as_uri())
    frame = window.frame_locator("iframe")
    frame.locator("canvas").first.wait_for()
    assert frame.locator("img").count() == window.locator("img").count() == 0
    assert window.locator("iframe").count() == 1
    assert window.title() == "nb"
    assert EVIL in frame.locator(".sentence").first.inner_text()


# --------------------------------------------------------------------- live


def asked(kernel: Kernel, path: str, wish: object = None, method: str = "") -> Any:
    """What the kernel answers, read as JSON."""
    body = b"" if wish is None else json.dumps(wish).encode()
    status, found = kernel.answer(method or ("GET" if wish is None else "POST"), path, body)
    return status, json.loads(found)


def test_the_kernel_sends_what_the_trace_has() -> None:
    found = slides_trace(dtype=torch.float32)
    kernel = Kernel(found, "slides")
    start = asked(kernel, "api/models")[1]["start"]
    status, run = asked(kernel, "api/runs", start)
    assert status == 200
    numbers = load(kernel.answer("GET", f"api/runs/{run['run']}/numbers")[1])
    assert set(numbers) == {*found, *found.facts}
    assert numbers[NAME].to(torch.float32).equal(found[NAME])
    assert asked(kernel, "api/models/slides/vocabulary")[1] == list(found.words.vocabulary)
    weights = load(kernel.answer("GET", "api/models/slides/weights")[1])
    assert {name: tuple(weight.shape) for name, weight in weights.items()} == {
        name: tuple(weight.shape) for name, weight in found.parameters.items()
    }
    stated = asked(kernel, f"api/runs/{run['run']}/explain?name={NAME}&cell=0,1,1,0")[1]
    assert stated["value"] == float(found[NAME][0, 1, 1, 0])
    assert asked(kernel, f"api/runs/{run['run']}/honesty")[1]["holds"] is True


def test_changes_by_hand_are_run_by_the_kernel() -> None:
    found = slides_trace(dtype=torch.float32)
    kernel = Kernel(found, "slides")
    start = asked(kernel, "api/models")[1]["start"]
    step = {"kind": "forbid", "attention": ATTENTION, "query": 1, "key": 0, "head": 1}
    status, run = asked(kernel, "api/runs", {**start, "steps": [step]})
    assert status == 200
    assert "forbid" in run["changes"]
    numbers = load(kernel.answer("GET", f"api/runs/{run['run']}/numbers")[1])
    assert float(numbers[NAME][0, 1, 1, 0]) == 0 != float(found[NAME][0, 1, 1, 0])


@pytest.mark.parametrize(
    ("method", "path", "wish", "status"),
    [
        ("GET", "api/nothing", None, 404),
        ("PATCH", "api/models", None, 405),
        ("GET", f"api/runs/{'0' * 32}/numbers", None, 404),
        ("POST", "api/runs", {"model": "slides", "texts": ["another"]}, 400),
        ("POST", "api/runs", ["no", "wish"], 400),
    ],
)
def test_what_the_kernel_refuses_is_a_sentence(method: str, path: str, wish: object, status: int) -> None:
    kernel = Kernel(slides_trace(dtype=torch.float32), "slides")
    found = asked(kernel, path, wish, method)
    assert found[0] == status
    assert set(found[1]["error"]) == {"text", "wanted", "got", "do"}


@pytest.mark.parametrize(
    "query", ["heads?attention=x", "picture?name=x&rows=0", "explain?name=x&cell=a", "tensor?name="]
)
def test_bad_questions_to_the_kernel_are_refused(query: str) -> None:
    kernel = Kernel(slides_trace(dtype=torch.float32), "slides")
    run = asked(kernel, "api/runs", asked(kernel, "api/models")[1]["start"])[1]["run"]
    status, found = asked(kernel, f"api/runs/{run}/{query}")
    assert status in (400, 404)
    assert found["error"]["text"]


# What anywidget does, in a few lines: a model that sends to Python and hears from it.
HOST = """
<!doctype html><meta charset=utf-8><title>nb</title><div id=cell></div>
<script type="application/json" id="page">PAGE</script>
<script type="module">
import widget from "data:text/javascript;base64,BUNDLE";
const heard = new Set();
const values = {page: JSON.parse(document.getElementById("page").textContent), height: 640, title: "live"};
const model = {
  get: name => values[name],
  on: (event, hear) => heard.add(hear),
  off: (event, hear) => heard.delete(hear),
  async send(content) {
    const [answer, bytes] = await window.toKernel(content);
    const buffer = Uint8Array.from(atob(bytes), letter => letter.charCodeAt(0));
    for (const hear of heard) hear(answer, [new DataView(buffer.buffer)]);
  },
};
window.end = widget.render({model, el: document.getElementById("cell")});
</script>
"""


def test_the_live_page_asks_the_kernel(window: Page, tmp_path: Path) -> None:
    found = slides_trace(dtype=torch.float32)
    kernel = Kernel(found, "slides")
    paths: list[str] = []

    def answer(content: dict[str, Any]) -> list[Any]:
        paths.append(content["path"])
        status, data = kernel.answer(content["method"], content["path"], content["body"].encode())
        stated = {"view": content["view"], "id": content["id"], "status": status}
        return [stated, base64.b64encode(data).decode()]

    window.expose_function("toKernel", answer)
    live = json.dumps(document("slides", {}, '<div id="explorer" data-host="kernel">')).replace("<", "\\u003c")
    bundle = base64.b64encode(built("explorer.js").encode()).decode()
    (tmp_path / "nb.html").write_text(HOST.replace("PAGE", live).replace("BUNDLE", bundle), "utf-8")
    window.goto((tmp_path / "nb.html").as_uri())
    frame = window.frame_locator("iframe")
    count = sum(tensor.numel() for tensor in found.values())
    frame.locator(f'.foot [data-checked="{count}"][data-holds="true"]').wait_for()
    follow(frame)
    assert "api/models" in paths
    window.evaluate("window.end()")
    assert window.locator("iframe").count() == 0


def test_the_widget_answers_its_page() -> None:
    pytest.importorskip("anywidget", reason="anywidget is not installed: pip install 'glassformer[notebook]'")
    found = slides_trace(dtype=torch.float32)
    shown: Any = found.show(live=True, title="slides", height=300)
    assert repr(shown).startswith("<the live page of Trace(")
    assert shown.height == 300
    assert 'data-host="kernel"' in shown.page
    sent: list[tuple[Any, Any]] = []
    shown.send = lambda content, buffers=None: sent.append((content, buffers))
    shown.answer(shown, {"view": "v", "id": 7, "method": "GET", "path": "api/models", "body": ""}, [])
    shown.answer(shown, "no request", [])
    ((content, (data,)),) = sent
    assert content == {"view": "v", "id": 7, "status": 200}
    assert json.loads(data)["start"]["model"] == "slides"
    assert "application/vnd.jupyter.widget-view+json" in json.dumps(shown._repr_mimebundle_())
