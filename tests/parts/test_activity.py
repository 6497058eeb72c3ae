"""The mask-matrix post in its three readings, and each reading as a model's attention mask.

Q query words · K key words
"""

import math
from typing import Any, get_args

import pytest
import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, GlassformerError, ShapeError
from glassformer.bundled.texts import quick_brown_fox
from glassformer.config import ModelConfig
from glassformer.models.families import bert, modernbert, slides
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.parts.activity import READINGS, ActivityMatrix, NothingToSee, Reading, activity_matrix
from tests.contracts.families import random_weights
from tests.refusals import refused

FEATURES = torch.tensor(quick_brown_fox().features, dtype=torch.float64)
FOX = quick_brown_fox().sentence.masked_words
WORDS = len(FEATURES)


def by_loop(reading: Reading, masked_words: tuple[int, ...], rule: NothingToSee) -> list[list[float]]:
    """The post's loop, with the cells each reading forbids."""
    rows = FEATURES.tolist()
    result = []
    for i in range(WORDS):
        sees = {
            "code": [i],
            "stated": [j for j in range(i + 1) if j not in masked_words],
            "pairs": [j for j in range(WORDS) if j not in masked_words],
        }[reading]
        if not sees and rule == "itself":
            sees = [i]
        grown = {j: math.exp(sum(a * b for a, b in zip(rows[i], rows[j], strict=True))) for j in sees}
        result.append([grown.get(j, 0.0) / sum(grown.values()) if grown else 0.0 for j in range(WORDS)])
    return result


@pytest.mark.parametrize("rule", get_args(NothingToSee))
@pytest.mark.parametrize("masked_words", [(), FOX, (0,), (0, 1, 5), tuple(range(WORDS))], ids=str)
@pytest.mark.parametrize("reading", get_args(Reading))
def test_each_reading_is_its_loop(reading: Reading, masked_words: tuple[int, ...], rule: NothingToSee) -> None:
    found = activity_matrix(FEATURES, masked_words, reading=reading, nothing_to_see=rule)
    expected = torch.tensor(by_loop(reading, masked_words, rule), dtype=torch.float64)
    torch.testing.assert_close(found.result, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("window", "prefix", "padding"), [(2, 0, 0), (None, 2, 0), (1, 1, 3), (None, 0, 9)])
@pytest.mark.parametrize("reading", get_args(Reading))
def test_a_window_a_prefix_and_padding(reading: Reading, window: int | None, prefix: int, padding: int) -> None:
    found = activity_matrix(
        FEATURES, FOX, reading=reading, nothing_to_see="zero", window=window, prefix=prefix, padding=padding
    )

    def reached(i: int, j: int) -> bool:
        return {"code": i == j, "stated": j <= i, "pairs": True}[reading]

    expected = [
        [
            ((reached(i, j) and (window is None or abs(i - j) <= window)) or j < prefix)
            and (reading == "code" or j not in FOX)
            and j < WORDS - padding
            for j in range(WORDS)
        ]
        for i in range(WORDS)
    ]
    assert found.allowed.tolist() == expected
    assert (found.window, found.prefix, found.padding) == (window, prefix, padding)


def test_every_reading_is_built() -> None:
    assert set(READINGS) == set(get_args(Reading))


def test_the_posts_code_prints_the_identity() -> None:
    found = activity_matrix(FEATURES, FOX, reading="code")
    assert found.result.tolist() == [list(row) for row in quick_brown_fox().matrix]
    assert found.without_keys == ()
    assert str(found) == "code: itself"


INTENDED = {
    0: [1.0],
    1: [0.4205, 0.5795],
    2: [0.2364, 0.2847, 0.4788],
    3: [0.1957, 0.1953, 0.6090],
    4: [0.2729, 0.2282, 0.2312, 0.0, 0.2677],
    8: [0.0756, 0.0590, 0.1378, 0.0, 0.1249, 0.1038, 0.2260, 0.0839, 0.1890],
}


@pytest.mark.parametrize("row", INTENDED)
def test_n12_the_stated_intention(row: int) -> None:
    """N-12: causal and not masked; the row of the fox looks at the three words before it, not at itself."""
    found = activity_matrix(FEATURES, FOX, reading="stated")
    expected = INTENDED[row] + [0.0] * (WORDS - len(INTENDED[row]))
    assert found.result[row].tolist() == pytest.approx(expected, abs=5e-5)
    assert bool((found.result[:, 3] == 0).all())


def test_the_steps_are_the_posts() -> None:
    found = activity_matrix(FEATURES, FOX, reading="stated")
    assert list(found.steps) == ["empty", "pairs", "masked", "weights", "result"]
    assert bool((found.empty == 0).all())
    torch.testing.assert_close(found.pairs, FEATURES @ FEATURES.T)
    assert torch.equal(found.masked.isinf(), ~found.allowed)
    assert torch.equal(found.masked[found.allowed], found.pairs[found.allowed])
    assert found.weights.sum(dim=-1).tolist() == pytest.approx([1.0] * WORDS, abs=1e-14)
    assert torch.equal(found.result, found.weights)


