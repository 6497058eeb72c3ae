"""What the notes say of word2vec, tried out by training both of its forms on one text: C-41.

N examples · V words · W width
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

Example = tuple[tuple[str, ...], str]
"""What is given, and the word to predict."""
Form = Callable[[], list[Example]]

# Cat and dog are said in the same contexts and never within one window, king and queen too; a window is one word to
# each side, so that "cat" and "drinks" share all of theirs.
TEXT = [
    f"{subject} {verb} {thing}"
    for subjects, said in (
        (("cat", "dog"), (("drinks", "milk"), ("eats", "fish"), ("chases", "mice"))),
        (("king", "queen"), (("rules", "land"), ("wears", "gold"), ("builds", "roads"))),
    )
    for subject in subjects
    for verb, thing in said
]
ALIKE = [("cat", "dog"), ("king", "queen")]
TOGETHER = [(subject, verb) for subject, verb, _ in map(str.split, TEXT)]
WORDS = sorted({word for line in TEXT for word in line.split()})


def contexts() -> list[tuple[str, tuple[str, ...]]]:
    """Each word of the text with those within its window."""
    lines = [line.split() for line in TEXT]
    return [(line[at], tuple(line[max(0, at - 1) : at] + line[at + 1 : at + 2])) for line in lines for at in range(3)]


def cbow() -> list[Example]:
    """The context is given, the word is predicted (Mikolov et al. 2013, §3.1)."""
    return [(around, word) for word, around in contexts()]


def skip_gram() -> list[Example]:
    """The word is given, each word of its context is predicted (§3.2)."""
    return [((word,), other) for word, around in contexts() for other in around]


@cache
def train(form: Form) -> tuple[Tensor, float]:
    """Vectors of the words given [V, W] and the last loss; the mean of what is given scores every word."""
    examples = form()
    number = {word: place for place, word in enumerate(WORDS)}
    given = torch.zeros(len(examples), len(WORDS))
    for row, (words, _) in enumerate(examples):
        for word in words:
            given[row, number[word]] += 1 / len(words)
    answers = torch.tensor([number[answer] for _, answer in examples])  # [N]
    generator = torch.Generator().manual_seed(0)
    first, second = ((torch.randn(len(WORDS), 8, generator=generator) * 0.3).requires_grad_() for _ in range(2))
    optimizer = torch.optim.Adam([first, second], lr=0.03)
    for _ in range(400):
        loss = F.cross_entropy(given @ first @ second.T, answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return first.detach(), loss.item()


def entropy(examples: Sequence[Example]) -> float:
    """What is left unknown of the answer by one who is given the rest: counted, in nats."""
    both, given = Counter(examples), Counter(words for words, _ in examples)
    return -sum(count * math.log(count / given[example[0]]) for example, count in both.items()) / len(examples)


@pytest.mark.parametrize("form", [cbow, skip_gram])
def test_words_of_similar_contexts_become_similar_and_words_of_one_window_need_not(form: Form) -> None:
    assert not {frozenset(pair) for pair in ALIKE} & {
        frozenset((word, other)) for word, around in contexts() for other in around
    }
    vectors, _ = train(form)
    near = F.normalize(vectors, dim=-1) @ F.normalize(vectors, dim=-1).T  # [V, V]

    def similarity(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [float(near[WORDS.index(one), WORDS.index(two)]) for one, two in pairs]

    assert min(similarity(ALIKE)) > 0.9
    assert max(similarity(TOGETHER)) < 0.6
    assert similarity([("cat", "drinks")])[0] < 0


def test_only_one_form_predicts_the_word_from_its_context() -> None:
    """Each form comes to the entropy of what it predicts, and these differ: the two ask opposite questions."""
    for form in (cbow, skip_gram):
        assert train(form)[1] == pytest.approx(entropy(form()), abs=0.02)
    assert {answer for words, answer in cbow() if words == ("cat", "milk")} == {"drinks"}
    assert {answer for words, answer in skip_gram() if words == ("cat",)} == {"drinks", "eats", "chases"}
    assert entropy(skip_gram()) - entropy(cbow()) > 0.09
