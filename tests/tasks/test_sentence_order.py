"""Next sentence and sentence order: the pairs, what is said of them, and that they are asked as they were learned."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.api.load import load
from glassformer.base.errors import ConfigError
from glassformer.data.batches.pairs import NOT_NEXT, SentencePairs
from glassformer.data.readers.read import Document
from glassformer.data.stores.store import TokenStore
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.tasks.labels.classify.task import Classify
from glassformer.tasks.predictor import Context, predict
from glassformer.tasks.settings import TaskSection
from glassformer.tasks.words.bert.settings import BertSection
from glassformer.tasks.words.corpus import LabelCounts
from glassformer.tasks.words.sentence_order.settings import SentenceOrderSection
from glassformer.tasks.words.sentence_order.task import PairRows, SentenceOrder, _check_frame
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.contracts.families import random_weights
from tests.data.made import build_store

# The source document's own examples, the picture's [MASK]s included (S1-38).
FIRST = "the man [MASK] to the store"
SECOND = "penguin [MASK] are flightless birds"


@pytest.fixture(scope="module")
def store(texts: list[str], tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """The text as tokens, its sentences with capitals, by which they are distinguished."""
    sentences = (". ".join(part.strip().capitalize() for part in text.split(".")) for text in texts)
    documents = (Document(text, f"document {number}") for number, text in enumerate(sentences))
    return build_store(documents, tokenizer, tmp_path_factory.mktemp("order") / "store")


@pytest.mark.parametrize(
    ("section", "labels"),
    [
        (BertSection(), ("IsNext", "NotNext")),
        (BertSection(negatives="swapped"), ("InOrder", "Swapped")),
        (SentenceOrderSection(), ("IsNext", "NotNext")),
        (SentenceOrderSection(negatives="swapped"), ("InOrder", "Swapped")),
    ],
)
def test_a_pair_is_asked_as_it_was_learned(
    section: TaskSection, labels: tuple[str, str], store: TokenStore, tokenizer: Tokenizer
) -> None:
    body = bert(size="tiny", layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=40)
    task = SentenceOrder(SentenceOrderSection(), LabelCounts((1, 1)), "")
    model = random_weights(build(task.model(body)), seed=5).double().eval()
    classify = Classify.of(model, tokenizer, Context(section=section, length=40))
    rows = PairRows(SentencePairs.prepare(store, tokenizer, 40, seed=0, short=1.0), segments=True, cut="")
    numbers = np.arange(6)
    batch = rows.batch(numbers, numbers, shape=(8, 40))
    with torch.no_grad():
        logits = model(batch.inputs, heads=("sentence_head",)).sentence_logits
    assert logits is not None
    chances = logits.softmax(dim=-1)
    for number, (a_start, a_end, b_start, b_end) in enumerate(rows.pairs.stretches[:6].tolist()):
        before, between, after = tokenizer.pair_frame_ids
        first, second = store.ids[a_start:a_end].tolist(), store.ids[b_start:b_end].tolist()
        size = len(first) + len(second) + 3
        assert batch.inputs.ids is not None
        assert batch.inputs.ids[number, :size].tolist() == [*before, *first, *between, *second, *after]
    assert batch.labels["sentence_order"].tolist() == [*rows.pairs.labels[:6].tolist(), -100, -100]
    (found,) = predict(classify, model, [classify.example({"text": FIRST, "pair": SECOND}, "")])
    assert found.labels == labels
    assert sum(found.probabilities.values()) == pytest.approx(1)
    # A pair of the text itself, as text and as the row that was learned.
    texts = ["she likes summer unquestionably.", "he loves hiking unquestionably."]
    (asked,) = classify.rows(classify.example({"text": texts[0], "pair": texts[1]}, ""))
    ids = [tokenizer.ids(text) for text in texts]
    before, between, after = tokenizer.pair_frame_ids
    assert list(asked.ids) == [*before, *ids[0], *between, *ids[1], *after]
    assert list(asked.segments or ()) == [0] * (len(ids[0]) + 2) + [1] * (len(ids[1]) + 1)
    assert chances.shape == (8, 2)


def test_half_of_the_neighbours_change_places(store: TokenStore, tokenizer: Tokenizer) -> None:
    pairs = SentencePairs.prepare(store, tokenizer, 128, seed=0, duplicates=20, swapped=True)
    a_start, a_end, b_start, b_end = pairs.stretches.T
    changed = pairs.labels == NOT_NEXT
    # Binomial: within four standard deviations of a half.
    assert abs(changed.mean() - 0.5) < 4 * 0.5 / math.sqrt(len(changed))
    whole = a_end - a_start + b_end - b_start < 125
    assert (b_start[~changed & whole] == a_end[~changed & whole]).all()
    assert (a_start[changed & whole] == b_end[changed & whole]).all()
    documents = [np.searchsorted(store.offsets, at, side="right") for at in (a_start, b_start)]
    assert np.array_equal(*documents)


def test_pairs_that_stay_in_order_are_the_same_pairs(store: TokenStore, tokenizer: Tokenizer) -> None:
    """What X-14 compares differs in the order of the two texts alone."""
    stays, changes = (
        SentencePairs.prepare(store, tokenizer, 24, seed=3, duplicates=4, unrelated=share, swapped=True)
        for share in (0.0, 0.5)
    )
    assert not stays.labels.any()
    turned = np.where(changes.labels[:, None] == NOT_NEXT, changes.stretches[:, [2, 3, 0, 1]], changes.stretches)
    assert changes.labels.any()
    assert np.array_equal(stays.stretches, turned)


def test_a_note_says_where_one_label_dominates(store: TokenStore, tokenizer: Tokenizer) -> None:
    """C-21: where rows hold one sentence, the next one is always random; pairs that change places stay at a half."""
    short = SentencePairs.prepare(store, tokenizer, 16, seed=0, duplicates=5)
    share = float((short.labels == NOT_NEXT).mean())
    assert share > 0.7
    counts = LabelCounts.of(short.labels)
    notes = counts.notes(("IsNext", "NotNext"), 16)
    assert len(notes) == 2
    assert all(f"{share:.0%}" in note for note in notes)
    assert counts.guess(short.labels).values()["accuracy"] == pytest.approx(share)
    swapped = SentencePairs.prepare(store, tokenizer, 16, seed=0, duplicates=5, swapped=True)
    assert len(LabelCounts.of(swapped.labels).notes(("InOrder", "Swapped"), 16)) == 1


@pytest.mark.parametrize("negatives", ["swapped", "random"])
def test_held_out_text_without_pairs_is_left_out(negatives: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n\n".join(f"Here is one number {n}. There are two. Now." for n in range(20)))
    (tmp_path / "b.txt").write_text("Only this")
    files = {"data.files": [str(tmp_path / "a.txt")], "data.validation_files": [str(tmp_path / "b.txt")]}
    chosen = {**files, "task.negatives": negatives, "model.size": "tiny", "train.steps": 1}
    metrics = gf.train("sentence-order", out=tmp_path / "run", set=chosen).metrics
    assert metrics is not None
    assert metrics["measured_on"] == "the training text"


def test_the_baseline_is_the_frequency_of_the_labels() -> None:
    counts = LabelCounts((2, 5))
    assert counts.prior == (3 / 9, 6 / 9)
    assert counts.entropy == pytest.approx(-(3 / 9 * math.log(3 / 9) + 6 / 9 * math.log(6 / 9)))
    found = counts.guess([0, 1, 1]).values()
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["loss"] == pytest.approx(-math.log(3 / 9 * 6 / 9 * 6 / 9) / 3)


def test_a_tokenizer_that_frames_a_pair_otherwise_is_refused(tokenizer: Tokenizer) -> None:
    _check_frame(tokenizer)
    other = train_tokenizer("bpe", ["the fox and the dog"], vocabulary=300)  # <s> A </s></s> B </s>, as RoBERTa's
    assert len(other.pair_frame_ids[1]) == 2
    with pytest.raises(ConfigError) as raised:
        _check_frame(other)
    assert "[SEP]" in raised.value.wanted


@pytest.mark.parametrize(
    ("first", "second", "label"),
    [
        ("the man went to the store", "penguins are flightless birds", "NotNext"),
        ("the man went to [MASK] store", "he bought a gallon [MASK] milk", "IsNext"),
    ],
)
def test_the_bundled_model_knows_what_follows(first: str, second: str, label: str) -> None:
    """The sentences of the source document with their words; 84 and 82 % when they were measured."""
    found = load("next-sentence").classify(first, pair=second)
    assert found.label == label
    assert found.probabilities[label] > 0.75
