"""Tags and spans, their legality, and their scores: against seqeval in its default mode, and the definition."""

import itertools
import random
import warnings

import numpy as np
import pytest
from seqeval.metrics import f1_score, precision_score, recall_score  # type: ignore[import-untyped]  # it bears no types
from seqeval.metrics.sequence_labeling import get_entities  # type: ignore[import-untyped]  # it bears no types

from glassformer.config.model import TokenHeadConfig
from glassformer.models import chain as chains
from glassformer.scoring.bio import TagSpan, is_bio, is_scheme, legal_steps, scheme_of, spans_of, tags_of
from glassformer.tasks.labels.tag.answers import by_type, confusions, decoded, span_measure, span_types
from glassformer.tasks.labels.tag.records import Sentence
from glassformer.tasks.labels.tag.settings import TagSection
from glassformer.tasks.settings import HeadOutputs

BIO = ("O", "B-a", "I-a", "B-b-c", "I-b-c")
BIOES = (*BIO, "E-a", "S-a", "E-b-c", "S-b-c")


def drawn(labels: tuple[str, ...], count: int, seed: int) -> list[list[str]]:
    """Random sentences of one to nine tags, most of them illegal."""
    rng = random.Random(seed)
    return [[rng.choice(labels) for _ in range(rng.randint(1, 9))] for _ in range(count)]


@pytest.mark.parametrize("labels", [BIO, BIOES])
def test_spans_are_those_of_seqeval_also_where_tags_are_illegal(labels: tuple[str, ...]) -> None:
    for tags in drawn(labels, 400, 1):
        expected = [(label, start, end + 1) for label, start, end in get_entities(tags)]
        assert [tuple(span) for span in spans_of(tags)] == expected


@pytest.mark.parametrize("labels", [BIO, BIOES])
def test_scores_are_those_of_seqeval(labels: tuple[str, ...]) -> None:
    truth = drawn(labels, 60, 2)
    rng = random.Random(3)
    found = [[tag if rng.random() < 0.7 else rng.choice((*labels, "B-d")) for tag in tags] for tags in truth]
    right, its = [spans_of(tags) for tags in truth], [spans_of(tags) for tags in found]
    types = span_types(right, its)
    agreeing = [sum(a == b for a, b in zip(*each, strict=True)) for each in zip(truth, found, strict=True)]
    measure = span_measure(right, its, agreeing, [len(tags) for tags in truth], types)
    scores = measure.values()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label that is only found has no recall
        assert scores["f1"] == pytest.approx(f1_score(truth, found))
        assert scores["precision"] == pytest.approx(precision_score(truth, found))
        assert scores["recall"] == pytest.approx(recall_score(truth, found))
        assert scores["macro_f1"] == pytest.approx(f1_score(truth, found, average="macro"))
        of_types = {row["label"]: row["f1"] for row in by_type(measure, types)}
        assert [of_types[label] for label in types] == pytest.approx(f1_score(truth, found, average=None))
    assert scores["accuracy"] == sum(agreeing) / sum(map(len, truth))
    low, high = measure.intervals(samples=50)["f1"][1:]
    assert low <= scores["f1"] <= high


def test_where_each_word_has_a_tag_f1_is_the_accuracy() -> None:
    from glassformer.scoring.bio import TagSpan

    truth, found = ["NOUN", "VERB", "NOUN"], ["NOUN", "NOUN", "NOUN"]
    right, its = ([[TagSpan(tag, n, n + 1) for n, tag in enumerate(tags)]] for tags in (truth, found))
    scores = span_measure(right, its, [2], [3], span_types(right, its)).values()
    assert scores["f1"] == scores["precision"] == scores["recall"] == scores["accuracy"] == 2 / 3
    assert confusions([truth], [found]) == [{"label": "VERB", "guessed": "NOUN", "count": 1}]


def test_a_legal_sequence_is_one_that_its_own_spans_give() -> None:
    steps, first, last = legal_steps(BIO)
    for length in (1, 2, 3, 4):
        for numbers in itertools.product(range(len(BIO)), repeat=length):
            tags = [BIO[number] for number in numbers]
            score = first[numbers[0]] + last[numbers[-1]] + sum(steps[a, b] for a, b in itertools.pairwise(numbers))
            assert (score == 0) == (tags_of(spans_of(tags), length) == tags), tags


