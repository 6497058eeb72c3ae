"""A small text, its tokenizer and its rows, for all tests of the tasks package."""

import random

import pytest

from glassformer.data.batches.pack import Frame, PackedRows
from glassformer.data.readers.read import Document
from glassformer.data.stores.store import TokenStore
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.data.made import build_store

SUBJECTS, VERBS, OBJECTS = ("she", "he", "nobody"), ("likes", "loves", "avoids"), ("summer", "hiking", "porridge")


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Sixty documents of one to eight short sentences, in which some words go together."""
    rng = random.Random(0)

    def sentence() -> str:
        place = rng.randrange(3)
        other = rng.choice(OBJECTS) if rng.random() < 0.2 else OBJECTS[place]
        return f"{rng.choice(SUBJECTS)} {VERBS[place]} {other} unquestionably."

    return [" ".join(sentence() for _ in range(rng.randint(1, 8))) for _ in range(60)]


@pytest.fixture(scope="session")
def tokenizer(texts: list[str]) -> Tokenizer:
    """WordPiece, so small that long words have several tokens."""
    return train_tokenizer("wordpiece", texts, vocabulary=64)


@pytest.fixture(scope="session")
def store(texts: list[str], tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """The text as tokens."""
    documents = (Document(text, f"document {number}") for number, text in enumerate(texts))
    return build_store(documents, tokenizer, tmp_path_factory.mktemp("tasks") / "store")


@pytest.fixture(scope="session")
def rows(store: TokenStore, tokenizer: Tokenizer) -> PackedRows:
    """Rows of 24 tokens with walls."""
    return PackedRows(store, 24, frame=Frame.encoder(tokenizer), document_mask=True, pad_id=tokenizer.pad_id or 0)
