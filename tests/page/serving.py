"""A server of tiny models, asked as a page asks it."""

import asyncio
import json
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import load as read_tensors
from starlette.testclient import TestClient
from torch import Tensor

from glassformer.api.model import Model
from glassformer.bundled.texts import slides, slides_model
from glassformer.models.families import modernbert
from glassformer.models.transformer import build
from glassformer.page.server.app import application
from glassformer.page.server.asked import Asked
from glassformer.page.server.desk import Desk
from glassformer.page.server.offers import Models, Offer
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.text.train import train_tokenizer

TOKEN = "a-token"
HOST = "http://127.0.0.1:8000"
SENTENCES = tuple(sentence.masked for sentence in slides().sentences)
ATTENTION = "encoder.blocks.0.self_attention"
TEXTS = ["She likes the summer better than the winter.", "He loves to cook healthy food."] * 9


def small_model(folder: Path, *, layers: int = 2) -> Path:
    """An encoder with fresh weights, saved."""
    tokenizer = train_tokenizer("wordpiece", TEXTS, vocabulary=80)
    module = build(modernbert(size="tiny", layers=layers, vocabulary=tokenizer.vocabulary_size), seed=1)
    return Model(module, tokenizer, task=MaskedLMSection(), length=64).save(folder / "small")


@dataclass
class Page:
    """Asks the server as its page does."""

    client: TestClient
    desk: Desk
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **query: str | int) -> Any:
        """What comes back for an address below the token."""
        return self.client.get(f"/{TOKEN}/{path}", params=query, headers=self.headers)

    def post(self, body: bytes | str | object) -> Any:
        """What comes back for a wish, given as bytes or as what JSON holds."""
        content = body if isinstance(body, bytes | str) else json.dumps(body)
        return self.client.post(f"/{TOKEN}/api/runs", content=content, headers=self.headers)

    def overview(self, model: str = "slides", texts: tuple[str, ...] = SENTENCES, **more: object) -> dict[str, Any]:
        """The overview of a run."""
        answer = self.post({"model": model, "texts": texts, **more})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def tensors(self, path: str, **query: str | int) -> dict[str, Tensor]:
        """An answer in tensors."""
        answer = self.get(path, **query)
        assert answer.status_code == 200, answer.text
        return read_tensors(answer.content)

    def error(self, answer: Any, status: int) -> dict[str, str]:
        """The sentence of a refusal."""
        assert answer.status_code == status, answer.text
        found = answer.json()["error"]
        assert set(found) == {"text", "wanted", "got", "do"}
        assert "\n" not in found["text"]
        assert "Traceback" not in found["text"]
        return dict(found)


def limited(desk: Desk, **limits: Any) -> Desk:
    """The desk with other limits than the usual ones."""
    for name, limit in limits.items():
        assert hasattr(desk, name)
        setattr(desk, name, limit)
    return desk


def desk_of(*folders: Path, **limits: Any) -> Desk:
    """A desk that offers the slides' model and those in the folders."""
    others = (Offer(folder.name, folder, tuple(TEXTS[:1])) for folder in folders)
    return limited(Desk(Models([Offer("slides", slides_model(), SENTENCES), *others], device="cpu")), **limits)


@contextmanager
def served(desk: Desk, start: Asked | None = None, **guard: Any) -> Iterator[Page]:
    """A page before a desk, which begins with the slides' sentences; `guard` are other limits."""
    app = application(desk, TOKEN, start or Asked(model="slides", texts=SENTENCES), guard)
    with TestClient(app, base_url=HOST) as client:
        yield Page(client, desk)


Result = TypeVar("Result")


def run(scene: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine returns, in a thread of its own: a browser test leaves the loop of its driver in this one."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, scene).result()
