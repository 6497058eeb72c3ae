"""The books of all rows, their tokens, and the book that is kept aside.

N tokens of a text · B rows of a batch · S tokens of a row
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from experiments.plain_loop import Time
from experiments.results import data_directory
from glassformer.cli.train.recipe_options import requested_recipe
from glassformer.data.batches.batch import Integers
from glassformer.data.settings import CorpusSection
from glassformer.data.stores.corpus import prepare
from glassformer.data.stores.store import TokenStore
from glassformer.saved.recipe import Recipe
from glassformer.tasks.writing.language_model.task import LanguageModel, NextTokens, stream_of
from glassformer.text.load import load_tokenizer
from glassformer.text.special import GPT2
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer

WORK = Path("runs/writing")
# Its author has written none of the others.
HELD_OUT = "bram-stoker_dracula.txt"
# What a try learns from, and the rows that it measures.
TRIED, FEW = 3, 8
ALL = 10**9


class Books:
    """The training books and the one that is kept aside, as our recipe for so many minutes tokenizes them."""

    def __init__(self, length: Time) -> None:
        self.length = length

    @cached_property
    def recipe(self) -> Recipe:
        """What `glassformer train language-model BOOKS --minutes …` does; nothing else is set."""
        every = sorted((data_directory().resolve() / "text_books").glob("*.txt"))
        files = [str(path) for path in every if path.name != HELD_OUT]
        settings: dict[str, object] = {"train.seed": self.length.seed}
        if self.length.steps is None:
            settings["train.minutes"] = self.length.minutes
        else:
            files, settings = files[:TRIED], {**settings, "train.steps": self.length.steps, "model.size": "tiny"}
            settings |= {"tokenizer.vocabulary": 1000, "train.compile": "off"}
        if self.length.threads is not None:
            settings["train.threads"] = self.length.threads
        return requested_recipe("language-model", files, settings=settings, assignments=())

    @property
    def shares(self) -> dict[str, float]:
        """The parts of the documents that ours chooses its model by; the others do not read them either."""
        return {"validation": self.recipe.data.validation, "test": self.recipe.data.test}

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The vocabulary that ours learns, learned once for the others."""
        asked = self.recipe.tokenizer
        folder = WORK / f"vocabulary-{asked.vocabulary}"
        if not folder.exists():
            texts = LanguageModel.training_texts(self._data, self.shares)
            train_tokenizer(
                asked.kind, texts, vocabulary=asked.vocabulary, lowercase=asked.lowercase, special=GPT2
            ).save(folder)
        return load_tokenizer(folder)

    @property
    def _data(self) -> CorpusSection:
        assert isinstance(self.recipe.data, CorpusSection)
        return self.recipe.data

    @cached_property
    def train(self) -> NextTokens:
        """Rows of the training books."""
        return NextTokens(self._store(self._data, self.shares), self.tokenizer, self._data)

    @cached_property
    def held_out(self) -> Integers:
        """The tokens of the book that is kept aside, chapter after chapter, as a model reads them. [N]"""
        book = str(data_directory().resolve() / "text_books" / HELD_OUT)
        data = self._data.model_copy(update={"files": (book,), "validation": 0.0, "test": 0.0})
        source = NextTokens(self._store(data, {"validation": 0.0, "test": 0.0}), self.tokenizer, data)
        stream = stream_of(source, ALL)
        return stream[: FEW * data.length + 1] if self.length.tries else stream

    @cached_property
    def stream(self) -> Integers:
        """The tokens of the training books, one after the other. [N]"""
        return stream_of(self.train, ALL)

    def _store(self, data: CorpusSection, shares: dict[str, float]) -> TokenStore:
        return prepare(data, self.tokenizer, WORK / "cache", shares=shares).stores["train"]

    def rows(self, step: int) -> tuple[Tensor, Tensor]:
        """The rows of a step, each epoch in another order: what is read, and the token behind each. [B, S], [B, S]"""
        rows, batch = len(self.train), self.recipe.train.batch
        per_epoch = rows // batch
        epoch, number = divmod(step, per_epoch)
        order = np.random.default_rng([self.length.seed, epoch]).permutation(rows)
        some = order[number * batch : (number + 1) * batch]
        made = self.train.batch(some, np.zeros_like(some), shape=(batch, self.train.lengths))
        assert made.inputs.ids is not None
        return made.inputs.ids, next(iter(made.labels.values()))

    def lines(self, step: int) -> tuple[Tensor, Tensor, bool]:
        """The same amount of text for a model that carries its state on: so many places of the text are read side by
        side, and each step goes on where the last one ended. The third is whether they begin anew. [B, S], [B, S]
        """
        batch, length = self.recipe.train.batch, self.train.lengths
        per_epoch = (len(self.stream) - 1) // batch // length
        number = step % per_epoch
        begins = np.arange(batch) * per_epoch * length + number * length  # [B]
        at = begins[:, None] + np.arange(length)  # [B, S]
        ids, labels = (torch.from_numpy(np.asarray(self.stream[at + later], np.int64)) for later in (0, 1))
        return ids, labels, number == 0
