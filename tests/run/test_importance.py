"""What is lost without a head: against runs with that head switched off by hand, on models that travel with the package
and on tiny ones.
"""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from glassformer.api.load import load
from glassformer.api.trace import Trace, trace
from glassformer.base.errors import ConfigError, DataError, GlassformerError
from glassformer.bundled.texts import slides, slides_model
from glassformer.look.texts.ablation import Asked, Ruler, ablate, heads_of_model
from glassformer.look.texts.importance import differences, head_importance, plain_batches, rows_in_batches
from glassformer.look.texts.reader import Given, Reader
from glassformer.look.trace.interventions import zero_head
from glassformer.models.inputs import Inputs
from tests.contracts.families import FAMILIES
from tests.look.rows import ALL
from tests.refusals import refused

NAMES = [row.name for row in FAMILIES]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [*NAMES, "gpt2, untied", "bert, norm on the branch", "llama, one key-value head"])
def test_losses_without_a_head_are_those_of_a_run_with_it_at_zero(name: str) -> None:
    row = next(row for row in ALL if row.name == name)
    model = row.model()
    inputs, decoder_inputs = row.batch(padding="right")
    tokens = (inputs if decoder_inputs is None else decoder_inputs).shape[1]
    if model.head is None:
        asked = Asked(inputs, decoder_inputs)
    else:
        at = torch.tensor([1, 2, tokens + 1])
        asked = Asked(inputs, decoder_inputs, at, torch.tensor([4, 5, 6]))
    measured, counts = ablate(model, asked)
    heads = heads_of_model(model)
    assert measured.shape == (3, 1 + len(heads))
    assert counts.tolist() == ([1, 1, 1] if model.head is None else [2, 1, 0])
    run = trace(model, inputs, decoder_inputs, scored_at=None if model.head is None else [1, 2, tokens + 1])
    for place, found in enumerate([run, *(run.intervene(zero_head(*head)) for head in heads)]):
        if model.head is None:
            expected = Ruler(model, asked)
            assert expected.of(run[run.statement.entering["states"]]).abs().max() < 1e-9
            wanted = expected.of(found[found.statement.entering["states"]])
        else:
            losses = F.nll_loss(found["head.log_probabilities"], torch.tensor([4, 5, 6]), reduction="none")
            wanted = torch.tensor([float(losses[0] + losses[1]), float(losses[2]), 0.0], dtype=torch.float64)
        # The loss is taken in float32.
        assert torch.allclose(measured[:, place], wanted, rtol=1e-5, atol=1e-6), (name, place)


def test_a_text_is_measured_by_the_mean_of_its_own_states() -> None:
    """Without padding: against the states of each text read alone, and cosines by NumPy."""
    row = next(row for row in ALL if row.name == "bert, pooler alone")
    model = row.model()
    inputs, _ = row.batch(padding="right")
    assert inputs.ids is not None
    assert inputs.segments is not None
    assert inputs.real is not None
    assert not bool(inputs.real.all())
    measured, _ = ablate(model, Asked(inputs))
    for number, (ids, segments, real) in enumerate(zip(inputs.ids, inputs.segments, inputs.real, strict=True)):
        alone = trace(model, Inputs(ids=ids[real][None], segments=segments[real][None]))
        whole = vector_of(alone)
        for place, head in enumerate(heads_of_model(model), start=1):
            other = vector_of(alone.intervene(zero_head(*head)))
            cosine = whole @ other / np.sqrt((whole @ whole) * (other @ other))
            assert float(measured[number, place]) == pytest.approx(1 - cosine, abs=1e-9)
    assert float(measured[:, 1:].min()) > 1e-4  # no head is without effect


def vector_of(run: Trace) -> Any:
    """The mean of the last states of the one text of a run, [W]."""
    return run[run.statement.entering["states"]].numpy()[0].mean(axis=0)


