"""How likely replies are: the trigram against counting with dictionaries, and the intervals of a measured model."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
import torch

from glassformer.data.batches.batch import Texts
from glassformer.models.families.marian import marian
from glassformer.models.transformer import build
from glassformer.scoring.score import THIS_MODEL, Unigram
from glassformer.scoring.verdict import intervals, verdict
from glassformer.tasks.writing.chat.task import by_trigram, scores_of_replies
from glassformer.tasks.writing.pair_source import PairSource, TextPairs, measured_pairs, target_losses
from glassformer.text.special import MARIAN
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer

TRAINED = ["I am fine", "I am not fine at all", "no", "not at all", "I am here", "fine"] * 2
HELD_OUT = ["I am fine", "not here", "all", "I am not here at all, you know that well enough"]
START = 0


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer("bpe", [*TRAINED, *HELD_OUT], vocabulary=60, special=MARIAN)


def source(tokenizer: Tokenizer, replies: list[str], *, longest: int = 64) -> PairSource:
    pairs = TextPairs(Texts(f"turn {number}" for number in range(len(replies))), Texts(replies))
    return PairSource(pairs, tokenizer, start=START, longest=longest)


def counted_by_hand(trained: list[list[int]], reply: list[int], vocabulary: int) -> float:
    """The loss of a reply by Witten & Bell's weights, from dictionaries."""
    stream = [token for ids in trained for token in (START, *ids)]
    words = Counter(stream)
    after: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for size in (1, 2):
        for at in range(size, len(stream)):
            after[tuple(stream[at - size : at])][stream[at]] += 1

    def mixed(context: tuple[int, ...], token: int, lower: float) -> float:
        seen = after.get(context)
        return lower if not seen else (seen[token] + len(seen) * lower) / (seen.total() + len(seen))

    loss = 0.0
    end = trained[0][-1]
    line = [end, START, *reply]
    for at in range(2, len(line)):
        lower = (words[line[at]] + 1) / (len(stream) + vocabulary)
        lower = mixed((line[at - 1],), line[at], lower)
        loss -= math.log(mixed((line[at - 2], line[at - 1]), line[at], lower))
    return loss


def test_the_trigram_of_replies_is_counted_as_by_hand(tokenizer: Tokenizer) -> None:
    train, held_out = source(tokenizer, TRAINED), source(tokenizer, HELD_OUT[1:])
    vocabulary = tokenizer.vocabulary_size
    found = by_trigram(train, held_out, start=START, vocabulary=vocabulary, limit=None)
    trained = [train.targets[number].tolist() for number in range(len(TRAINED))]
    asked = [held_out.targets[number].tolist() for number in range(len(HELD_OUT) - 1)]
    # The first reply that is measured has nothing before its beginning, the others the end of one: as in the text.
    by_hand = [counted_by_hand(trained, ids, vocabulary) for ids in asked]
    sums = found.measures[THIS_MODEL].statistics
    assert isinstance(sums, np.ndarray)
    assert sums[1:, 0] == pytest.approx(by_hand[1:], rel=1e-9)
    assert sums[:, 2].tolist() == [len(ids) for ids in asked]
    assert found["perplexity"] == pytest.approx(math.exp(sums[:, 0].sum() / sums[:, 2].sum()))


def test_replies_that_are_too_long_are_measured_by_nobody(tokenizer: Tokenizer) -> None:
    held_out = source(tokenizer, HELD_OUT, longest=16)
    assert held_out.left_out == 1
    assert measured_pairs(held_out, None).tolist() == [0, 1, 2]
    found = by_trigram(source(tokenizer, TRAINED), held_out, start=START, vocabulary=60, limit=None)
    assert found.count == int(held_out.targets.lengths[:3].sum())


def test_a_token_that_is_never_written_is_not_measured(tokenizer: Tokenizer) -> None:
    """As in a validation target that holds `<pad>`: its loss is infinite, whatever the model."""
    held_out = source(tokenizer, TRAINED)
    model = build(marian(size="tiny", vocabulary=tokenizer.vocabulary_size, layers=1), seed=0)
    unigram = Unigram.count(held_out.target_tokens, tokenizer.vocabulary_size)
    strange = int(held_out.target_tokens[0])
    with torch.no_grad():
        of = target_losses(model, held_out, unigram, None, never=(strange,))
    assert np.isfinite(of.losses).all()
    assert of.tokens.sum() == (held_out.target_tokens != strange).sum()


def test_the_scores_of_replies_have_intervals_and_a_verdict(tokenizer: Tokenizer) -> None:
    held_out = source(tokenizer, TRAINED)
    model = build(marian(size="tiny", vocabulary=tokenizer.vocabulary_size, layers=1), seed=0)
    unigram = Unigram.count(held_out.target_tokens, tokenizer.vocabulary_size)
    with torch.no_grad():
        of = target_losses(model, held_out, unigram, None, never=())
    found = scores_of_replies(of, held_out, unigram.name)
    assert found["loss"] == pytest.approx(of.losses.sum() / of.tokens.sum())
    assert found["unigram_loss"] == pytest.approx(of.unigram.sum() / of.tokens.sum())
    whole = sum(len(reply.encode()) for reply in TRAINED)
    assert found["bits_per_byte"] == pytest.approx(of.losses.sum() / math.log(2) / whole)
    assert found["accuracy"] == pytest.approx(of.right.sum() / of.tokens.sum())
    for name, each in intervals(found.measures[THIS_MODEL]).items():
        assert each.low <= each.value <= each.high, name
    judged = verdict(found, "-loss")
    assert judged is not None
    assert judged.difference.verdict == "worse"  # random weights know less than frequencies
