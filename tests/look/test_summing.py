"""Rollout, logit lens and gradients against numpy alone, on every family: what is norm, head or product is written here
a second time.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch

import glassformer as gf
from glassformer.api.trace import Trace, trace
from glassformer.base.errors import ConfigError, UnknownNameError
from glassformer.config import ModelConfig, NormConfig
from glassformer.look.summaries.attributions import attributions, goals
from glassformer.look.summaries.lens import logit_lens
from glassformer.look.summaries.rollout import rollout
from glassformer.look.summaries.ties import span_of, ties
from glassformer.look.trace.cell import Words
from glassformer.look.trace.interventions import patch
from tests.contracts.families import FAMILIES
from tests.look.rows import ALL, row_named, slides_trace
from tests.refusals import refused

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
CLOSE = 1e-9  # in float64; 1e-6 is asked for
NAMES = [row.name for row in FAMILIES]
WITH_HEAD = [name for name in [*NAMES, "gpt2, untied", "t5, gated and untied"] if row_named(name).config().head]


def traced(name: str) -> Trace:
    row = next(row for row in ALL if row.name == name)
    inputs, decoder_inputs = row.batch(padding="right")
    return trace(row.model(), inputs, decoder_inputs)


# --------------------------------------------------------------------------- rollout


def rolled(config: ModelConfig, found: Trace, sentence: int) -> dict[str, list[Array]]:
    """The rollout of one text, a matrix product a block."""
    result: dict[str, list[Array]] = {}
    memory = None
    for side in ("encoder", "decoder"):
        stack = getattr(config, side)
        if stack is None:
            continue
        own: Array | None = None
        crossed: Array | None = None
        for index, block in enumerate(stack.blocks):
            weights = found[f"{side}.blocks.{index}.self_attention.weights"][sentence].numpy().mean(axis=0)
            mixing = weights + np.eye(len(weights)) if block.self_attention.residual else weights
            mixing = mixing / mixing.sum(axis=1, keepdims=True)
            own = mixing if own is None else mixing @ own
            if side == "decoder" and memory is not None:
                reads = found[f"{side}.blocks.{index}.cross_attention.weights"][sentence].numpy().mean(axis=0)
                reads = reads / reads.sum(axis=1, keepdims=True)
                before = np.zeros_like(reads @ memory) if crossed is None else mixing @ crossed
                crossed = before / 2 + reads @ memory / 2
                own = own / 2
                result.setdefault("cross", []).append(crossed)
            result.setdefault(side, []).append(own)
        memory = own
    return result


@pytest.mark.parametrize("name", NAMES)
def test_rollout_is_what_numpy_multiplies(name: str) -> None:
    found = traced(name)
    shares = rollout(found)
    for sentence in range(3):
        expected = rolled(found.config, found, sentence)
        for kind, tensor in (("encoder", shares.encoder), ("decoder", shares.decoder), ("cross", shares.cross)):
            if kind not in expected:
                assert tensor is None
                continue
            assert tensor is not None
            assert tensor[:, sentence].numpy() == pytest.approx(np.stack(expected[kind]), abs=CLOSE)
    total = next(each for each in (shares.decoder, shares.encoder) if each is not None).sum(-1)
    total = total if shares.cross is None else total + shares.cross.sum(-1)
    assert torch.allclose(total, torch.ones_like(total))


# --------------------------------------------------------------------------- the lens

erf = np.vectorize(math.erf)
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": lambda x: x / 2 * (1 + erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


def norm(config: NormConfig, x: Array, weights: Mapping[str, Array], path: str) -> Array:
    if config.kind == "layer":
        x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + config.epsilon) * weights[f"{path}.weight"]
    return x + weights[f"{path}.bias"] if f"{path}.bias" in weights else x


def guessed(found: Trace, weights: Mapping[str, Array], x: Array) -> Array:
    """The probabilities that a state [places, width] leads to, through the last norm and the head."""
    config, stack = found.config, found.config.output_stack
    side = "encoder" if config.decoder is None else "decoder"
    head = config.head
    assert head is not None
    if stack.norm is not None:
        x = norm(stack.norm, x, weights, f"{side}.norm")
    if head.transform:
        x = x @ weights["head.dense.weight"].T + weights.get("head.dense.bias", 0.0)
        x = ACTIVATIONS[head.activation](x)
        if head.norm is not None:
            x = norm(head.norm, x, weights, "head.norm")
    if head.scaled:
        x = x / math.sqrt(stack.width)
    table = weights[f"{side}.embed.word.weight"] if head.tied else weights["head.weight"]
    logits = x @ table.T + weights.get("head.bias", 0.0)
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probabilities: Array = powers / powers.sum(axis=-1, keepdims=True)
    return probabilities


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", WITH_HEAD)
def test_the_lens_is_norm_and_head_on_every_state(name: str) -> None:
    row = row_named(name)
    model = row.model()
    weights = {path: tensor.numpy() for path, tensor in model.state_dict().items()}
    inputs, decoder_inputs = row.batch(padding="right")
    found = trace(model, inputs, decoder_inputs)
    seen = logit_lens(found, top=4)
    answering = inputs if decoder_inputs is None else decoder_inputs
    blocks = len(found.config.output_stack.blocks)
    assert len(seen.states) == blocks + 1
    scored = None if found.scored_at is None else {divmod(at, answering.shape[1]) for at in found.scored_at.tolist()}
    assert answering.real is not None
    assert set(seen.places) == (scored or {tuple(place) for place in answering.real.nonzero().tolist()})
    for layer, state in enumerate(seen.states):
        x = np.stack([found[state][place].numpy() for place in seen.places])
        expected = guessed(found, weights, x)
        order = np.argsort(-expected, axis=-1)[:, :4]
        assert seen.tokens[layer].tolist() == order.tolist()
        assert seen.probabilities[layer].numpy() == pytest.approx(np.take_along_axis(expected, order, -1), abs=CLOSE)
        mine = expected[np.arange(len(x)), seen.answer.numpy()]
        assert seen.answer_probability[layer].numpy() == pytest.approx(mine, abs=CLOSE)
        assert seen.rank[layer].tolist() == (1 + (expected > mine[:, None]).sum(axis=-1)).tolist()
        entropy = -(expected * np.log(np.maximum(expected, 1e-300))).sum(axis=-1)
        assert seen.entropy[layer].numpy() == pytest.approx(entropy, abs=CLOSE)
    # The last state's answer is the run's own.
    own = found["head.probabilities"].flatten(0, -2)
    flat = [place * answering.shape[1] + token for place, token in seen.places]
    rows = own if found.scored_at is not None else own[flat]
    assert torch.allclose(seen.probabilities[-1], rows.topk(4).values, atol=1e-12)
    assert seen.rank[-1].eq(1).all()


def test_the_lens_reads_chosen_places_and_refuses_others() -> None:
    found = traced("gpt2")
    assert logit_lens(found, places=[8, 1]).places == ((1, 1), (0, 1))
    every = logit_lens(found)
    at = every.places.index((1, 1))
    assert torch.allclose(logit_lens(found, places=[8]).probabilities[:, 0], every.probabilities[:, at])
    for places in ([21], [-1], []):
        with pytest.raises(ConfigError, match="counted from 0 to 20"):
            logit_lens(found, places=places)
    with pytest.raises(ConfigError, match="vocabulary head"):
        logit_lens(trace_without_head())


def trace_without_head() -> Trace:
    row = row_named("bert, pooler alone")
    return trace(row.model(), row.batch()[0])


# --------------------------------------------------------------------------- gradients


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*NAMES, "bert, pooler alone", "bert, tags"])
def test_gradients_are_the_slopes_of_small_steps(name: str) -> None:
    if name == "bert, pooler alone":
        goal: str | None = "sentence_head.pooled[sentence=1,channel=3]"
    else:
        goal = None
    found = traced(name)
    if goal is None and "head.logits" not in found and "token_head.logits" not in found:
        goal = f"{found.statement.entering['states']}[sentence=0,token=1,channel=2]"
    result = attributions(found, goal)
    cell = tuple(result.cell.values())
    assert result.value == pytest.approx(float(found[result.goal][cell]))
    sentence = result.cell["sentence"] if "sentence" in result.cell else found.chosen_tokens[result.cell["place"]][0]
    for of in result.of:
        vectors, step = found[of.tensor], 1e-5
        # An encoder's other texts have no part in it.
        others = [row for row in range(3) if row != sentence]
        assert of.gradient[others].eq(0).all()
        assert of.product[others].eq(0).all()
        for token in (1, 2):
            slopes = np.zeros(vectors.shape[-1])
            for channel in range(len(slopes)):
                ends = []
                for sign in (1, -1):
                    moved = vectors.clone()
                    moved[sentence, token, channel] += sign * step
                    ends.append(float(found.run_again((patch({of.tensor: moved}, of.tensor),))[result.goal][cell]))  # type: ignore[misc]  # a fresh trace has it
                slopes[channel] = (ends[0] - ends[1]) / (2 * step)
            scale = max(1.0, float(np.abs(slopes).max()))
            assert float(of.gradient[sentence, token]) == pytest.approx(np.linalg.norm(slopes), abs=1e-6 * scale)
            product = float(slopes @ vectors[sentence, token].numpy())
            assert float(of.product[sentence, token]) == pytest.approx(product, abs=1e-6 * scale)


def test_attributions_ask_about_the_best_answers() -> None:
    found = slides_trace()
    asked = goals(found, 8)
    assert [cell["vocabulary"] for _, cell in asked] == found["head.logits"].argmax(-1).tolist()
    by_word = attributions(found, "head.logits[place=1,vocabulary=cook]")
    assert by_word.value == pytest.approx(float(found["head.logits"][1, 8]))
    with pytest.raises(UnknownNameError):
        attributions(found, "head.logits[place=1,vocabulary=winter]")
    with pytest.raises(UnknownNameError, match="number of the run"):
        attributions(found, "inputs.ids[sentence=0,token=1]")
    with pytest.raises(ConfigError, match="goal"):
        attributions(trace_without_head())
    before = next(name for name in found if name.startswith("encoder.embed."))
    with refused(ConfigError, wanted="computed from the embedding", got=before):
        attributions(found, f"{before}[{','.join(f'{axis}=0' for axis in found.axes(before))}]")


def test_rollout_refuses_weights_below_zero() -> None:
    found = slides_trace()
    name = "encoder.blocks.0.self_attention.weights"
    changed = found.run_again((patch({name: -found[name]}, name),))  # type: ignore[misc]  # a fresh trace has it
    with refused(ConfigError, wanted="shares of attention", got=name):
        rollout(changed)


def test_goals_are_of_every_text_and_of_no_padding() -> None:
    model = gf.load("writer")
    found = model.trace(["It was", "She looked at him for a long"])
    real = found.facts["inputs.real"]
    places = [found.chosen_tokens[cell["place"]] for _, cell in goals(found, 8)]
    assert {sentence for sentence, _ in places} == {0, 1}
    assert all(real[place] for place in places)
    assert len(goals(found, 100)) == int(real.sum())
    assert goals(found, 1) == goals(found, 8)[:1]


# --------------------------------------------------------------------------- ties

TOKENS = ("[CLS]", "The", "an", "##imal", "didn", "Ġcross", "street", "it", "tired", "[SEP]")


def test_ties_sum_over_the_tokens_of_a_word() -> None:
    row = row_named("bert")
    inputs, _ = row.batch(padding="none")
    inputs = type(inputs)(ids=torch.arange(3, 13)[None], segments=torch.zeros(1, 10, dtype=torch.int64))
    found = trace(row.model(), inputs, words=Words(inputs=[TOKENS]))
    result = ties(found, "it", "animal", ["street", "tired"])
    assert [span.tokens for span in (result.word, result.one, *result.others)] == [(7,), (2, 3), (6,), (8,)]
    for tie in result.heads:
        weights = found[f"{tie.attention}.weights"][0, tie.head, 7].numpy()
        assert tie.one == pytest.approx(weights[2] + weights[3])
        assert tie.others == pytest.approx((weights[6], weights[8]))
    for similar in result.similar:
        states = found[similar.tensor][0].numpy()
        two = (states[2] + states[3]) / 2
        expected = states[7] @ two / np.linalg.norm(states[7]) / np.linalg.norm(two)
        assert similar.one == pytest.approx(expected, abs=CLOSE)
    assert similar.tensor == found.statement.entering["states"]
    leads = [tie.lead for tie in result.tying]
    assert leads == sorted(leads, reverse=True)
    assert len(leads) == sum(tie.one > max(tie.others) for tie in result.heads)
    assert ties(found, "animal", "it", "street").word.text == "animal"
    with pytest.raises(UnknownNameError):
        ties(found, "it", "dog", "street")
    masked = gf.load("english").trace("She saw the cat and the dog").intervene(gf.MaskWord("cat", "[MASK]"))
    for asked in ("cat", "(cat)", '"cat"'):
        assert span_of(masked.words, asked).tokens == (4,)
    for sentence in (-1, 1):
        with refused(ConfigError, got=str(sentence)):
            ties(found, "it", "animal", "street", sentence=sentence)
    with pytest.raises(ConfigError, match="no self-attention"):
        ties(trace_and_words(found), "it", "animal", "street", side="decoder_inputs")


def trace_and_words(found: Trace) -> Trace:
    """The same words as those of a decoder that the model does not have."""
    from dataclasses import replace

    return replace(found, words=replace(found.words, decoder_inputs=found.words.inputs))


def test_a_word_is_found_in_any_case_and_by_its_place() -> None:
    words = Words(inputs=[TOKENS])
    assert span_of(words, "the").tokens == (1,)
    assert span_of(words, "cross").text == "cross"
    assert span_of(words, "5").tokens == (5,)
    greeting = Words(inputs=[("H", "i", "▁how", "▁are", "▁you", "</s>")])
    assert span_of(greeting, "hi").tokens == (0, 1)
    with pytest.raises(UnknownNameError, match="got ho"):
        span_of(greeting, "ho")


def test_a_lens_of_a_head_that_was_changed_by_hand_is_of_its_places() -> None:
    found = gf.load("english").trace("She saw the [MASK] and the dog")
    changed = found.intervene(gf.set_number("head.logits", (0, 5), 9.0))
    with refused(ConfigError, got="3"):
        logit_lens(changed, places=[3])
