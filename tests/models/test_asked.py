"""The last block of a model computes only the tokens that the heads read: the same numbers as for all tokens.

B sentences · S tokens · A asked tokens of a sentence
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from glassformer.base.errors import ShapeError, UnknownNameError
from glassformer.config import ModelConfig, SentenceHeadConfig
from glassformer.models.families import bert, gpt2, modernbert, t5
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from glassformer.parts.dropout import DropoutKey
from tests.refusals import refused

B, S = 3, 12
ASKED = torch.tensor([[1, 5, 5], [2, 0, 11], [7, 3, 4]])
FLAT = ASKED + torch.arange(B)[:, None] * S
# Sums over the keys and the width run over the same numbers, in another order: a few units of float64's last place.
TOLERANCE = 1e-12


def small_bert() -> ModelConfig:
    return bert(size="tiny", vocabulary=40, width=32, heads=2, feed_forward=48, dropout=0.2, sentence_labels=3)


def small_modernbert() -> ModelConfig:
    config = modernbert(size="tiny", vocabulary=40, width=32, heads=2, feed_forward=48, reach=3, dropout=0.2)
    return config.model_copy(update={"sentence_head": SentenceHeadConfig(labels=3)})


def small_gpt2() -> ModelConfig:
    return gpt2(vocabulary=40, layers=2, width=32, heads=2, max_length=S, dropout=0.2)


def small_t5() -> ModelConfig:
    return t5(vocabulary=40, layers=2, width=32, heads=2, query_size=16, feed_forward=48, dropout=0.2)


MODELS: dict[str, Callable[[], ModelConfig]] = {
    "bert": small_bert,
    "modernbert": small_modernbert,
    "gpt2": small_gpt2,
    "t5": small_t5,
}


def model_and_inputs(name: str) -> tuple[Transformer, Inputs, Inputs | None]:
    model = build(MODELS[name]()).double()
    with torch.no_grad():  # far from the flat start, so that a wrong token would show
        for parameter in model.parameters():
            parameter.mul_(8.0 if parameter.dim() > 1 else 1.0)
    generator = torch.Generator().manual_seed(1)
    real = torch.ones(B, S, dtype=torch.bool)
    real[0, :1] = False
    real[1, -1] = False
    key = DropoutKey(torch.tensor(7, dtype=torch.int32), torch.arange(B, dtype=torch.int32))
    ids = torch.randint(3, 40, (B, S), generator=generator)
    inputs = Inputs(ids=ids, real=real, dropout_key=key)
    if model.encoder is None or model.decoder is None:
        return model, inputs, None
    return model, inputs, Inputs(ids=torch.randint(3, 40, (B, S), generator=generator), dropout_key=key)


def gradients(model: Transformer, *outputs: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    weights = [torch.linspace(-1.0, 1.0, output.numel(), dtype=output.dtype).view(output.shape) for output in outputs]
    torch.stack([(output * weight).sum() for output, weight in zip(outputs, weights, strict=True)]).sum().backward()
    return {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("name", MODELS)
def test_asked_tokens_alone_give_the_scores_and_gradients_of_all(name: str, training: bool) -> None:
    model, inputs, decoder_inputs = model_and_inputs(name)
    model.train(training)
    heads = ("head", "sentence_head") if model.sentence_head is not None else ("head",)
    whole = model(inputs, decoder_inputs, scored_at=FLAT.flatten(), heads=heads)
    asked = model(inputs, decoder_inputs, scored_at=FLAT, heads=heads)
    assert whole.states.shape[1] == S
    assert asked.states.shape[1] == ASKED.shape[1] + len(heads) - 1

    pairs = [(whole.logits, asked.logits)]
    if len(heads) == 2:
        pairs.append((whole.sentence_logits, asked.sentence_logits))
    expected = gradients(model, *(one for one, _ in pairs))
    found = gradients(model, *(other for _, other in pairs))
    for one, other in pairs:
        torch.testing.assert_close(other, one, rtol=TOLERANCE, atol=TOLERANCE)
    assert found.keys() == expected.keys()
    for parameter, gradient in expected.items():
        scale = float(gradient.abs().max()) + 1.0
        torch.testing.assert_close(found[parameter], gradient, rtol=0, atol=TOLERANCE * scale, msg=parameter)


@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_a_sentence_head_alone_reads_the_first_token_alone(name: str) -> None:
    model, inputs, _ = model_and_inputs(name)
    model.train()
    whole = model(inputs)
    asked = model(inputs, heads=("sentence_head",))
    assert asked.states.shape == (B, 1, 32)
    torch.testing.assert_close(asked.sentence_logits, whole.sentence_logits, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", MODELS)
def test_no_step_waits_for_a_number_of_the_device(name: str) -> None:
    """`meta` has no numbers: whoever asks for one fails, as whoever asks an accelerator waits for it."""
    model, inputs, decoder_inputs = model_and_inputs(name)
    model.to("meta").train()
    decoder_inputs = None if decoder_inputs is None else decoder_inputs.to("meta")
    heads = ("head", "sentence_head") if model.sentence_head is not None else ("head",)
    output = model(inputs.to("meta"), decoder_inputs, scored_at=FLAT.to("meta"), heads=heads)
    output.logits.sum().backward()
    assert output.logits.is_meta


def test_a_head_of_another_name_is_refused() -> None:
    model, inputs, _ = model_and_inputs("bert")
    with pytest.raises(UnknownNameError) as caught:
        model(inputs, heads=("heads",))
    assert caught.value.got == "'heads'"


def test_asked_tokens_alone_cost_less() -> None:
    model, inputs, _ = model_and_inputs("modernbert")

    def operations(scored_at: Tensor) -> int:
        with FlopCounterMode(display=False) as counter:
            model(inputs, scored_at=scored_at, heads=("head",))
        return counter.get_total_flops()

    of_a_block = 2 * B * (S - ASKED.shape[1]) * (2 * 32 * 32 + 3 * 32 * 48)  # query, output, gate, hidden, output
    assert operations(FLAT.flatten()) - operations(FLAT) >= of_a_block


@pytest.mark.parametrize("wrong", [ASKED, FLAT.flip(0), FLAT + S, FLAT[:2]], ids=["no rows", "flipped", "next", "few"])
def test_tokens_of_other_rows_are_refused(wrong: Tensor) -> None:
    model, inputs, _ = model_and_inputs("bert")
    with refused(ShapeError, wanted=f"0 to {S - 1}"):
        model(inputs, scored_at=wrong, heads=("head",))


def test_documents_of_a_memory_are_those_of_the_asked_tokens() -> None:
    model, _, _ = model_and_inputs("t5")
    model.eval()
    ids = torch.arange(3, 15).reshape(2, 6)
    inputs = Inputs(ids=ids, documents=torch.tensor([[0, 0, 0, 1, 1, 1]] * 2))
    asked = torch.tensor([[1], [4]])
    found = model(inputs, inputs, scored_at=asked + torch.tensor([[0], [6]]), heads=("head",)).logits
    whole = model(inputs, inputs, scored_at=torch.tensor([1, 10]), heads=("head",)).logits
    torch.testing.assert_close(found, whole, rtol=0, atol=1e-12)
