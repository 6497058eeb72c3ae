"""Language models: each token once as a label, the loss of an independent computation, baselines that add up to 1."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from glassformer.base.errors import ConfigError, DataError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.readers.read import Document
from glassformer.data.settings import CorpusSection
from glassformer.models.families import bert, gpt2, llama, marian
from glassformer.models.inputs import Inputs
from glassformer.scoring.score import Unigram
from glassformer.tasks.writing.language_model.task import LanguageModel, LanguageModelSection, NextTokens, stream_of
from glassformer.tasks.writing.next_token_scores import NEXT, Trigram, scores_of_sums
from glassformer.tasks.writing.writers import check_writes
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.windows import windows
from tests.data.made import build_store
from tests.refusals import refused
from tests.writers import READ, TEXTS, byte_pairs, writing

# Sums of a few hundred float64 numbers, in another order.
ORDER = 1e-10


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return byte_pairs()


@pytest.fixture(scope="module")
def make(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., NextTokens]:
    documents = (Document(text, "here") for text in TEXTS)
    store = build_store(documents, tokenizer, tmp_path_factory.mktemp("stores") / "store")

    def made(length: int, *, document_mask: bool = False) -> NextTokens:
        return NextTokens(store, tokenizer, CorpusSection(length=length, document_mask=document_mask))

    return made


def stream(source: NextTokens, tokenizer: Tokenizer) -> list[int]:
    """The documents one after another, each with the end after it."""
    store = source.text.store
    assert tokenizer.end_id is not None
    return [
        token for number in range(store.documents) for token in [*store.document(number).tolist(), tokenizer.end_id]
    ]


@pytest.mark.parametrize("length", [5, 16, 64, 4000])
def test_each_token_but_the_first_is_a_label_once(
    make: Callable[..., NextTokens], tokenizer: Tokenizer, length: int
) -> None:
    source = make(length)
    batch = source.batch(np.arange(len(source)), np.zeros(len(source), np.int64), shape=(len(source) + 2, length))
    ids, labels = batch.inputs.ids, batch.labels[NEXT]
    assert ids is not None
    known = labels != IGNORED
    expected = stream(source, tokenizer)
    assert labels[known].tolist() == expected[1:]
    assert ids[known].tolist() == expected[:-1]
    assert batch.counts[NEXT] == len(expected) - 1
    assert batch.weights.tolist() == [1.0] * len(source) + [0.0] * 2
    assert (labels[len(source) :] == IGNORED).all()
    assert stream_of(source).tolist() == expected


def test_documents_that_are_kept_apart_begin_as_a_text_does_that_is_written(
    make: Callable[..., NextTokens], tokenizer: Tokenizer
) -> None:
    source = make(4000, document_mask=True)
    batch = source.batch(np.arange(len(source)), np.zeros(len(source), np.int64), shape=(len(source), 4000))
    assert batch.inputs.ids is not None
    begins = batch.inputs.ids == tokenizer.end_id  # of GPT-2 the end is what a text begins with, too
    after = batch.labels[NEXT][begins]
    firsts = [int(source.text.store.document(number)[0]) for number in range(source.text.store.documents)]
    assert [label for label in after.tolist() if label != IGNORED] == firsts


def test_a_documents_loss_does_not_depend_on_its_neighbours(make: Callable[..., NextTokens]) -> None:
    model = writing()
    task = LanguageModel(LanguageModelSection(), Unigram(np.ones(300, np.int64)), None)
    source = make(READ, document_mask=True)
    batch = source.batch(np.arange(len(source)), np.zeros(len(source), np.int64), shape=(len(source), READ))
    found = float(task.losses(model.module, batch)[NEXT].detach())
    assert batch.inputs.documents is not None
    assert batch.inputs.ids is not None
    expected, count = 0.0, 0
    for row, documents in zip(batch.inputs.ids, batch.inputs.documents, strict=True):
        for document in documents.unique().tolist():
            its = row[documents == document]
            if document >= 0 and len(its) > 1:
                alone = model.module(_inputs(its[None])).logits[0]
                expected += float(cross_entropy(alone[:-1], its[1:], reduction="sum").detach())
                count += len(its) - 1
    # A row's last token may be followed by one of its own document in the next row: that label is not among these.
    beyond = batch.labels[NEXT][:, -1]
    rows = torch.nonzero(beyond != IGNORED)[:, 0]
    for row_number in rows.tolist():
        row, documents = batch.inputs.ids[row_number], batch.inputs.documents[row_number]
        its = row[documents == documents[-1]]
        alone = model.module(_inputs(its[None])).logits[0, -1]
        expected += float(cross_entropy(alone[None], beyond[row_number][None]).detach())
        count += 1
    assert count == batch.counts[NEXT]
    assert found == pytest.approx(expected, abs=ORDER * count)


def _inputs(ids: torch.Tensor) -> Inputs:
    return Inputs(ids=ids)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_loss_and_scores_are_those_of_an_independent_computation(
    make: Callable[..., NextTokens], tokenizer: Tokenizer, family: str
) -> None:
    model, source = writing(family), make(16)
    expected = stream(source, tokenizer)
    losses, right = [], 0
    for start in range(0, len(expected) - 1, 16):
        given, following = expected[start : start + 16], expected[start + 1 : start + 17]
        given = given[: len(following)]
        logits = model.module(_inputs(torch.tensor([given]))).logits[0]
        losses += cross_entropy(logits, torch.tensor(following), reduction="none").tolist()
        right += int((logits.argmax(-1) == torch.tensor(following)).sum())
    task = LanguageModel(LanguageModelSection(), source.unigram(), tokenizer.byte_counts)
    scores = task.evaluate(model.module, source)
    assert scores.count == len(losses) == len(expected) - 1
    assert scores["loss"] == pytest.approx(math.fsum(losses) / len(losses), abs=ORDER)
    assert scores["accuracy"] == pytest.approx(right / len(losses))
    end = tokenizer.end_id
    size = len(tokenizer.decode([token for token in expected[1:] if token != end]).encode())
    assert scores["bits_per_byte"] == pytest.approx(math.fsum(losses) / math.log(2) / size, abs=ORDER)
    batch = source.batch(np.arange(len(source)), np.zeros(len(source), np.int64), shape=(len(source), 16))
    trained = float(task.losses(model.module.train(), batch)[NEXT].detach())
    assert trained == pytest.approx(math.fsum(losses), abs=ORDER * len(losses))
    model.module.eval()
    low, high = scores.measures["this model"].intervals()["loss"][1:]
    assert low <= scores["loss"] <= high


def test_a_row_of_ends_alone_has_no_bytes_and_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    (measure,) = scores_of_sums(np.array([[1.0, 0, 1, 0], [math.log(2), 1, 1, 1]])).measures.values()
    low, high = measure.intervals()["bits_per_byte"][1:]
    assert measure.values()["bits_per_byte"] == pytest.approx(1 + 1 / math.log(2))
    assert 1 <= low <= high <= 1 + 1 / math.log(2) + ORDER
    assert not list(recwarn)


def test_a_tokenizers_bytes_are_those_of_its_text(tokenizer: Tokenizer) -> None:
    counts = tokenizer.byte_counts
    assert counts is not None
    for text in TEXTS:
        assert counts[tokenizer.ids(text)].sum() == len(text.encode())
    assert counts[tokenizer.end_id or 0] == 0


def test_the_trigrams_probabilities_add_up_to_one_and_follow_its_formula() -> None:
    rng = np.random.default_rng(0)
    vocabulary = 7
    ids = rng.integers(0, vocabulary - 1, 60)
    trigram = Trigram(ids, vocabulary)
    pairs = [(-1, 2), (0, 1), (3, 3), (6, 6), (6, 0), (int(ids[10]), int(ids[11]))]
    tokens = np.arange(vocabulary)
    unigram = (np.bincount(ids, minlength=vocabulary) + 1) / (60 + vocabulary)
    for before, last in pairs:
        found = trigram.probability(np.full(vocabulary, before), np.full(vocabulary, last), tokens)
        assert found.sum() == pytest.approx(1)
        expected = unigram
        for context in ([last], [before, last]):
            if -1 in context:
                break
            size = len(context)
            after = [int(ids[at + size]) for at in range(len(ids) - size) if ids[at : at + size].tolist() == context]
            if after:
                kinds = len(set(after))
                expected = (np.bincount(after, minlength=vocabulary) + kinds * expected) / (len(after) + kinds)
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("text", [*TEXTS, "a b", "☃"])
@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_text_is_scored_as_the_logits_say(family: str, text: str) -> None:
    model = writing(family)
    found = model.score(text)
    tokenizer = model.tokenizer
    ids = tokenizer.ids(text)
    given = [tokenizer.begin_id, *ids]
    expected = []
    for window_start, first, last in _windows(len(ids)):
        shown = given[:1] * (window_start == 0) + ids[window_start : window_start + READ]
        logits = model.module(_inputs(torch.tensor([shown[:READ]]))).logits[0].log_softmax(-1).detach()
        offset = 0 if window_start == 0 else 1
        expected += [float(logits[at - window_start - offset, ids[at]]) for at in range(first, last)]
    assert [each.log_probability for each in found.tokens] == pytest.approx(expected, abs=ORDER)
    whole = [each for each in found.tokens if "<0x" not in each.text]
    assert [text[each.start : each.end].strip() for each in whole] == [each.text.strip() for each in whole]
    assert found.bytes == len(text.encode())
    assert found.bits_per_byte == pytest.approx(-math.fsum(expected) / math.log(2) / len(text.encode()))


def _windows(count: int) -> list[tuple[int, int, int]]:
    """Where each window of the text begins, and the tokens that it answers for."""
    return [(window.start, window.first, window.last) for window in windows(count, READ, causal=True)]


def test_what_no_language_model_can_learn_is_refused() -> None:
    for config in (bert(size="tiny"), marian(size="tiny"), gpt2(size="tiny", vocabulary_head=False)):
        with pytest.raises(ConfigError):
            check_writes(config)
    check_writes(llama(size="tiny"))
    with refused(ConfigError, got="data.pack = false"):
        LanguageModel.check_data(CorpusSection(pack=False))
    with pytest.raises(DataError):
        writing().score("   ")
