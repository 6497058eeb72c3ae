"""Baselines against counts made one by one."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from experiments.trigram import TrigramBaseline
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.stores.store import TokenStore
from glassformer.scoring.score import THIS_MODEL, Unigram, loss_and_accuracy
from glassformer.tasks.words.masked_words import MaskedRowScores
from glassformer.text.tokenizer import Tokenizer


def test_masked_words_are_counted_one_by_one_and_by_row() -> None:
    rows = MaskedRowScores(Unigram(np.array([0, 3, 1, 0], np.int64)))
    rows.add(np.array([9]), torch.tensor([[1, IGNORED]]), torch.tensor([1.0]), torch.tensor([True]))
    labels = torch.tensor([[2, 1], [IGNORED, IGNORED], [3, IGNORED]])
    rows.add(np.array([4, 2, 7]), labels, torch.tensor([2.0, 3.0, 6.0]), torch.tensor([False, False, True]))
    found = rows.scores(loss_and_accuracy)
    assert found.of[THIS_MODEL] == {"loss": 3.0, "perplexity": math.exp(3.0), "accuracy": 0.5}
    assert found.of["unigram"]["accuracy"] == 0.5
    assert found.count == 4
    measure = found.measures[THIS_MODEL]
    assert np.asarray(measure.statistics).tolist() == [[5, 0, 2], [6, 1, 1], [1, 1, 1]]
    other = MaskedRowScores(rows._unigram)  # the same rows, read in another order
    order = [2, 0, 1]
    other.add(
        np.array([4, 2, 7])[order], labels[order], torch.tensor([6.0, 2.0, 3.0]), torch.tensor([True, False, False])
    )
    other.add(np.array([9]), torch.tensor([[1, IGNORED]]), torch.tensor([1.0]), torch.tensor([True]))
    again = other.scores(loss_and_accuracy).measures[THIS_MODEL]
    assert again.asks_the_same(measure)
    assert np.array_equal(np.asarray(again.statistics), np.asarray(measure.statistics))
    nothing = MaskedRowScores(rows._unigram)
    nothing.add(np.array([2]), labels[1:2], torch.zeros(0), torch.zeros(0))
    assert not len(nothing.scores(loss_and_accuracy).measures[THIS_MODEL])
    assert math.isnan(nothing.scores(loss_and_accuracy)["loss"])
    assert not measure.asks_the_same(nothing.scores(loss_and_accuracy).measures[THIS_MODEL])


def test_unigram_is_what_was_counted() -> None:
    unigram = Unigram.count(np.array([3, 1, 3, 3, 0], np.uint16), 6)
    assert unigram.counts.tolist() == [1, 1, 0, 3, 0, 0]
    shares = [0.2, 0.2, 0.6]
    assert unigram.entropy == pytest.approx(-sum(share * math.log(share) for share in shares))
    labels = np.arange(6)
    # One is added to each of the six, and to all that is not known: they share what is left of 1.
    assert unigram.probability(labels).tolist() == pytest.approx([count / 12 for count in (2, 2, 1, 4, 1, 1)])
    losses, right = unigram.guess(labels)
    assert losses.tolist() == pytest.approx((-np.log(unigram.probability(labels))).tolist())
    assert right.tolist() == [False, False, False, True, False, False]
    assert unigram.probability(np.array([99])).tolist() == pytest.approx([1 / 12])
    assert unigram.without({3, 4, 99}).counts.tolist() == [1, 1, 0, 0, 0, 0]
    assert unigram.counts.tolist() == [1, 1, 0, 3, 0, 0]


def test_a_long_text_is_counted_in_chunks() -> None:
    ids = np.random.default_rng(0).integers(0, 50, 100)
    assert Unigram.count(ids, chunk=7).counts.tolist() == np.bincount(ids).tolist()


class ByHand:
    """The neighbours' guess from dictionaries, one place after the other."""

    def __init__(self, documents: list[list[int]], vocabulary: int, first: int, last: int) -> None:
        self.size, self.total = vocabulary, sum(map(len, documents))
        self.words = Counter(word for document in documents for word in document)
        self.contexts: dict[tuple[str, int, int], Counter[int]] = {}
        for document in documents:
            padded = [first, *document, last]
            for left, word, right in zip(padded, padded[1:], padded[2:], strict=False):
                for context in (("l", left, -1), ("r", -1, right), ("b", left, right)):
                    self.contexts.setdefault(context, Counter())[word] += 1

    def unigram(self, word: int) -> float:
        return (self.words[word] + 1) / (self.total + self.size + 1)

    def mixed(self, context: tuple[str, int, int], word: int, lower: float) -> float:
        seen = self.contexts.get(context)
        return lower if seen is None else (seen[word] + len(seen) * lower) / (seen.total() + len(seen))

    def sides(self, left: int, right: int, word: int) -> float:
        known = [context for context in (("l", left, -1), ("r", -1, right)) if context in self.contexts]
        lower = self.unigram(word)
        return sum(self.mixed(context, word, lower) for context in known) / len(known) if known else lower

    def probability(self, left: int, right: int, word: int) -> float:
        return self.mixed(("b", left, right), word, self.sides(left, right, word))

    def guesses(self, left: int, right: int) -> set[int]:
        """The guess, or several where counts are equal."""

        def best(context: tuple[str, int, int]) -> list[int]:
            counts = self.contexts.get(context, Counter())
            return [word for word, count in counts.items() if count == max(counts.values())]

        if both := best(("b", left, right)):
            return set(both)
        return {*best(("l", left, -1)), *best(("r", -1, right))} or {self.words.most_common(1)[0][0]}


