"""The row `text`: each architecture reads 256 tokens of a book and writes the next 32; the same minutes for each.

N tokens of a text · B rows · S tokens of the source · T tokens of the target · W width
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.plain_loop import Recipe, Time, facts_of, train_plainly
from experiments.recurrent.models import made
from experiments.results import data_directory
from experiments.writing.plan import HELD_OUT
from glassformer.data.batches.batch import Integers
from glassformer.data.settings import CorpusSection
from glassformer.data.stores.corpus import prepare, training_texts
from glassformer.scoring.score import Measure, Reals
from glassformer.tasks.writing.language_model.task import NextTokens, stream_of
from glassformer.text.load import load_tokenizer
from glassformer.text.special import GPT2
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer

SOURCE, TARGET, BATCH, WIDTH, LAYERS, VOCABULARY = 256, 32, 16, 128, 2, 4000
# Windows of the held-out book on which the loss and the gradients are measured.
MEASURED, LOOKED_AT = 256, 64
# Tokens that are written to time it, for how many texts at once, how often.
WRITTEN, AT_ONCE, TIMES = 64, (1, 16), 5
_NONE = {"validation": 0.0, "test": 0.0}
# A document needs its end only; a try reads three books.
_TRIED = 3


class Continued:
    """Books, of which a part is to be told from what stands before it."""

    def __init__(self, work: Path, *, tries: bool) -> None:
        self.work, self.tries = work, tries

    def _section(self, *, held_out: bool) -> CorpusSection:
        every = sorted((data_directory().resolve() / "text_books").glob("*.txt"))
        files = [path for path in every if (path.name == HELD_OUT) == held_out]
        files = files[: _TRIED if self.tries else None]
        return CorpusSection(files=tuple(map(str, files)), validation=0.0, length=SOURCE)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """One vocabulary for all."""
        folder = self.work / f"vocabulary-{VOCABULARY}"
        if not folder.exists():
            texts = training_texts(self._section(held_out=False), _NONE)
            train_tokenizer("bpe", texts, vocabulary=VOCABULARY, lowercase=False, special=GPT2).save(folder)
        return load_tokenizer(folder)

    def stream(self, *, held_out: bool) -> Integers:
        """The tokens of the training books, or of the one that is kept aside. [N]"""
        section = self._section(held_out=held_out)
        store = prepare(section, self.tokenizer, self.work / "cache", shares=_NONE).stores["train"]
        return stream_of(NextTokens(store, self.tokenizer, section), 10**9)

    @cached_property
    def learned(self) -> Integers:
        """The tokens to learn from. [N]"""
        return self.stream(held_out=False)

    def batch(self, step: int, seed: int) -> tuple[Tensor, Tensor]:
        """Sources and targets from places that are drawn by the step. [B, S], [B, T]"""
        places = np.random.default_rng([seed, step]).integers(len(self.learned) - SOURCE - TARGET, size=BATCH)
        return cut(self.learned, places)

    def held_out(self) -> tuple[Tensor, Tensor]:
        """Windows all over the book that is kept aside. [E, S], [E, T]"""
        stream = self.stream(held_out=True)
        count = MEASURED if not self.tries else BATCH
        return cut(stream, np.linspace(0, len(stream) - SOURCE - TARGET - 1, count).astype(np.int64))


def cut(stream: Integers, places: Integers) -> tuple[Tensor, Tensor]:
    """The tokens at these places, and those that follow."""
    at = places[:, None] + np.arange(SOURCE + TARGET)
    both = torch.from_numpy(np.asarray(stream[at], np.int64))
    return both[:, :SOURCE], both[:, SOURCE:]


def run(arm: str, books: Continued, length: Time, folder: Path) -> dict[str, Any]:
    """Train an architecture, and measure it."""
    recipe = Recipe(decay=0.01)
    vocabulary = books.tokenizer.vocabulary_size
    module: Any = made(arm, vocabulary, WIDTH, LAYERS, longest=SOURCE + TARGET, seed=length.seed)
    source, target = books.held_out()
    before = window(module, source, target)

    def loss_of(step: int) -> tuple[Tensor, int]:
        read, wanted = books.batch(step, length.seed)
        logits = module.logits(module.words(read), wanted)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten())
        return loss, read.numel() + wanted.numel()

    progress = train_plainly(module, loss_of, length, folder, recipe)
    facts = facts_of(module, progress, recipe)
    loss = losses(module, source, target)
    measure = Measure(
        np.stack([loss, np.full(len(loss), TARGET)], axis=1), lambda of: {"loss": of[..., 0] / of[..., 1]}
    )
    return {
        "facts": facts,
        "trained_tokens_per_second": progress.tokens / progress.seconds,
        "written_tokens_per_second": {str(count): speed(module.write, source[:count]) for count in AT_ONCE},
        "loss": {name: each._asdict() for name, each in measure.intervals().items()}["loss"],
        "losses": loss.tolist(),
        "window": window(module, source, target).tolist(),
        "window_before": before.tolist(),
    }


@torch.inference_mode()
def losses(module: Any, source: Tensor, target: Tensor) -> Reals:
    """The loss of each target, all its tokens. [E]"""
    found = []
    for read, wanted in zip(source.split(BATCH), target.split(BATCH), strict=True):
        logits = module.logits(module.words(read), wanted)
        each = torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none")
        found.append(each.view(wanted.shape).sum(dim=1).double())
    result: Reals = torch.cat(found).numpy()
    return result


def window(module: nn.Module, source: Tensor, target: Tensor) -> Reals:
    """How much the log-probability of the next token changes with each token of the source: the norm of its gradient by
    the token's word vector, the mean over texts, by the distance from the end: the first number is that of the last
    token. [S]
    """
    model: Any = module
    total = torch.zeros(source.shape[1], dtype=torch.float64)
    some = min(LOOKED_AT, len(source))
    for read, wanted in zip(source[:some].split(BATCH), target[:some].split(BATCH), strict=True):
        vectors = model.words(read).detach().requires_grad_()  # [B, S, W]
        logits = model.logits(vectors, wanted[:, :1])[:, 0]  # [B, V]
        told = logits.log_softmax(dim=-1).gather(1, wanted[:, :1]).sum()
        (gradient,) = torch.autograd.grad(told, vectors)
        total += gradient.norm(dim=-1).double().sum(dim=0)
    return (total / some).flip(0).numpy()


def speed(write: Callable[[Tensor, int], Tensor], source: Tensor) -> float:
    """Tokens a second, all texts together; the median of several times, after one that does not count."""
    seconds = []
    for number in range(TIMES + 1):
        began = time.monotonic()
        with torch.inference_mode():
            written = write(source, WRITTEN)
        seconds += [time.monotonic() - began] * (number > 0)
    return written.numel() / statistics.median(seconds)
