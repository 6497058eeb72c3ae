"""A recorded search: its tree is that of a naive search in float64, and its answers are those of an unrecorded one."""

from math import inf

import pytest

from glassformer.decode.loop import decode
from glassformer.decode.record import Recorder
from glassformer.decode.request import Hypothesis, Request
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.step import Wanted
from glassformer.look.texts.tree import SearchTree, tree_lines
from glassformer.look.texts.tree import recorded as kept
from glassformer.models.transformer import Transformer
from tests.decode.reference import penalty
from tests.decode.sentences import BEAM, IDS, ROUNDING, answers, log_probabilities, named, requests, words

VOCABULARY = 7


def recorded(
    model: Transformer, request: Request, settings: DecodeSettings, **more: object
) -> tuple[SearchTree, list[Hypothesis]]:
    recorder, found = Recorder(), list[Hypothesis]()
    for step in decode(model, [request], Wanted(settings, ids=IDS, recorder=recorder, **more)):  # type: ignore[arg-type]  # passed on
        found = next((each.hypotheses for each in step.finished), found)
    prompt = [*(request.prompt or (IDS.begin,)), *request.prefix]
    nodes, texts, _ = kept(recorder, request.number)
    source = None if request.source is None else tuple(request.source)
    tree = SearchTree(settings, source, tuple(prompt), nodes, texts, tuple(IDS.never))
    return tree, found


Beam = list[tuple[float, tuple[int, ...]]]


def naive_beams(model: Transformer, request: Request, settings: DecodeSettings) -> list[Beam]:
    """The hypotheses of each step with their totals, one at a time and without a cache. What can no longer become one
    of the answers, whatever follows, goes on no further.
    """
    alive: Beam = [(0.0, ())]
    complete: list[float] = []
    steps = []
    most = settings.max_tokens
    for size in range(1, most + 1):
        ranked = [
            (total + logarithm, (*tokens, token))
            for total, tokens in alive
            for token, logarithm in enumerate(log_probabilities(model, request, tokens)[-1].tolist())
        ]
        ranked.sort(key=lambda each: -each[0])
        over = [tokens[-1] in IDS.end or size == most for _, tokens in ranked]
        beam = [each for each, done in zip(ranked, over, strict=True) if not done][: settings.beams]
        best = [each for each, done in zip(ranked, over, strict=True) if done and each in ranked[: settings.beams]]
        complete = sorted([*complete, *(total / penalty(size, settings) for total, _ in best)], reverse=True)
        least = complete[settings.n_best - 1] if len(complete) >= settings.n_best else -inf
        alive = [each for each in beam if max(each[0] / penalty(at, settings) for at in (size + 1, most)) > least]
        steps.append(beam)
    return steps


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("beams", [1, 3, 5, 12])
@pytest.mark.parametrize("name", ["marian", "gpt2"])
def test_kept_nodes_are_the_beam_of_a_naive_search(name: str, beams: int, alpha: float) -> None:
    model = named(name).model(vocabulary=VOCABULARY)
    request = requests(model, 3)[2]
    settings = BEAM.model_copy(update={"beams": beams, "n_best": beams, "max_tokens": 5, "length_penalty": alpha})
    tree, _ = recorded(model, request, settings)
    for nodes, beam in zip(tree.steps, naive_beams(model, request, settings), strict=False):
        kept = [node for node in nodes if node.fate in ("kept", "hopeless")]
        found = {tuple(each.token for each in tree.path(node)): node.total for node in kept}
        expected = {tokens: total for total, tokens in beam}
        assert found.keys() == expected.keys()
        assert all(found[tokens] == pytest.approx(total, abs=ROUNDING) for tokens, total in expected.items())
        lost = [node.total for node in nodes if node.fate == "below"]
        assert max(lost, default=-inf) <= min((node.total for node in kept), default=inf)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["marian", "gpt2", "t5"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"n_best": 1, "length_penalty": 0.6},
        {"beams": 1, "n_best": 1},
        {"beams": 20, "n_best": 20},
        {"beams": 4, "n_best": 4, "groups": 2, "diversity": 0.7},
        {"no_repeat_ngram": 1, "min_tokens": 2},
        {"repetition_penalty": 1.4},
        {"early_stopping": "full"},
        {"method": "greedy", "beams": 1, "n_best": 1},
        {"method": "sample", "beams": 1, "n_best": 3, "temperature": 1.3, "top_k": 4, "top_p": 0.9, "min_p": 0.02},
    ],
)
def test_a_tree_has_the_answers_of_the_search_to_the_bit(name: str, more: dict[str, object]) -> None:
    model = named(name).model(vocabulary=VOCABULARY).float()
    settings = BEAM.model_copy(update=more)
    for request in requests(model, 3):
        tree, found = recorded(model, request, settings)
        assert found == answers(model, [request], settings)[request.number]  # recording changes nothing
        assert len(tree.answers) >= len(found)
        for node, answer in zip(tree.answers, found, strict=False):
            path = tree.path(node)
            assert tuple(each.token for each in path if each.token not in IDS.end) == answer.ids
            assert tuple(each.log_probability for each in path) == answer.token_log_probabilities
            assert node.score == answer.score
            assert sum(each.log_probability for each in path) == answer.log_probability
            assert node.score == pytest.approx(node.total / penalty(len(path), settings) + node.coverage, rel=1e-6)
        assert all(line == line.rstrip() and len(line) <= 80 for line in tree_lines(tree))