def test_a_word_with_nothing_to_look_at_is_told() -> None:
    alone = activity_matrix(FEATURES, (0, 1), reading="stated", nothing_to_see="itself")
    assert alone.without_keys == (0, 1)
    assert alone.result[1].tolist() == [0.0, 1.0] + [0.0] * 7
    assert str(alone) == "stated: causal & visible; word 0, 1 would have nothing to look at and looks at itself"
    zero = activity_matrix(FEATURES, (0,), reading="stated", nothing_to_see="zero")
    assert zero.result[0].tolist() == [0.0] * WORDS
    assert "word 0 would have nothing to look at and is a row of zeros" in str(zero)
    assert bool(zero.result.isfinite().all())


PAIRS = torch.zeros(3, 2)


@pytest.mark.parametrize(
    ("arguments", "error", "wanted", "got"),
    [
        ({"features": torch.zeros(3)}, ShapeError, ("features",), "[3]"),
        ({"features": PAIRS, "masked_words": (3,)}, ShapeError, ("masked_words", "0", "2"), "3"),
        (
            {"features": torch.zeros(3, 2), "reading": "diagonal"},
            ConfigError,
            ("code", "stated", "pairs"),
            "'diagonal'",
        ),
        (
            {"features": torch.zeros(3, 2), "nothing_to_see": "nan"},
            ConfigError,
            ("nothing_to_see", "'itself'", "'zero'"),
            "'nan'",
        ),
        ({"features": PAIRS, "window": 0}, ConfigError, ("window", "1"), "0"),
        ({"features": PAIRS, "padding": -1}, ConfigError, ("padding", "0"), "-1"),
    ],
)
def test_what_cannot_be_read_is_refused(
    arguments: dict[str, Any], error: type[GlassformerError], wanted: tuple[str, ...], got: str
) -> None:
    with refused(error, wanted=wanted, got=got):
        activity_matrix(**arguments)


# --------------------------------------------------------------------------- as a model's mask

ONE_LAYER: dict[str, ModelConfig] = {
    "bert": bert(vocabulary=15, layers=1, width=12, heads=3, feed_forward=16, dropout=0.1),
    "modernbert": modernbert(vocabulary=15, layers=1, width=12, heads=3, feed_forward=16, dropout=0.1),
    "slides": slides(dropout=0.1),
}


def reached(model: Transformer, matrix: ActivityMatrix) -> Tensor:
    """Whose word vectors the state of each word depends on, [Q, K], by the gradients."""
    width = model.word_table.shape[1]
    vectors = torch.randn(1, WORDS, width, dtype=torch.float64, requires_grad=True)
    states = model(Inputs(vectors=vectors, may_look=matrix.may_look)).states
    rows = []
    for place in range(WORDS):
        (gradient,) = torch.autograd.grad(states[0, place].square().sum(), vectors, retain_graph=True)
        assert bool(gradient.isfinite().all())
        rows.append(gradient[0].abs().amax(dim=-1) > 0)
    return torch.stack(rows)


@pytest.mark.parametrize("training", [False, True], ids=["predicting", "training"])
@pytest.mark.parametrize("masked_words", [FOX, (0,)], ids=str)
@pytest.mark.parametrize("reading", get_args(Reading))
@pytest.mark.parametrize("family", ONE_LAYER)
def test_a_model_looks_where_the_matrix_allows(
    family: str, reading: Reading, masked_words: tuple[int, ...], training: bool
) -> None:
    """In one layer a word depends on those it may look at, and by the residual on itself."""
    model = random_weights(Transformer(ONE_LAYER[family]), seed=0).double().train(training)
    matrix = activity_matrix(FEATURES, masked_words, reading=reading)
    expected = matrix.allowed | torch.eye(WORDS, dtype=torch.bool)
    found = reached(model, matrix)
    if training:  # dropout may cut a way, and opens none
        assert not (found & ~expected).any()
        assert int(found.sum()) > 0.7 * int(expected.sum())
    else:
        assert torch.equal(found, expected)


def test_a_row_of_zeros_gathers_nothing_in_a_model_that_forbids_by_minus_infinity() -> None:
    model = random_weights(Transformer(ONE_LAYER["modernbert"]), seed=0).double().eval()
    matrix = activity_matrix(FEATURES, (0,), reading="stated", nothing_to_see="zero")
    found = reached(model, matrix)
    assert found[0].tolist() == [True] + [False] * (WORDS - 1)


def test_training_under_the_mask_learns() -> None:
    """The masked word is guessed from the words the matrix allows: the loss falls to almost nothing."""
    words = quick_brown_fox().sentence.words
    number = {word: place for place, word in enumerate(dict.fromkeys(words))}
    ids = torch.tensor([[number[word] for word in words]])
    matrix = activity_matrix(FEATURES, FOX, reading="pairs")
    model = Transformer(slides(vocabulary=len(number)))
    model = random_weights(model, seed=0)
    inputs = Inputs(
        ids=ids, masked_words=torch.tensor([[place in FOX for place in range(WORDS)]]), may_look=matrix.may_look
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        logits = model(inputs).logits
        loss = torch.nn.functional.cross_entropy(logits[0, list(FOX)], ids[0, list(FOX)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05 < losses[0]
    assert int(model.eval()(inputs).logits[0, 3].argmax()) == number["fox"]