@pytest.mark.parametrize("name", ["distilbert, classifier", "bert, a pair", "bert, words", "bert, several labels"])
def test_a_classifier_is_measured_by_its_answers(name: str) -> None:
    """By probabilities as it answers with them: of scores that a temperature divides."""
    row = next(row for row in ALL if row.name == name)
    model = row.model()
    inputs, _ = row.batch()
    measured, counts = ablate(model, Asked(inputs, temperature=1.5))
    run = trace(model, inputs)

    def answered(run: Trace) -> Any:
        scores = run["sentence_head.logits"].double() / 1.5
        if name != "bert, several labels":
            return scores.softmax(-1).numpy()
        return np.concatenate([scores.sigmoid().numpy(), 1 - scores.sigmoid().numpy()], axis=-1)

    whole = answered(run)
    for place, head in enumerate(heads_of_model(model)):
        without = answered(run.intervene(zero_head(*head)))
        expected = (whole * np.log(whole / without)).sum(axis=-1)
        assert measured[:, place + 1].numpy() == pytest.approx(expected, abs=1e-9)
    assert measured[:, 0].abs().max() < 1e-12
    assert counts.tolist() == [1] * len(measured)


def test_every_word_of_few_texts_is_masked_once() -> None:
    model = load("english")
    texts = ["She likes the summer better than the winter.", "It was late."]
    seen: dict[int, list[int]] = {0: [], 1: []}
    for asked, owners in rows_in_batches(Reader.of(model), Given(tuple(texts)), 0):
        assert asked.scored_at is not None
        assert asked.labels is not None
        assert asked.inputs.ids is not None
        for place, label in zip(asked.scored_at.tolist(), asked.labels.tolist(), strict=True):
            row = place // asked.inputs.shape[1]
            assert asked.inputs.ids.flatten()[place] == model.tokenizer.mask_id
            seen[owners[row]].append(label)
    for number, text in enumerate(texts):
        assert sorted(seen[number]) == sorted(model.tokenizer.encode(text, special=False).ids)
    again = [
        asked.labels.tolist()
        for asked, _ in rows_in_batches(Reader.of(model), Given(tuple(texts)), 0)
        if asked.labels is not None
    ]
    assert again == [
        asked.labels.tolist()
        for asked, _ in rows_in_batches(Reader.of(model), Given(tuple(texts)), 0)
        if asked.labels is not None
    ]


def test_the_baseline_is_the_loss_that_a_trace_has() -> None:
    translator = load("en-fr")
    found = head_importance(translator, "I am a student.", "Je suis étudiant.")
    ((asked, owners),) = list(
        rows_in_batches(Reader.of(translator), Given(("I am a student.",), ("Je suis étudiant.",)), 0)
    )
    assert asked.labels is not None
    assert owners == [0]
    text = translator.tokenizer.target
    assert asked.labels.tolist() == [*text.encode("Je suis étudiant.", special=False).ids, text.end_id]
    run = translator.trace("I am a student.", "Je suis étudiant.", labels=asked.labels, scored_at=asked.scored_at)
    assert found.baseline == pytest.approx(float(run["loss"]), abs=1e-4)
    assert (found.measure, found.unit, found.texts) == ("loss of the targets' tokens", "nats", 1)
    assert found.scored == len(asked.labels)
    assert all(math.isnan(head.low) for head in found.heads)
    best = found.sorted[0]
    assert best.difference == max(head.difference for head in found.heads)
    without = run.intervene(zero_head(best.attention, best.head))
    assert best.difference == pytest.approx(float(without["loss"]) - found.baseline, abs=1e-4)


def test_the_slides_model_hides_its_words_without_a_token() -> None:
    model = load(slides_model())
    words = (
        [sentence.text for sentence in slides().sentences]
        if hasattr(slides().sentences[0], "text")
        else ["She likes the summer better"]
    )
    found = head_importance(model, words)
    assert found.measure == "loss of masked words"
    assert len(found.heads) == len(heads_of_model(model.module))


