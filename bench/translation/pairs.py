"""The pairs of multi30k, a vocabulary for both sides, and an untrained model that all sides begin with."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.turns import RUNS
from experiments.results import data_directory
from glassformer.tasks.writing.translate.settings import TranslateSection
from glassformer.text.load import load_tokenizer
from glassformer.text.special import MARIAN
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer

WORK = RUNS / "bench-translation"
LONGEST = 128  # tokens


@dataclass(frozen=True)
class Size:
    """A Marian model."""

    layers: int
    width: int
    heads: int
    feed_forward: int
    vocabulary: int
    dropout: float

    def __str__(self) -> str:
        return f"{self.layers}+{self.layers} layers of {self.width}, vocabulary {self.vocabulary:,}"

    @property
    def settings(self) -> dict[str, Any]:
        """Without the vocabulary, as `model.settings` has it."""
        return {
            "layers": self.layers,
            "width": self.width,
            "heads": self.heads,
            "feed_forward": self.feed_forward,
            "dropout": self.dropout,
        }


def files(part: str) -> tuple[str, str]:
    """The English and the French file of a part: train, val, test_2016_flickr …"""
    folder = data_directory() / "multi30k_en_fr"
    return str(folder / f"{part}.en.gz"), str(folder / f"{part}.fr.gz")


def texts(part: str) -> tuple[list[str], list[str]]:
    """The English and the French sentences of a part."""
    english, french = (gzip.decompress(Path(name).read_bytes()).decode().splitlines() for name in files(part))
    return english, french


def tokenizer_in(folder: Path, vocabulary: int) -> Tokenizer:
    """The vocabulary of the training pairs, learned where the folder has none yet."""
    if not (folder / "tokenizer.json").exists():
        english, french = texts("train")
        folder.mkdir(parents=True, exist_ok=True)
        learned = train_tokenizer("bpe", english + french, vocabulary=vocabulary, lowercase=False, special=MARIAN)
        learned.save(folder)
    return load_tokenizer(folder)


def begin_with(folder: Path, size: Size) -> Path:
    """An untrained model of this size, exported, in this folder: the folder that transformers loads."""
    from glassformer.api.model import Model
    from glassformer.models.families import marian
    from glassformer.models.transformer import build
    from glassformer.saved.foreign import write_foreign

    out = folder / "begin"
    if not out.exists():
        tokenizer = tokenizer_in(folder, size.vocabulary)
        module = build(marian(vocabulary=tokenizer.vocabulary_size, **size.settings))
        write_foreign(Model(module, tokenizer, task=TranslateSection(), length=LONGEST), out)
    return out


def recipe(size: Size, batch_tokens: int) -> Mapping[str, object]:
    """The settings of our own training on these pairs; the vocabulary that it learns is that of `tokenizer_in`."""
    english, french = files("train")
    return {
        "data.files": [english],
        "data.target_files": [french],
        "data.validation": 0.0,
        "data.length": LONGEST,
        "tokenizer.vocabulary": size.vocabulary,
        "model.settings": size.settings,
        "train.batch_tokens": batch_tokens,
    }
