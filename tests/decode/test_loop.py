"""The loop: what it answers does not depend on its cache, on the batch, on refilling or on the order of requests."""

from collections.abc import Iterator, Sequence

import pytest
import torch

from glassformer.base.errors import ConfigError
from glassformer.decode.loop import decode
from glassformer.decode.request import Hypothesis, Request
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.step import Step, Wanted
from glassformer.look.trace.watch import watch
from glassformer.models.inputs import Inputs
from glassformer.runtime.threads import own_threads
from tests.contracts.families import OF_ANY_LENGTH, Row
from tests.decode.sentences import BEAM, IDS, ROUNDING, answers, log_probabilities, named, requests, whole
from tests.refusals import refused

DECODERS = [row for row in OF_ANY_LENGTH if row.config().decoder is not None]
GREEDY = DecodeSettings(max_tokens=7)
SAMPLES = DecodeSettings(method="sample", n_best=3, max_tokens=7, temperature=1.3, top_k=9, top_p=0.95, min_p=0.01)
METHODS = {"greedy": GREEDY, "beam": BEAM, "sample": SAMPLES}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("row", DECODERS, ids=str)
def test_with_a_cache_as_without(row: Row) -> None:
    """The log-probability of each token, of hypotheses of all depths side by side, is that of a run without a cache."""
    model = row.model()
    asked = requests(model, 5)
    for request, found in zip(asked, sorted(answers(model, asked, BEAM, slots=2).items()), strict=True):
        assert len(found[1]) == 3
        for answer in found[1]:
            check(answer, log_probabilities(model, request, whole(answer)).tolist())


def check(answer: Hypothesis, logs: Sequence[Sequence[float]]) -> None:
    expected = [logs[place][token] for place, token in enumerate(whole(answer))]
    assert answer.token_log_probabilities == pytest.approx(expected, abs=ROUNDING)
    assert answer.log_probability == pytest.approx(sum(expected), abs=ROUNDING)
    assert answer.score == pytest.approx(sum(expected), abs=ROUNDING)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["marian", "t5", "gpt2"])
def test_an_answer_does_not_depend_on_the_others(name: str, method: str) -> None:
    """Alone, refilled into a few rows, all at once, and in another order."""
    model = named(name).model()
    asked = requests(model, 6)
    alone = {request.number: answers(model, [request], METHODS[method])[request.number] for request in asked}
    for slots in (2, 64):
        same(alone, answers(model, asked, METHODS[method], slots=slots))
    same(alone, answers(model, asked[::-1], METHODS[method], slots=3))


def same(expected: dict[int, list[Hypothesis]], found: dict[int, list[Hypothesis]]) -> None:
    assert found.keys() == expected.keys()
    for number, answer in expected.items():
        assert [each.ids for each in found[number]] == [each.ids for each in answer]
        scores = [each.score for each in answer]
        assert [each.score for each in found[number]] == pytest.approx(scores, abs=ROUNDING)


@pytest.mark.parametrize("name", ["marian", "gpt2"])
def test_greedy_search_is_a_beam_of_one(name: str) -> None:
    model = named(name).model()
    asked = requests(model, 8)
    beam = DecodeSettings(method="beam", max_tokens=7)
    same(answers(model, asked, GREEDY), answers(model, asked, beam))
    for request in asked:
        (answer,) = answers(model, [request], GREEDY)[request.number]
        logs = log_probabilities(model, request, answer.ids)
        tokens = whole(answer)
        assert logs.argmax(dim=-1)[: len(tokens)].tolist() == list(tokens)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_follows_the_end_and_nothing_is_longer_than_asked(method: str) -> None:
    model = named("marian").model()
    asked = [Request(each.number, source=each.source, max_tokens=1 + each.number) for each in requests(model, 7)]
    for number, found in answers(model, asked, METHODS[method], slots=3).items():
        assert found
        for answer in found:
            assert IDS.end[0] not in answer.ids
            assert len(whole(answer)) == len(answer.token_log_probabilities) <= 1 + number
            assert answer.ended or len(answer.ids) == 1 + number


def test_an_answer_leaves_in_the_step_in_which_another_enters() -> None:
    model = named("marian").model()
    asked = [Request(each.number, source=each.source, max_tokens=2 + each.number % 4) for each in requests(model, 9)]
    full = DecodeSettings(max_tokens=7, min_tokens=7)
    steps = list(decode(model, asked, Wanted(full, ids=IDS, slots=2)))
    at_work = [sum(row is not None for row in step.rows) + len(step.finished) for step in steps]
    assert at_work[:-3] == [2] * len(at_work[:-3])
    # The first token of each comes with its prompt.
    assert len(steps) == pytest.approx(sum(1 + number % 4 for number in range(9)) / 2, abs=1)


def test_a_step_has_the_tokens_so_far() -> None:
    model = named("gpt2").model()
    asked = requests(model, 3)
    seen: dict[int, list[list[int]]] = {request.number: [] for request in asked}
    for step in decode(model, asked, Wanted(GREEDY, ids=IDS)):
        for number, hypotheses in step.unfinished():
            seen[number] += hypotheses
        for finished in step.finished:
            (answer,) = finished.hypotheses
            # The first token comes with the prompt, and the last one with the answer.
            last = len(answer.ids) - (not answer.ended)
            assert seen[finished.number] == [list(answer.ids[:size]) for size in range(2, last + 1)]