def test_intervals_are_over_texts() -> None:
    sums = np.array([[1.0, 2.0, 1.0], [3.0, 4.0, 3.0], [2.0, 3.0, 2.0]])
    (one, low, high), none = differences(sums, np.array([1.0, 1.0, 2.0]))
    assert one == pytest.approx(3 / 4)
    assert low < one < high
    assert none == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("texts", [[], ["  "], [""]])
def test_without_words_there_is_nothing_to_measure(texts: list[str]) -> None:
    with pytest.raises(GlassformerError):
        head_importance(load("english"), texts)


def test_as_many_targets_as_sources() -> None:
    with pytest.raises(DataError, match="one target for each source"):
        head_importance(load("en-fr"), ["a", "b"], ["c"])


@pytest.mark.parametrize("name", ["english", "writer"])
def test_each_token_of_a_long_text_is_predicted_once_and_counts_for_its_text(name: str) -> None:
    model = load(name)
    long, short = "She likes the summer better than the winter. " * 60, "It was late."
    seen: dict[int, list[int]] = {0: [], 1: []}
    for asked, owners in rows_in_batches(Reader.of(model), Given((long, short)), 0):
        assert asked.scored_at is not None
        assert asked.labels is not None
        for place, label in zip(asked.scored_at.tolist(), asked.labels.tolist(), strict=True):
            seen[owners[place // asked.inputs.shape[1]]].append(label)
    for number, text in enumerate((long, short)):
        assert sorted(seen[number]) == sorted(model.tokenizer.encode(text, special=False).ids)


def test_the_baseline_of_a_long_text_is_the_loss_of_its_score() -> None:
    model, text = load("writer"), "She likes the summer better than the winter. " * 60
    found, scored = head_importance(model, text), model.score(text)
    assert (found.texts, found.scored) == (1, len(scored.tokens))
    loss = -sum(token.log_probability for token in scored.tokens) / len(scored.tokens)
    assert found.baseline == pytest.approx(loss, abs=1e-5)  # float32 sums of other batches
    assert all(math.isnan(head.low) for head in found.heads)


def test_a_long_text_is_read_in_windows() -> None:
    model = load("english")
    text = "She likes the summer better than the winter. " * 60
    batches = list(rows_in_batches(Reader.of(model), Given((text,)), 0))
    assert model.length is not None
    assert all(asked.inputs.shape[1] <= model.length for asked, _ in batches)
    assert sum(1 for _ in plain_batches(Reader.of(model), Given((text,)))) >= 1


def test_tokens_that_are_hidden_are_those_of_each_text() -> None:
    model, texts = load("english", engine="torch"), ["She likes the summer.", "He left."]
    given = Given(tuple(texts))
    reader = Reader.of(model)
    lengths = [len(row.ids) for row, _ in reader.lines(given)[0]]
    ((asked, owners),) = rows_in_batches(reader, given, [[3], [1]])
    assert asked.labels is not None
    ids = {number: [row.ids for row, _ in reader.lines(given)[0]][number] for number in owners}
    assert asked.labels.tolist() == [ids[number][{0: 3, 1: 1}[number]] for number in owners]
    assert head_importance(model, texts[1], hidden=[[1]]).scored == 1
    wrong: list[Any] = [[[3], [lengths[1]]], [[3], [-1]], [[2]], [[2.5], [3]], [2, 3], [[2, 2], [3]], [], "ab", 3]
    for hidden in wrong:
        with refused(ConfigError, wanted="2 texts"):
            head_importance(model, texts, hidden=hidden)
    with refused(ConfigError, got="longer text"):
        head_importance(model, ["word " * 600], hidden=[[3]])
    with refused(ConfigError, wanted="masked words"):
        head_importance(load("writer", engine="torch"), texts, hidden=[[3], [1]])
    with refused(ConfigError, got="'a'"):
        head_importance(model, texts, seed="a")  # type: ignore[arg-type]  # what is refused