@pytest.fixture(scope="module")
def documents(store: TokenStore) -> list[list[int]]:
    return [store.document(number).tolist() for number in range(store.documents)]


@pytest.fixture(scope="module")
def both(documents: list[list[int]], store: TokenStore, tokenizer: Tokenizer) -> tuple[ByHand, TrigramBaseline]:
    first, last = tokenizer.first_id, tokenizer.separator_id
    assert first is not None
    assert last is not None
    by_hand = ByHand(documents, tokenizer.vocabulary_size, first, last)
    return by_hand, TrigramBaseline.count(store, tokenizer)


def test_neighbours_are_what_was_counted(
    both: tuple[ByHand, TrigramBaseline], documents: list[list[int]], tokenizer: Tokenizer
) -> None:
    by_hand, neighbours = both
    rng = np.random.default_rng(0)
    ids = np.array([[tokenizer.first_id, *(document * 9)[:22], tokenizer.separator_id] for document in documents])
    places = np.array([row * 24 + place for row in range(len(ids)) for place in range(1, 23)])
    labels = ids.ravel()[places].copy()
    ids.ravel()[places] = np.where(rng.random(len(places)) < 0.2, tokenizer.mask_id, labels)
    labels = np.where(rng.random(len(places)) < 0.2, rng.integers(0, 64, len(places)), labels)
    losses, right = neighbours.guess(ids, places, labels)
    for place, label, loss, was_right in zip(places, labels.tolist(), losses, right, strict=True):
        left, after = int(ids.ravel()[place - 1]), int(ids.ravel()[place + 1])
        assert loss == pytest.approx(-math.log(by_hand.probability(left, after, label)), rel=1e-12)
        assert not was_right or label in by_hand.guesses(left, after)
    assert 0.2 < right.mean() < 0.9


def test_neighbours_share_out_the_whole_chance(both: tuple[ByHand, TrigramBaseline], tokenizer: Tokenizer) -> None:
    """Over the vocabulary and the one share kept for what is not in it the chances sum to 1."""
    _, neighbours = both
    size = tokenizer.vocabulary_size
    for left, right in ((10, 12), (tokenizer.mask_id, 12), (10, tokenizer.mask_id), (tokenizer.mask_id,) * 2):
        ids = np.array([[left, 0, right]] * (size + 1))
        losses, _ = neighbours.guess(ids, np.arange(size + 1) * 3 + 1, np.arange(size + 1))
        assert np.exp(-losses).sum() == pytest.approx(1.0, abs=1e-9)


def test_neighbours_guess_better_than_frequency(
    both: tuple[ByHand, TrigramBaseline], documents: list[list[int]], store: TokenStore, tokenizer: Tokenizer
) -> None:
    _, neighbours = both
    unigram = Unigram.count(store.ids, tokenizer.vocabulary_size)
    ids = np.array([[tokenizer.first_id, *document[:6], tokenizer.separator_id] for document in documents])
    places = np.arange(len(ids)) * 8 + 3
    labels = ids.ravel()[places].copy()
    ids.ravel()[places] = tokenizer.mask_id
    with_them, without = neighbours.guess(ids, places, labels), unigram.guess(labels)
    assert with_them[0].mean() < 0.6 * without[0].mean()
    assert with_them[1].mean() > without[1].mean()


def test_at_the_edge_of_a_text_without_special_tokens() -> None:
    neighbours = TrigramBaseline(np.array([1, 2]), np.array([4, 1]), np.array([2, 4]), 4)
    losses, right = neighbours.guess(np.array([[0, 2], [1, 0]]), np.array([0, 3]), np.array([1, 2]))
    assert right.tolist() == [True, True]
    assert losses[0] == losses[1]
