"""What the source documents say of learning to write and of writing, tried out: C-9, C-16, C-31, C-36, C-37, C-39.

B sentences · S source tokens · T target tokens · H heads · W width
"""

import math

import pytest
import torch
from torch import nn

from glassformer.base.errors import ShapeError
from glassformer.bundled.recipes import ready_recipe
from glassformer.decode.asked import search_settings
from glassformer.decode.options import WritingOptions
from glassformer.models.families import bert, vaswani2017
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.saved.recipe import resolve
from glassformer.tasks.writing.translate.settings import TranslateSection
from tests.contracts.families import random_weights
from tests.refusals import refused
from tests.taps import record_taps
from tests.translators import ENGLISH, FRENCH, translating


def test_word_vectors_are_learned_with_all_else_and_used_at_the_output() -> None:
    """C-9: one table for the source, the target and the output, times the root of the width; the loss moves it."""
    model = build(vaswani2017(layers=1, width=16, heads=2, feed_forward=8, vocabulary=20, dropout=0.0)).double()
    assert model.encoder is not None
    assert model.decoder is not None
    assert model.head is not None
    table = model.encoder.embed.word.weight
    assert model.decoder.embed.word.weight is table is model.word_table
    assert model.head.weight is None  # a tied head has no table of its own
    with record_taps(model) as seen:
        output = model(Inputs(ids=torch.tensor([[3]])), Inputs(ids=torch.tensor([[4]])))
    assert torch.equal(seen["encoder.embed.word"][0, 0], table[3] * math.sqrt(16))
    assert output.logits is not None
    (-output.logits.log_softmax(-1)[..., 5].sum()).backward()
    assert table.grad is not None
    assert all(table.grad[row].abs().max() > 0 for row in (3, 4, 5))  # read by the encoder, by the decoder, predicted


def test_the_likeliest_word_each_time_is_not_the_likeliest_text() -> None:
    """C-16: beams find a text that the model itself finds likelier than the one of greedy search."""
    model = translating()
    search = search_settings(WritingOptions(beams=8, length_penalty=0.0, max_tokens=12))
    greedy, best = model.translate("He loves", beams=1, max_tokens=12), model.translate("He loves", search=search)
    assert best.log_probability > greedy.log_probability + 0.1
    assert best.translation != greedy.translation


def test_the_papers_recipe_has_its_search_and_its_training() -> None:
    """C-16: a beam of 4 with length penalty 0.6, smoothing 0.1, 4,000 steps of warm-up, averaged checkpoints."""
    recipe = resolve(ready_recipe("vaswani2017"))
    task, train = recipe.task, recipe.train
    assert isinstance(task, TranslateSection)
    assert (task.beams, task.length_penalty, task.label_smoothing) == (4, 0.6, 0.1)
    assert (train.schedule, train.warmup, train.average) == ("noam", 4000, 5)


def test_in_training_the_decoder_reads_the_right_words_shifted_by_one() -> None:
    """C-16: a trace of a source and its target shows what the decoder is given."""
    model = translating()
    trace = model.trace(ENGLISH[0], FRENCH[0])
    target = model.tokenizer.encode(FRENCH[0]).ids
    assert trace.facts["decoder_inputs.ids"][0].tolist() == [model.tokenizer.pad_id, *target[:-1]]


def test_attention_ends_where_trained_positions_end_and_its_weights_are_a_square() -> None:
    """C-31."""
    model = random_weights(
        build(bert(layers=1, width=8, heads=2, feed_forward=8, vocabulary=20, max_length=16)), seed=0
    )
    with refused(ShapeError, wanted="16", got="17"):
        model(Inputs(ids=torch.ones(1, 17, dtype=torch.int64)))
    sizes = []
    for tokens in (8, 16):
        with record_taps(model) as seen:
            model(Inputs(ids=torch.ones(1, tokens, dtype=torch.int64)))
        sizes.append(seen["encoder.blocks.0.self_attention.weights"].numel())
    assert sizes[1] == 4 * sizes[0]


@pytest.mark.parametrize("both", [False, True])
def test_a_recurrent_network_may_read_in_both_directions(both: bool) -> None:
    """C-36: the state of the first word then depends on the last one, and attention can look over such states."""
    torch.manual_seed(0)
    network = nn.LSTM(4, 3, bidirectional=both, batch_first=True).double()
    words = torch.randn(1, 5, 4, dtype=torch.float64)
    changed = words.clone()
    changed[0, -1] += 1
    with torch.no_grad():
        states, others = network(words)[0], network(changed)[0]  # [1, 5, 3 or 6]
    assert torch.equal(states[0, 0], others[0, 0]) != both
    weights = (others @ others[0, -1]).softmax(-1)  # [1, 5]
    assert weights.sum() == pytest.approx(1.0)


def test_reading_is_one_pass_and_writing_is_one_for_each_word() -> None:
    """C-37: a target that is known goes through the decoder at once; one that is written, token by token."""
    model = translating()
    assert model.module.decoder is not None
    passes: list[int] = []
    model.module.decoder.register_forward_pre_hook(lambda module, given: passes.append(1))
    written = model.translate(ENGLISH[0], beams=1, max_tokens=9)
    assert len(passes) == len(written.tokens)
    passes.clear()
    model.score(ENGLISH[0], FRENCH[0])
    assert len(passes) == 1


def test_the_loss_has_a_gradient_and_the_index_of_the_largest_has_none() -> None:
    """C-39: the loss of the right word is taken on the probabilities."""
    logits = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64, requires_grad=True)
    probabilities = logits.softmax(-1)
    assert not probabilities.argmax().requires_grad
    loss = -probabilities[2].log()
    loss.backward()
    assert logits.grad is not None
    expected = probabilities.detach() - torch.tensor([0.0, 0.0, 1.0])
    assert torch.allclose(logits.grad, expected, rtol=0, atol=1e-12)
