"""Sentence pairs: the published procedure, retold here as plainly as can be, and what must hold of each pair."""

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from glassformer.base.errors import ConfigError, DataError
from glassformer.data.batches.batch import Integers
from glassformer.data.batches.pairs import IS_NEXT, NOT_NEXT, SentencePairs
from glassformer.data.stores.store import TokenStore
from glassformer.text.special import SpecialTokens
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer

MakeStore = Callable[[Sequence[str]], TokenStore]


def document_of(store: TokenStore, tokens: Integers) -> Integers:
    return np.searchsorted(store.offsets, tokens, side="right") - 1


@pytest.mark.parametrize("length", [8, 32, 128])
def test_what_holds_of_each_pair(store: TokenStore, tokenizer: Tokenizer, length: int) -> None:
    pairs = SentencePairs.prepare(store, tokenizer, length, seed=0, duplicates=4)
    a_start, a_end, b_start, b_end = pairs.stretches.T
    assert (a_end > a_start).all()
    assert (b_end > b_start).all()
    assert (a_end - a_start + b_end - b_start <= length - 3).all()
    for start, end in ((a_start, a_end), (b_start, b_end)):
        assert np.array_equal(document_of(store, start), document_of(store, end - 1))
    same = document_of(store, a_start) == document_of(store, b_start)
    assert np.array_equal(same, pairs.labels == IS_NEXT)
    following = pairs.labels == IS_NEXT
    assert (b_start[following] >= a_end[following]).all()
    untouched = following & (a_end - a_start + b_end - b_start < length - 3)
    assert (b_start[untouched] == a_end[untouched]).all()
    starts = set(store.sentences.tolist())
    assert {int(start) for start in a_start[untouched]} <= starts
    assert {int(start) for start in b_start[untouched]} <= starts


def test_rows_are_framed_as_the_tokenizer_frames_a_pair(store: TokenStore, tokenizer: Tokenizer) -> None:
    pairs = SentencePairs.prepare(store, tokenizer, 40, seed=0)
    batch = pairs.rows(np.arange(len(pairs)))
    assert pairs.lengths.tolist() == batch.real.sum(1).tolist()
    for row, (a_start, a_end, b_start, b_end) in enumerate(pairs.stretches.tolist()):
        a, b = store.ids[a_start:a_end].tolist(), store.ids[b_start:b_end].tolist()
        size = len(a) + len(b) + 3
        cls, sep = tokenizer.first_id, tokenizer.separator_id
        assert batch.ids[row].tolist() == [cls, *a, sep, *b, sep, *[tokenizer.pad_id] * (40 - size)]
        assert batch.segments is not None
        assert batch.segments[row].tolist() == [0] * (len(a) + 2) + [1] * (len(b) + 1) + [0] * (40 - size)
        assert batch.real[row].tolist() == [True] * size + [False] * (40 - size)
        assert batch.special[row].tolist() == [
            place in (0, len(a) + 1, size - 1) or place >= size for place in range(40)
        ]
        words = batch.words[row]
        assert (words[batch.special[row]] == -1).all()
        assert words[len(a)] != words[len(a) + 2]
    wide = pairs.rows(np.arange(len(pairs)), 45)
    assert np.array_equal(wide.ids[:, :40], batch.ids)
    assert (wide.ids[:, 40:] == tokenizer.pad_id).all()
    assert not wide.real[:, 40:].any()


def test_the_chances_are_those_asked_for(store: TokenStore, tokenizer: Tokenizer) -> None:
    def made(short: float = 0.1, unrelated: float = 0.5) -> SentencePairs:
        return SentencePairs.prepare(store, tokenizer, 64, seed=0, duplicates=10, short=short, unrelated=unrelated)

    # A stretch of one sentence has no next one (C-21): these alone are unrelated when none is asked for.
    shares = [float((made(unrelated=rng).labels == NOT_NEXT).mean()) for rng in (0.0, 0.5, 1.0)]
    assert shares[0] < 0.4 < shares[1] < 0.9
    assert shares[2] == 1.0
    cut, uncut = made(short=1.0), made(short=0.0)
    assert cut.lengths.mean() < 0.95 * uncut.lengths.mean()
    assert len(cut) > 1.2 * len(uncut)


def published(lengths: list[list[int]], limit: int, seed: int) -> list[tuple[bool, int]]:
    """create_instances_from_document over all documents, in sentence lengths: (random, tokens before shortening)."""
    rng = random.Random(seed)
    made = []
    for number, document in enumerate(lengths):
        target = rng.randint(2, limit) if rng.random() < 0.1 else limit
        chunk: list[int] = []
        place = 0
        while place < len(document):
            chunk.append(document[place])
            if place == len(document) - 1 or sum(chunk) >= target:
                cut = rng.randint(1, len(chunk) - 1) if len(chunk) >= 2 else 1
                first = sum(chunk[:cut])
                is_random = len(chunk) == 1 or rng.random() < 0.5
                if is_random:
                    other = rng.choice([n for n in range(len(lengths)) if n != number])
                    second = 0
                    for size in lengths[other][rng.randint(0, len(lengths[other]) - 1) :]:
                        second += size
                        if second >= target - first:
                            break
                    place -= len(chunk) - cut
                else:
                    second = sum(chunk[cut:])
                made.append((is_random, min(first + second, limit)))
                chunk = []
            place += 1
    return made


