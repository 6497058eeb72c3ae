"""Passages: whole sentences of one document, packed into rows and kept apart, every token of the text once."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from glassformer.base.errors import ConfigError
from glassformer.data.batches.batch import Integers
from glassformer.data.batches.pack import Frame, PackedRows
from glassformer.data.batches.passages import passages
from glassformer.data.settings import CorpusSection
from glassformer.data.stores.store import TokenStore
from glassformer.tasks.words.sentence_order.task import SentenceOrder
from glassformer.tasks.writing.language_model.task import LanguageModel
from glassformer.text.tokenizer import Tokenizer
from tests.refusals import refused

MakeStore = Callable[[Sequence[str]], TokenStore]


def packed(store: TokenStore, tokenizer: Tokenizer, begins: Integers, length: int = 24) -> PackedRows:
    return PackedRows(store, length, frame=Frame.encoder(tokenizer), document_mask=True, begins=begins)


def test_a_passage_has_whole_sentences_of_one_document(store: TokenStore) -> None:
    share = 0.6
    begins = passages(store, share, 3)
    assert np.isin(begins, store.sentences).all()
    assert np.isin(store.offsets[:-1], begins).all()
    inner = len(store.sentences) - store.documents  # those that have a sentence before them
    joined = len(store.sentences) - len(begins)
    assert abs(joined / inner - share) < 3 * (share * (1 - share) / inner) ** 0.5  # three deviations of a share
    assert passages(store, share, 4).tolist() != begins.tolist()
    assert passages(store, 0.0, 3).tolist() == store.sentences[:].tolist()


@pytest.mark.parametrize("joined", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("length", [8, 24, 400])
def test_each_token_is_in_one_row_and_alone_with_its_passage(
    store: TokenStore, tokenizer: Tokenizer, joined: float, length: int
) -> None:
    begins = passages(store, joined, 3)
    rows = packed(store, tokenizer, begins, length)
    found = rows.rows(np.arange(len(rows)))
    text = ~found.special & found.real  # [B, S]
    assert found.ids[text].tolist() == store.ids[:].tolist()
    passage = np.full(text.shape, -1)
    passage[text] = np.searchsorted(begins, np.arange(len(store)), side="right") - 1
    both = text[:, :, None] & text[:, None]
    same = passage[:, :, None] == passage[:, None]  # [B, S, S]
    assert (found.documents[:, :, None] == found.documents[:, None])[both].tolist() == same[both].tolist()


def test_a_text_of_single_words_has_rows(make_store: MakeStore, tokenizer: Tokenizer) -> None:
    store = make_store(["fox", "dog", "a"])
    assert len(packed(store, tokenizer, passages(store, 0.3, 0))) == 1


def test_rows_are_of_one_kind() -> None:
    for other in ({"pack": False}, {"document_mask": False}):
        with pytest.raises(ValueError, match="passages"):
            CorpusSection.model_validate({"passages": True, **other})
    for task in (SentenceOrder, LanguageModel):
        with refused(ConfigError, got="data.passages"):
            task.check_data(CorpusSection(passages=True))
