"""What tests make themselves: the split of a text, a store of a few documents."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from glassformer.data.readers.read import Document
from glassformer.data.stores.split import Split, hash_fraction, split_of, text_hash
from glassformer.data.stores.store import Placed, TokenStore, write_stores
from glassformer.text.tokenizer import Tokenizer


def split(text: str, *, seed: int, shares: Mapping[str, float]) -> Split:
    """The split that a text falls on."""
    return split_of(hash_fraction(text_hash(text), seed), shares)


def build_store(
    documents: Iterable[Document],
    tokenizer: Tokenizer,
    directory: Path,
    *,
    fingerprint: str = "made",
    advance: Callable[[int], None] | None = None,
) -> TokenStore:
    """All documents in one store."""
    placed = (Placed("", text_hash(document.text), document) for document in documents)
    return write_stores(placed, tokenizer, directory, names=("",), fingerprint=fingerprint, advance=advance)[""]