@pytest.mark.sampled(1)
@pytest.mark.parametrize("length", [16, 48])
def test_as_many_pairs_as_the_published_procedure(store: TokenStore, tokenizer: Tokenizer, length: int) -> None:
    bounds = [*store.sentences.tolist(), len(store)]
    sizes = np.diff(bounds)
    owner = document_of(store, store.sentences)
    lengths = [sizes[owner == number].tolist() for number in range(store.documents)]
    copies = 150
    theirs = [published(lengths, length - 3, seed) for seed in range(copies)]
    ours = [SentencePairs.prepare(store, tokenizer, length, seed=seed) for seed in range(copies)]
    # Means over 150 copies, compared within four standard errors of their difference.
    for wanted, got in (
        ([len(pairs) for pairs in theirs], [len(pairs) for pairs in ours]),
        ([np.mean([r for r, _ in pairs]) for pairs in theirs], [pairs.labels.mean() for pairs in ours]),
        (
            [np.mean([size for _, size in pairs]) for pairs in theirs],
            [np.diff(pairs.stretches)[:, [0, 2]].sum(1).mean() for pairs in ours],
        ),
    ):
        error = np.sqrt((np.var(wanted) + np.var(got)) / copies)
        assert abs(np.mean(wanted) - np.mean(got)) <= 4 * error


def test_more_than_half_are_random(store: TokenStore, tokenizer: Tokenizer) -> None:
    """C-21: where a stretch has one sentence only, the next one is always random."""
    pairs = SentencePairs.prepare(store, tokenizer, 24, seed=0, duplicates=20)
    assert (pairs.labels == NOT_NEXT).mean() > 0.55


def test_a_pure_function_of_store_and_seed(store: TokenStore, tokenizer: Tokenizer) -> None:
    first, again, other = (SentencePairs.prepare(store, tokenizer, 32, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.stretches, again.stretches)
    assert not np.array_equal(first.stretches[:20], other.stretches[:20])
    double = SentencePairs.prepare(store, tokenizer, 32, seed=1, duplicates=2)
    assert np.array_equal(double.stretches[: len(first)], first.stretches)
    assert not np.array_equal(double.stretches[len(first) :][:20], first.stretches[:20])


def test_what_has_no_pairs_is_refused(store: TokenStore, tokenizer: Tokenizer) -> None:
    with pytest.raises(ConfigError) as caught:
        SentencePairs.prepare(store, tokenizer, 4, seed=0)
    assert caught.value.got == "4"
    bare = train_tokenizer("words", ["the fox"], vocabulary=9, special=SpecialTokens())
    with pytest.raises(ConfigError) as caught:
        SentencePairs.prepare(store, bare, 16, seed=0)
    assert "separator" in caught.value.wanted


def test_one_document_has_no_random_neighbour(tokenizer: Tokenizer, make_store: MakeStore) -> None:
    with pytest.raises(DataError) as caught:
        SentencePairs.prepare(make_store(["The fox. The dog."]), tokenizer, 16, seed=0)
    assert caught.value.got == "1"
    assert caught.value.do


def test_no_random_text_begins_with_a_copy_of_the_true_next_sentence(
    tokenizer: Tokenizer, make_store: MakeStore
) -> None:
    often = "The dog sees the fox."
    store = make_store([" ".join([f"The {name} cooks.", often] * 4) for name in ("fox", "cat", "bird", "man")])
    pairs = SentencePairs.prepare(store, tokenizer, 64, seed=0, duplicates=40)
    bounds = np.append(store.sentences, len(store))

    def sentence(at: int) -> list[int]:
        return store.ids[at : bounds[bounds.searchsorted(at, side="right")]].tolist()

    negatives = pairs.stretches[pairs.labels == NOT_NEXT]
    inside = [row for row in negatives.tolist() if row[1] in store.sentences and row[1] not in store.offsets]
    assert len(inside) > 20
    assert [row for row in inside if row[2] in store.sentences and sentence(row[2]) == sentence(row[1])] == []


def test_where_all_texts_are_copies_only_a_last_sentence_has_a_random_text(
    tokenizer: Tokenizer, make_store: MakeStore
) -> None:
    copies = make_store(["The fox cooks. The fox cooks. The fox cooks."] * 2)
    alike = SentencePairs.prepare(copies, tokenizer, 64, seed=0, duplicates=20)
    ends = alike.stretches[alike.labels == NOT_NEXT][:, 1]
    assert set(ends.tolist()) <= {*copies.offsets.tolist(), len(copies)}
