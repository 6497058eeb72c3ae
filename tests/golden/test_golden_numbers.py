"""Numbers that the source documents print or imply, computed by our parts: N-1 … N-7 and N-13.

B sentences · S tokens · W width · H heads · D query size
"""

import inspect
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from glassformer.bundled.texts import score_table, thinking_machines
from glassformer.bundled.texts import slides as slide_texts
from glassformer.config import AttentionConfig, ModelConfig
from glassformer.data.batches.pairs import SentencePairs
from glassformer.models.families import bert, distilbert, family_config, slides, vaswani2017
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from glassformer.parts.attention import Attention
from glassformer.parts.context import Context
from glassformer.parts.mask import build_fill
from glassformer.parts.position import interleaved, tensor2tensor
from glassformer.saved.recipe import Recipe, resolve
from glassformer.tasks.words.bert.settings import BertSection
from glassformer.training.budget import linear
from glassformer.training.optimize import build_optimizer
from tests.taps import record_taps


def weights_of(scores: list[list[float]], size: int) -> Tensor:
    """What an attention with this query size makes of given dot products: the keys are given, the queries are units."""
    count = len(scores)
    part = Attention(AttentionConfig(heads=1, key_value_heads=1, query_size=size, value_size=1), size).double()
    query = torch.eye(count, size, dtype=torch.float64)[None, None]  # [1, 1, Q, D]
    key = torch.zeros(1, 1, len(scores[0]), size, dtype=torch.float64)  # [1, 1, K, D]
    key[0, 0, :, :count] = torch.tensor(scores, dtype=torch.float64).T
    value = torch.zeros(1, 1, len(scores[0]), 1, dtype=torch.float64)
    with record_taps(part) as seen:
        part.explicit(query, key, value, None, None, Context(masks={None: None}))
    assert seen["scores"][0, 0].tolist() == scores
    return seen["weights"][0, 0]


def test_n1_thinking_machines() -> None:
    """Scores 112 and 96 over √64 = 8 are 14 and 12; their weights print as 0.88 and 0.12."""
    example = thinking_machines()
    weights = weights_of([list(example.scores)], example.query_size)[0].tolist()
    assert weights == pytest.approx([0.8808, 0.1192], abs=5e-5)
    assert [round(weight, 2) for weight in weights] == list(example.weights)


def test_n2_the_root_of_the_query_size() -> None:
    part = Attention(AttentionConfig(heads=1, key_value_heads=1, query_size=64, value_size=64), 64)
    assert part.scale == 1 / 8
    example = thinking_machines()
    assert tuple(score * part.scale for score in example.scores) == example.scaled


def test_n3_minus_a_thousand_weighs_exactly_nothing_in_float32() -> None:
    assert torch.tensor(-1000.0).exp().item() == 0.0
    fill = build_fill("set", -1000.0)
    scores, looks = torch.tensor([[3.0, 7.0, -2.0]]), torch.tensor([[True, False, True]])
    weights = fill.softmax(fill(scores, looks), looks)
    assert weights.dtype == torch.float32
    assert weights[0, 1].item() == 0.0
    assert weights.sum().item() == pytest.approx(1.0, abs=1e-7)


def test_n4_shapes_of_the_slides() -> None:
    story = slide_texts()
    model = build(slides()).eval()
    number = {word: place for place, word in enumerate(story.vocabulary)}
    inputs = Inputs(
        ids=torch.tensor([[number[word] for word in sentence.words] for sentence in story.sentences]),
        masked_words=torch.tensor(
            [[place in sentence.masked_words for place in range(5)] for sentence in story.sentences]
        ),
    )
    with record_taps(model) as seen:
        logits = model(inputs).logits
    attention = "encoder.blocks.0.self_attention"
    assert seen["encoder.embed.sum"].shape == (3, 5, 6)
    assert seen[f"{attention}.scores"].shape == seen[f"{attention}.weights"].shape == (3, 2, 5, 5)
    assert seen[f"{attention}.merged"].shape == (3, 5, 8)
    assert logits is not None
    assert logits.shape == (3, 5, 15)
    matrices = dict(model.named_parameters())
    body = "encoder.blocks.0.self_attention.body"
    for name in ("query", "key", "value"):  # torch stores output x input: the slides' 6 x 8 stands on its side
        assert matrices[f"{body}.{name}.weight"].T.shape == (6, 8)
        assert matrices[f"{body}.{name}.weight"].numel() == 6 * (4 * 2) == 48
        assert f"{body}.{name}.bias" not in matrices
    assert matrices[f"{body}.output.weight"].T.shape == (8, 6)


