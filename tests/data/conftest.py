"""Small texts, a tokenizer of theirs, and stores, for all tests of the data package."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from glassformer.data.readers.read import Document
from glassformer.data.stores.store import TokenStore
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.data.made import build_store

WORDS = "the a fox dog sees likes jumps quickly over summer lazy brown hiking healthily river".split()  # noqa: SIM905

MakeStore = Callable[[Sequence[str]], TokenStore]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Forty documents of 1 to 12 sentences."""
    rng = random.Random(0)

    def sentence() -> str:
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(3, 12))).capitalize() + "."

    return [" ".join(sentence() for _ in range(rng.randint(1, 12))) for _ in range(40)]


@pytest.fixture(scope="session")
def tokenizer(texts: list[str]) -> Tokenizer:
    """A small WordPiece tokenizer in which many words have several tokens."""
    return train_tokenizer("wordpiece", texts, vocabulary=70)


@pytest.fixture
def make_store(tmp_path: Path, tokenizer: Tokenizer) -> MakeStore:
    """Build a store of the given documents."""

    def make(documents: Sequence[str]) -> TokenStore:
        places = (Document(text, f"document {number}") for number, text in enumerate(documents))
        return build_store(places, tokenizer, tmp_path / "store")

    return make


@pytest.fixture
def store(make_store: MakeStore, texts: list[str]) -> TokenStore:
    """A store of `texts`."""
    return make_store(texts)