def test_several_requests_at_once_have_trees_of_their_own() -> None:
    model = named("marian").model()
    asked, recorder = requests(model, 7), Recorder()
    for _ in decode(model, asked, Wanted(BEAM, ids=IDS, slots=3, recorder=recorder)):
        pass
    for request in asked:
        alone, _ = recorded(model, request, BEAM)
        together = recorder.nodes[request.number]
        assert [(node.parent, node.token, node.fate) for node in together] == [
            (node.parent, node.token, node.fate) for node in alone.nodes
        ]


def test_what_is_forbidden_is_reported_where_it_was_among_the_best() -> None:
    model = named("marian").model(vocabulary=VOCABULARY)
    request = requests(model, 1)[0]
    free, _ = recorded(model, request, BEAM)
    assert free.best is not None
    first = free.path(free.best)[0].token
    tree, _ = recorded(model, Request(0, source=request.source, forbidden=((first,),)), BEAM)
    lost = [node for node in tree.steps[0] if node.fate == "forbidden"]
    assert [node.token for node in lost] == [first]
    assert lost[0].log_probability == pytest.approx(free.path(free.best)[0].log_probability, abs=ROUNDING)


def test_words_that_must_occur_end_what_is_without_them() -> None:
    model = named("marian").model(vocabulary=VOCABULARY)
    request = requests(model, 1, forced=words((3,), (4,)))[0]
    tree, found = recorded(model, request, BEAM, forced=True)
    assert found
    assert tree.best is not None
    assert {3, 4} <= {node.token for node in tree.path(tree.best)}
    assert any(node.fate == "wordless" for node in tree.nodes)


def test_a_draw_records_its_number_and_what_was_left_out() -> None:
    model = named("gpt2").model(vocabulary=VOCABULARY)
    settings = DecodeSettings(method="sample", n_best=2, top_k=3, max_tokens=6, seed=5)
    tree, _ = recorded(model, requests(model, 1)[0], settings)
    drawn = [node for node in tree.nodes if node.draw is not None]
    assert drawn
    for node in drawn:
        assert node.draw is not None
        assert node.share is not None
        chance, begin, end = node.draw
        assert begin - ROUNDING <= chance < end + ROUNDING
        assert end - begin == pytest.approx(node.share, abs=ROUNDING)
        # Of the other tokens at most two more could have been drawn, and their shares add up to 1.
        others = [each for each in tree.steps[node.step] if each.parent == node.parent and each.draw is None]
        if node.parent is not None or settings.n_best == 1:
            assert sum(each.share or 0 for each in others) + node.share == pytest.approx(1, abs=ROUNDING)
            assert sum(each.fate == "undrawn" for each in others) == 2
            # Their parts of 0 to 1 lie end to end, in the order of the tokens.
            parts = sorted((each for each in (node, *others) if each.share), key=lambda each: each.token)
            ends = [each.start + each.share for each in parts if each.start is not None and each.share is not None]
            assert [each.start for each in parts] == pytest.approx([0, *ends[:-1]], abs=ROUNDING)
        assert all((each.share == 0) == (each.fate == "cut") for each in others)
        assert node.start == begin