def test_where_spans_may_begin_inside_a_word_of_its_own_is_one() -> None:
    labels = ["O", "B-PER", "I-PER"]
    chain = legal_steps(labels, begun=False)
    assert all((scores == 0).all() for scores in chain)
    sentence = Sentence("Ann likes tea", ((0, 3), (4, 9), (10, 13)), None)
    logits = np.array([[0.0, -9.0, 6.0], [6.0, -9.0, 0.0], [6.0, -9.0, 0.0]])
    found = decoded(sentence, labels, logits, chain, 1)
    assert [(span.text, span.label) for span in found.spans] == [("Ann", "PER")]
    assert decoded(sentence, labels, logits, legal_steps(labels), 1).spans == ()
    head = TokenHeadConfig(labels=3)
    for begun in (False, True):
        section = TagSection.of_imported(HeadOutputs(tuple(labels)), head, begun=begun)
        assert (section.begun, TagSection().begun) == (begun, True)


@pytest.mark.parametrize(
    ("labels", "begun"),
    [
        (("O", "I-a"), True),
        (("O", "I-a", "I-b"), True),
        (("O", "B-a", "I-a"), False),
        (BIO, True),
        (("O", "B-a", "I-a", "E-a", "S-a"), True),
        (("O", "B-a", "I-a", "E-a", "S-a"), False),
        (("O", "B-a", "I-a", "S-a"), False),
        (("O", "E-a", "S-a"), True),
    ],
)
def test_the_probability_of_a_span_is_that_of_all_sequences_that_have_it(
    monkeypatch: pytest.MonkeyPatch, labels: tuple[str, ...], *, begun: bool
) -> None:
    monkeypatch.setattr(chains, "STRETCH", 2)  # sums are made stretch by stretch: a span begins one, too
    rng, count = np.random.default_rng(len(labels)), 5
    words = tuple((2 * place, 2 * place + 1) for place in range(count))
    sequences = list(itertools.product(range(len(labels)), repeat=count))
    spans = [spans_of([labels[number] for number in numbers]) for numbers in sequences]
    for seed in range(20):
        logits = rng.normal(size=(count, len(labels))) * (1 + seed % 4)
        chain = legal_steps(labels, begun=begun)
        found = decoded(Sentence("a b c d e", words), labels, logits, chain, 1)
        weights: list[float] = []  # of each sequence
        for numbers in sequences:
            scores = [logits[place, number] for place, number in enumerate(numbers)]
            steps = [chain.steps[one, other] for one, other in itertools.pairwise(numbers)]
            total = sum(scores) + sum(steps) + chain.first[numbers[0]] + chain.last[numbers[-1]]
            weights.append(float(np.exp(total)))
        for span in found.spans:
            first, end = span.start // 2, span.end // 2 + 1
            tagged = TagSpan(span.label, first, end)
            having = sum(weight for weight, there in zip(weights, spans, strict=True) if tagged in there)
            assert span.probability == pytest.approx(having / sum(weights), rel=1e-9)


def test_a_scheme_that_closes_its_spans_is_held_to_it() -> None:
    steps, first, last = legal_steps(BIOES)
    number = {label: place for place, label in enumerate(BIOES)}
    legal = {("B-a", "E-a"), ("B-a", "I-a"), ("I-a", "E-a"), ("E-a", "B-a"), ("S-a", "S-b-c"), ("O", "O"), ("E-a", "O")}
    illegal = {("B-a", "O"), ("B-a", "E-b-c"), ("O", "E-a"), ("S-a", "I-a"), ("E-a", "E-a"), ("I-a", "B-a")}
    assert all(steps[number[one], number[two]] == 0 for one, two in legal)
    assert all(steps[number[one], number[two]] == float("-inf") for one, two in illegal)
    assert first[number["E-a"]] == last[number["B-a"]] == float("-inf")
    assert first[number["S-a"]] == last[number["S-a"]] == 0


@pytest.mark.parametrize(
    ("sentences", "name", "illegal"),
    [
        ([["B-a", "I-a", "O"], ["O", "B-b"]], "BIO", 0),
        ([["B-a", "I-a", "O"], ["O", "I-b", "I-b", "I-a"]], "BIO", 2),
        ([["I-a", "I-a", "B-a", "O"], ["O", "I-b"]], "IOB1", 0),
        ([["B-a", "E-a", "S-a"], ["E-b", "O"]], "BIOES", 1),
        ([["B-a", "M-a", "E-a", "S-a"]], "BMES", 0),
        ([["B-a", "L-a", "U-a"]], "BILOU", 0),
    ],
)
def test_how_tags_are_written(sentences: list[list[str]], name: str, illegal: int) -> None:
    assert scheme_of(sentences) == (name, illegal)
    for tags in sentences:
        bio = tags_of(spans_of(tags), len(tags))
        assert is_bio(set(bio) | {"B-a"})
        assert spans_of(bio) == spans_of(tags)


def test_parts_of_speech_are_no_scheme() -> None:
    for labels in (("NOUN", "VERB"), ("O", "X"), ("B-a", "NOUN"), ("-LRB-", "O")):
        assert not is_scheme(labels)
        assert all((scores == 0).all() for scores in legal_steps(labels))
