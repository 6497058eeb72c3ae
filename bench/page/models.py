"""The models whose pages are measured, each served by a process of its own, and pages as files."""

import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.masked_lm import vocabulary
from bench.page_server import WORDS, ask
from glassformer.api.model import Model
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.tasks.words.masked_lm.task import MaskedLMSection

LONGEST = 2048
SIZES: dict[str, dict[str, Any]] = {
    "BERT-base size": {},  # 12 layers of 768, 12 heads, 30,522 tokens, as BERT has them
    "6 layers of 384": {"layers": 6, "width": 384, "heads": 12, "feed_forward": 1536},
}


def text_of(tokens: int) -> str:
    """A text of so many tokens, one of them hidden; the model puts one before it and one after it."""
    rng = random.Random(tokens)
    words = [rng.choice(WORDS) for _ in range(tokens - 2)]
    words[(tokens - 2) // 2] = "[MASK]"
    return " ".join(words)


@dataclass
class Served:
    """A page that is served, its process, and what the page knows of its run."""

    address: str
    process: int
    model: str
    overview: dict[str, Any]

    def cells(self, count: int, seed: int = 1) -> list[tuple[str, str]]:
        """Random cells of random tensors."""
        rng = random.Random(seed)
        shapes = self.overview["shapes"]
        names = [rng.choice(sorted(shapes)) for _ in range(count)]
        return [(name, ",".join(str(rng.randrange(size)) for size in shapes[name])) for name in names]


class Models:
    """The models, made when they are first needed, one of them served at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.serving: tuple[tuple[str, str], Served, subprocess.Popen[str]] | None = None

    def place(self, size: str) -> str:
        """The folder of a model of this size, with random weights; a name of the package stands for itself."""
        if size not in SIZES:
            return size
        place = self.folder / size.replace(" ", "-")
        if not place.exists():
            tokenizer = vocabulary()
            module = build(bert(vocabulary=tokenizer.vocabulary_size, max_length=LONGEST, **SIZES[size]), seed=1)
            Model(module, tokenizer, task=MaskedLMSection(), length=LONGEST).save(place)
        return str(place)

    def serve(self, size: str, text: str | None = None) -> Served:
        """That model's page, with this text."""
        wanted = (size, text or "")
        if self.serving is not None and self.serving[0] == wanted:
            return self.serving[1]
        self.stop()
        given = [] if size == "slides" else [self.place(size), *([] if text is None else [text])]
        command = [sys.executable, "-m", "glassformer", "explore", *given, "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())["address"]
        start = json.loads(ask(address, "api/models"))["start"]
        served = Served(address, process.pid, start["model"], json.loads(ask(address, "api/runs", start)))
        self.serving = (wanted, served, process)
        return served

    def file(self, name: str) -> Path:
        """A page as a file: of the slides' three sentences, or of the package's model."""
        place = self.folder / f"{name}.html"
        if not place.exists():
            from glassformer.api.load import load
            from glassformer.bundled.texts import slides, slides_model

            texts = [sentence.masked for sentence in slides().sentences]
            if name == "slides":
                load(slides_model()).trace(texts).to_html(place, title=name)
            else:
                load(name).trace("The animal didn't cross the [MASK] because it was too tired.").to_html(place)
        return place

    def stop(self) -> None:
        """End the process that serves."""
        if self.serving is not None:
            self.serving[2].terminate()
            self.serving[2].wait()
            self.serving = None


@contextmanager
def models() -> Iterator[Models]:
    """The models, in a folder that is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="bench-page-"))
    made = Models(folder)
    try:
        yield made
    finally:
        made.stop()
        shutil.rmtree(folder)
