"""Packed rows: every token once and in order, full rows, and each document as if it were alone."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from glassformer.base.errors import ConfigError
from glassformer.data.batches.batch import Batch
from glassformer.data.batches.pack import Frame, PackedRows
from glassformer.data.stores.store import TokenStore
from glassformer.text.tokenizer import Tokenizer
from tests.refusals import refused

PAD, FIRST, LAST = 900, 901, 902
FRAMES = {
    "encoder": Frame((FIRST,), (LAST,)),
    "wide": Frame((FIRST, FIRST), (LAST, LAST, LAST)),
    "bare": Frame(),
    "language model": Frame((), (LAST,), close=False),
    "with a beginning": Frame((FIRST,), (LAST,), close=False),
}
MakeStore = Callable[[Sequence[str]], TokenStore]


def packed(store: TokenStore, length: int, frame: Frame, *, document_mask: bool = True) -> tuple[PackedRows, Batch]:
    rows = PackedRows(store, length, frame=frame, document_mask=document_mask, pad_id=PAD)
    return rows, rows.rows(np.arange(len(rows)))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("length", [8, 13, 64, 5000])
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_every_token_once_in_order_and_only_the_last_row_padded(store: TokenStore, frame: Frame, length: int) -> None:
    rows, batch = packed(store, length, frame)
    assert batch.ids[~batch.special].tolist() == store.ids.tolist()
    assert batch.real[:-1].all()
    assert batch.real[-1, 0]
    assert (batch.ids[~batch.real] == PAD).all()
    assert batch.special[~batch.real].all()
    assert set(batch.ids[batch.real & batch.special].tolist()) <= {FIRST, LAST}
    if frame.close:
        assert (batch.ids[:, : len(frame.before)] == FIRST).all()
        for row, real in zip(batch.ids, batch.real, strict=True):
            assert row[real][len(row[real]) - len(frame.after) :].tolist() == list(frame.after)
    else:
        stream = [
            token
            for number in range(store.documents)
            for token in (*frame.before, *store.document(number).tolist(), *frame.after)
        ]
        assert batch.ids[batch.real].tolist() == stream
    one_by_one = [rows.rows(np.array([number])) for number in range(len(rows))]
    for name, values in vars(batch).items():
        if values is not None:
            assert np.array_equal(values, np.concatenate([getattr(each, name) for each in one_by_one]))


@pytest.mark.parametrize("length", [8, 13, 64])
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_document_mask_part_the_documents(store: TokenStore, frame: Frame, length: int) -> None:
    """Within one wall there are tokens of one document, in a frame, with positions from 0."""
    _, batch = packed(store, length, frame)
    document_of = np.repeat(np.arange(store.documents), np.diff(store.offsets))
    owner = np.full(batch.ids.shape, -1)
    owner[~batch.special] = document_of
    for row in range(len(batch.ids)):
        for wall in range(batch.documents[row].max() + 1):
            inside = np.flatnonzero(batch.documents[row] == wall)
            assert len(inside)
            assert inside.tolist() == list(range(inside[0], inside[-1] + 1))
            assert batch.positions[row, inside].tolist() == list(range(len(inside)))
            assert len(set(owner[row, inside].tolist()) - {-1}) <= 1
            tokens = batch.ids[row, inside]
            if frame.close and (owner[row, inside] >= 0).any():
                text = (~batch.special[row, inside]).tolist()
                before, after = text.index(True), text[::-1].index(True)
                # A row that starts or ends within a frame may show only a part of it.
                assert tokens[:before].tolist() in ([FIRST] * n for n in range(len(frame.before), 99))
                assert tokens[len(tokens) - after :].tolist() in ([LAST] * n for n in range(len(frame.after), 99))
    assert (batch.documents[~batch.real] == -1).all()
    assert (batch.positions[~batch.real] == 0).all()


def test_the_common_frame_by_hand(make_store: MakeStore, tokenizer: Tokenizer) -> None:
    store = make_store(["the fox", "a dog", "the river"])
    fox, dog, river = (store.document(number).tolist() for number in range(3))
    length = 2 + len(fox) + 2 + len(dog)
    _, batch = packed(store, length, FRAMES["encoder"])
    assert batch.ids[0].tolist() == [FIRST, *fox, LAST, FIRST, *dog, LAST]
    assert batch.documents[0].tolist() == [0] * (len(fox) + 2) + [1] * (len(dog) + 2)
    assert batch.positions[0].tolist() == [*range(len(fox) + 2), *range(len(dog) + 2)]
    # The next row begins where the stream goes on, with the frame between the two documents.
    assert batch.ids[1, : 4 + len(river)].tolist() == [FIRST, LAST, FIRST, *river, LAST][: 4 + len(river)]
    assert batch.documents[1, :3].tolist() == [0, 0, 1]


def test_a_document_that_just_fits_closes_once_for_itself(make_store: MakeStore) -> None:
    store = make_store(["the fox sees", "a dog"])
    fox = store.document(0).tolist()
    _, batch = packed(store, len(fox) + 3, FRAMES["encoder"])
    assert batch.ids[0].tolist() == [FIRST, *fox, LAST, LAST]
    assert batch.documents[0].tolist() == [0] * (len(fox) + 2) + [1]


def test_without_document_mask_positions_run_on(store: TokenStore) -> None:
    _, batch = packed(store, 16, FRAMES["encoder"], document_mask=False)
    assert (batch.documents[:-1] == 0).all()
    assert (batch.positions[:-1] == np.arange(16)).all()
    _, walled = packed(store, 16, FRAMES["encoder"])
    for name in ("ids", "words", "special", "real"):
        assert np.array_equal(getattr(batch, name), getattr(walled, name))


def test_words_are_those_of_the_tokenizer(texts: list[str], store: TokenStore, tokenizer: Tokenizer) -> None:
    _, batch = packed(store, 24, FRAMES["encoder"])
    begins: list[bool] = []
    for text in texts:
        words = tokenizer.encode(text, special=False).words
        begins += [place == 0 or words[place] != words[place - 1] for place in range(len(words))]
    expected = np.zeros(batch.ids.shape, np.bool_)
    expected[~batch.special] = begins
    for row in range(len(batch.ids)):
        places = np.flatnonzero(~batch.special[row])
        numbers = batch.words[row, places]
        assert (numbers[1:] != numbers[:-1]).tolist() == expected[row, places[1:]].tolist()
    assert (batch.words[batch.special] == -1).all()
    assert (batch.words[~batch.special] >= 0).all()


def test_a_row_must_have_room(store: TokenStore) -> None:
    with refused(ConfigError, wanted="2", got="length 2"):
        PackedRows(store, 2, frame=FRAMES["encoder"], document_mask=True)


def test_frames_come_from_the_tokenizer(tokenizer: Tokenizer) -> None:
    from glassformer.text.train import train_tokenizer

    assert Frame.encoder(tokenizer) == Frame((tokenizer.first_id or -1,), (tokenizer.separator_id or -1,))
    assert Frame.language_model(tokenizer) == Frame(close=False)
    bpe = train_tokenizer("bpe", ["the fox"], vocabulary=300)
    assert Frame.language_model(bpe) == Frame((bpe.id("<s>") or 0,), (bpe.id("</s>") or 0,), close=False)