def test_a_prefix_begins_the_answer_and_its_probabilities_are_reported() -> None:
    model = named("marian").model()
    asked = [
        Request(each.number, source=each.source, prefix=(5, 6, 7)[: each.number % 4]) for each in requests(model, 6)
    ]
    for number, found in answers(model, asked, BEAM, slots=2).items():
        for answer in found:
            size = number % 4
            assert answer.ids[:size] == (5, 6, 7)[:size]
            logs = log_probabilities(model, asked[number], whole(answer)).tolist()
            expected = [logs[place][token] for place, token in enumerate(whole(answer))]
            assert answer.token_log_probabilities == pytest.approx(expected, abs=ROUNDING)
            assert answer.score == pytest.approx(sum(expected[size:]), abs=ROUNDING)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("head", [None, 1])
@pytest.mark.parametrize("method", METHODS)
def test_attention_is_that_of_a_run_without_a_cache(method: str, head: int | None) -> None:
    model = named("marian").model()
    asked = [Request(each.number, source=each.source, prefix=(4,) * (each.number % 2)) for each in requests(model, 5)]
    for number, found in answers(model, asked, METHODS[method], slots=2, attention=(0, 2), head=head).items():
        source = list(asked[number].source or ())
        for answer in found:
            side = Inputs(ids=torch.tensor([[IDS.begin, *whole(answer)[:-1]]]))
            with torch.inference_mode(), watch(model, "decoder.blocks.*.cross_attention.weights") as seen:
                model(Inputs(ids=torch.tensor([source])), side)
            names = [f"decoder.blocks.{block}.cross_attention.weights" for block in (0, 2)]
            heads = slice(None) if head is None else slice(head, head + 1)
            expected = torch.stack([seen[name][0, heads].mean(dim=0) for name in names]).mean(dim=0)
            assert answer.attention is not None
            torch.testing.assert_close(answer.attention, expected, rtol=0, atol=ROUNDING)


def test_an_answer_ends_where_the_model_has_no_more_positions() -> None:
    model = named("gpt2").model()  # 16 positions
    found = answers(model, requests(model, 1), DecodeSettings(max_tokens=99, min_tokens=99))
    assert len(found[0][0].ids) + len(requests(model, 1)[0].prompt or ()) == 17


@pytest.mark.parametrize("method", METHODS)
def test_in_bf16_probabilities_and_scores_are_float32(method: str) -> None:
    model = named("marian").model(dtype=torch.bfloat16)
    exact = named("marian").model(dtype=torch.bfloat16).double()
    asked = requests(model, 4)
    for number, found in answers(model, asked, METHODS[method], slots=3, attention=(2,)).items():
        for answer in found:
            assert answer.attention is not None
            assert answer.attention.dtype == torch.float32
            logs = log_probabilities(exact, asked[number], whole(answer))
            expected = sum(float(logs[place, token]) for place, token in enumerate(whole(answer)))
            # Logits of some units with 8 bits: 1/64 for each, and as much for the states, over seven tokens.
            assert answer.log_probability == pytest.approx(expected, abs=0.5)
            assert answer.log_probability == pytest.approx(sum(answer.token_log_probabilities))


def test_no_requests_no_steps() -> None:
    assert list(decode(named("gpt2").model(), [], Wanted(GREEDY, ids=IDS))) == []


def test_an_empty_source_is_answered() -> None:
    model = named("marian").model()
    found = answers(model, [Request(0, source=()), Request(1, source=(5, 6))], GREEDY)
    alone = answers(model, [Request(0, source=())], GREEDY)
    assert found[0][0].ids == alone[0][0].ids


def test_what_a_model_cannot_do_is_refused() -> None:
    model = named("gpt2").model()
    asked = requests(model, 1)
    headless = Row("bert, pooler alone", "bert", {"sentence_labels": 0, "vocabulary_head": False}).model()
    impossible: list[tuple[Iterator[Step], tuple[str, ...], str]] = [
        (
            decode(model, asked, Wanted(BEAM.model_copy(update={"coverage_penalty": 0.2}), ids=IDS)),
            ("coverage_penalty",),
            "gpt2",
        ),
        (decode(model, asked, Wanted(GREEDY.model_copy(update={"stop": (".",)}), ids=IDS)), ("text_of",), "None"),
        (decode(model, [Request(0, prompt=(5,) * 17)], Wanted(GREEDY, ids=IDS)), ("request 0", "16"), "17"),
        (decode(model, asked, Wanted(GREEDY, ids=IDS, slots=0)), ("slot",), "0"),
        (decode(model, asked, Wanted(GREEDY, ids=IDS, attention=(0,))), ("encoder",), "gpt2"),
        (decode(named("marian").model(), asked, Wanted(GREEDY, ids=IDS, attention=(3,))), ("0", "2"), "3"),
        (decode(named("marian").model(), asked, Wanted(GREEDY, ids=IDS, attention=(2,), head=9)), ("0",), "9"),
        (decode(headless, asked, Wanted(GREEDY, ids=IDS)), ("head",), "bert"),
        (decode(named("bert").model(), asked, Wanted(GREEDY, ids=IDS)), ("causal",), "bert"),
        (decode(named("gpt2").model().train(), asked, Wanted(GREEDY, ids=IDS)), ("eval",), "training"),
    ]
    for steps, wanted, got in impossible:
        with refused(ConfigError, wanted=wanted, got=got):
            list(steps)


@pytest.mark.parametrize(("sentences", "threads"), [(4, 1), (5, 2)])
def test_a_few_sentences_of_a_narrow_model_need_one_thread(sentences: int, threads: int) -> None:
    """A second one would gain nothing there, and each product would wait for it on a busy machine. Between two steps
    the caller has its own number.
    """
    model, within = named("gpt2").model(), set()
    model.output_stack.register_forward_hook(lambda *_: within.add(torch.get_num_threads()))
    with own_threads(2):
        steps = decode(model, requests(model, sentences), Wanted(GREEDY, IDS))
        assert {torch.get_num_threads() for _ in steps} == {2}
    assert within == {threads}