def sinusoids(count: int, width: int) -> Tensor:
    """The paper's vectors of positions 0 … count-1, [S, W]."""
    return interleaved(torch.arange(count)[None], width)[0]


def test_n5_the_first_position_in_two_layouts() -> None:
    one = torch.tensor([[1]])
    assert interleaved(one, 4)[0, 0].tolist() == pytest.approx([0.8415, 0.5403, 0.0100, 1.0], abs=5e-5)
    assert tensor2tensor(one, 4)[0, 0].tolist() == pytest.approx([0.8415, 0.0001, 0.5403, 1.0], abs=5e-5)


@pytest.mark.parametrize("width", [4, 6, 64, 512])
def test_n5_the_distance_depends_on_the_offset_alone(width: int) -> None:
    table = sinusoids(300, width)
    for offset in (1, 2, 7, 50, 120):
        distances = (table[offset:] - table[:-offset]).norm(dim=-1)
        assert float(distances.max() - distances.min()) < 1e-6


@pytest.mark.parametrize("width", [4, 6, 64, 512])
def test_n5_moving_by_an_offset_is_one_linear_map(width: int) -> None:
    """A turn of each pair of channels, the same for every position."""
    table = sinusoids(300, width)
    rates = [10000 ** (-2 * pair / width) for pair in range(width // 2)]
    for offset in (1, 3, 40):
        turn = torch.zeros(width, width, dtype=torch.float64)
        for pair, rate in enumerate(rates):
            cosine, sine = math.cos(offset * rate), math.sin(offset * rate)
            turn[2 * pair : 2 * pair + 2, 2 * pair : 2 * pair + 2] = torch.tensor(
                [[cosine, sine], [-sine, cosine]], dtype=torch.float64
            )
        torch.testing.assert_close(table[:-offset] @ turn.T, table[offset:], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(64, [0.9998, 0.0001, 0.0, 0.0]), (512, [0.92, 0.04, 0.02, 0.02]), (1024, [0.81, 0.09, 0.05, 0.05])],
)
def test_n6_the_score_table_under_three_query_sizes(size: int, expected: list[float]) -> None:
    scores = [list(row) for row in score_table().scores]
    weights = weights_of(scores, size)
    grown = [math.exp(score / math.sqrt(size)) for score in scores[0]]
    assert weights[0].tolist() == pytest.approx([part / sum(grown) for part in grown], abs=1e-12)
    assert weights[0].tolist() == pytest.approx(expected, abs=5e-5 if size == 64 else 7e-3)
    assert weights.sum(dim=-1).tolist() == pytest.approx([1.0] * 4, abs=1e-12)


def test_n6_the_printed_weights_have_a_row_that_is_none() -> None:
    """The check must flag the row `are`, and no other."""
    table = score_table()
    sums = {word: round(sum(row), 9) for word, row in zip(table.words, table.weights, strict=True)}
    assert {word: total for word, total in sums.items() if total != 1.0} == {"are": 1.1}


def count(config: ModelConfig) -> int:
    """Parameters, each once, without spending memory on them."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in Transformer(config).parameters())


BODY: dict[str, Any] = {"sentence_labels": 0, "vocabulary_head": False}


def test_n7_parameters_of_bert() -> None:
    assert count(bert(size="base", **BODY)) == 109_482_240
    assert count(bert(size="base", sentence_labels=2)) - count(bert(size="base", **BODY)) == 624_188
    assert count(bert(size="large", **BODY)) == 335_141_888
    assert count(distilbert(vocabulary_head=False)) == 66_362_880


def test_n7_parameters_of_the_paper() -> None:
    """With a shared vocabulary of 37,000 and no biases in the attention."""
    assert count(vaswani2017()) == 63_045_632
    assert count(vaswani2017(feed_forward=512)) == 44_152_832
    assert count(vaswani2017(size="big")) == 214_171_648


# --------------------------------------------------------------------------- N-13


def paper_recipe() -> Recipe:
    return resolve("bert-paper")


def test_n13_constants_of_the_pre_training() -> None:
    recipe = paper_recipe()
    train, task = recipe.train, recipe.task
    assert isinstance(task, BertSection)
    assert (train.learning_rate, train.warmup, train.schedule) == (1e-4, 10_000, "linear")
    assert (train.optimizer, train.beta1, train.beta2, train.epsilon) == ("bert-adam", 0.9, 0.999, 1e-6)
    assert (train.decay, train.clip) == (0.01, 1.0)
    assert (task.rate, task.mask, task.random, task.keep) == (0.15, 0.8, 0.1, 0.1)
    assert (task.copies, task.max_predictions, recipe.data.length) == (10, 20, 128)
    # Each copy has pairs and masks of its own, that repeat in each epoch.
    assert (task.static, task.duplicates, task.unrelated) == (True, 1, 0.5)
    assert task.short == 0.1
    assert inspect.signature(SentencePairs.prepare).parameters["short"].default == 0.1, "the share of short sequences"


def test_n13_constants_of_the_model() -> None:
    section = paper_recipe().model
    config = family_config(section.family, {"size": section.size, **section.settings})
    assert config == bert(activation="gelu_tanh"), "C-20: the original's GELU is the tanh form"
    assert config.encoder is not None
    assert (config.initial.kind, config.initial.deviation) == ("truncated_normal", 0.02)
    block = config.encoder.blocks[0]
    assert block.feed_forward is not None
    rates = (config.encoder.embed.dropout, block.self_attention.dropout, block.feed_forward.dropout)
    assert {*rates, block.self_attention.body.dropout} == {0.1}, "the last one is that of the attention probabilities"
    fill = block.self_attention.body.fill
    assert (fill.rule, fill.value) == ("add", -10000.0)


def test_n13_the_schedule_rises_and_falls_in_straight_lines() -> None:
    assert linear(0.5, 1.0, 0.0) == 0.5
    assert linear(1.0, 1.0, 0.0) == 1.0
    assert linear(50.0, 0.25, 0.0) == 0.25


def test_n13_adam_without_bias_correction_and_decay_off_for_vectors() -> None:
    """Three steps of google-research/bert's AdamWeightDecayOptimizer, number by number."""
    settings = paper_recipe().train
    model = nn.Linear(3, 2).double()
    with torch.no_grad():
        model.bias.copy_(torch.tensor([0.3, -0.2]))
    expected = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    mean = {name: torch.zeros_like(value) for name, value in expected.items()}
    square = {name: torch.zeros_like(value) for name, value in expected.items()}
    optimizer = build_optimizer(model, settings)
    for _ in range(3):
        for name, parameter in model.named_parameters():
            gradient = torch.randn_like(parameter)
            parameter.grad = gradient.clone()
            mean[name] = settings.beta1 * mean[name] + (1 - settings.beta1) * gradient
            square[name] = settings.beta2 * square[name] + (1 - settings.beta2) * gradient**2
            update = mean[name] / (square[name].sqrt() + settings.epsilon)
            if parameter.dim() > 1:
                update = update + settings.decay * expected[name]
            expected[name] = expected[name] - settings.rate * update
        optimizer.step()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.detach(), expected[name], rtol=0, atol=1e-12)
