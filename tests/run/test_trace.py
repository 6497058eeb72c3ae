"""Texts through a model: one stack and two, one text and several, and where the vocabulary is scored."""

import inspect
from collections.abc import Callable

import pytest
import torch
from torch import nn

import glassformer
from glassformer.api.model import Model
from glassformer.api.trace import trace as look
from glassformer.base.errors import ConfigError, DataError, ShapeError
from glassformer.look.texts.reader import Reader
from glassformer.models.families import family_config, gpt2
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.page.server.asked import Asked
from glassformer.page.server.overview import spans
from glassformer.run.independence import independence
from glassformer.tasks.writing.chat.settings import ChatSection
from glassformer.text.tokenizer import Tokenizer
from tests.refusals import refused
from tests.writers import READ, writing

SOURCE, TARGET = "She likes the summer", "He loves to cook healthy food"
Shake = Callable[[nn.Module], None]


def writer(tokenizer: Tokenizer) -> Model:
    """A decoder."""
    return Model(
        build(gpt2(layers=1, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=24)), tokenizer
    )


def translator(tokenizer: Tokenizer, shake: Shake, family: str = "t5", **settings: int) -> Model:
    """An encoder–decoder."""
    sizes = {"layers": 1, "decoder_layers": 2, "width": 16, "heads": 2, "feed_forward": 20}
    length = {} if family == "t5" else {"max_length": 32}
    module = build(family_config(family, {**sizes, **length, "vocabulary": tokenizer.vocabulary_size}))
    shake(module)
    return Model(module, tokenizer, token_settings=settings)


def test_a_decoder_predicts_what_comes_after_each_token(tokenizer: Tokenizer) -> None:
    model = writer(tokenizer)
    found = model.trace(SOURCE)
    with torch.no_grad():
        logits = model.module(Inputs(ids=found.facts["inputs.ids"])).logits  # [1, S, V]
    assert logits is not None
    torch.testing.assert_close(found["head.logits"], logits[0])
    last = model.trace(SOURCE, scored_at=[3])
    torch.testing.assert_close(last["head.logits"], logits[0, 3:4])


def test_both_kinds_of_trace_take_the_same_arguments() -> None:
    by_ids, by_text = (inspect.signature(call).parameters for call in (look, Model.trace))
    ids, text = (
        {name: value.default for name, value in options.items() if value.kind is inspect.Parameter.KEYWORD_ONLY}
        for options in (by_ids, by_text)
    )
    of_texts, of_ids = {"choices", "target_ids"}, {"words", "candidates"}  # what texts have and ids are given
    assert text.keys() - ids.keys() == of_texts
    assert ids.keys() - text.keys() == of_ids
    assert all(ids[name] == text[name] for name in ids.keys() & text.keys())


def test_several_texts_are_one_batch(model: Model) -> None:
    texts = ["She likes the [MASK] summer.", "He [MASK] to cook"]
    found = model.trace(texts)
    assert [len(row) for row in found.words.inputs] == found.facts["inputs.real"].sum(dim=1).tolist()
    assert found.scored_at is not None
    assert len(found.scored_at) == 2
    assert {sentence for sentence, _ in found.words.answers or {}} == {0, 1}
    for sentence, text in enumerate(texts):
        alone = model.trace(text)
        torch.testing.assert_close(found["head.logits"][sentence], alone["head.logits"][0])
        (place,) = (at for row, at in found.words.answers or {} if row == sentence)
        assert alone.words.answers == {(0, place): (found.words.answers or {})[sentence, place]}
    assert found.verify().holds


def test_gradients_labels_and_changes_are_given_with_a_text_as_with_ids(model: Model) -> None:
    labels = torch.full((1, len(model.trace(SOURCE).words.inputs[0])), -100)
    labels[0, 2] = 9
    step = glassformer.zero_head("encoder.blocks.0.self_attention", 1)
    found = model.trace(SOURCE, labels=labels, gradients="loss", interventions=(step,), dtype=torch.float64)
    ids = Inputs(ids=found.facts["inputs.ids"])
    by_ids = look(model.module, ids, labels=labels, gradients="loss", interventions=(step,), dtype=torch.float64)
    assert torch.equal(found["loss"], by_ids["loss"])
    assert torch.equal(found.gradient("encoder.embed.sum"), by_ids.gradient("encoder.embed.sum"))


# --------------------------------------------------------------------------- two stacks


@pytest.mark.parametrize("family", ["t5", "bart", "marian"])
def test_a_source_and_its_target(tokenizer: Tokenizer, shake: Shake, family: str) -> None:
    model = translator(tokenizer, shake, family, decoder_start_token_id=7)
    found = model.trace(SOURCE, TARGET, dtype=torch.float64)
    source, target = (tokenizer.encode(text).ids for text in (SOURCE, TARGET))
    assert found.facts["inputs.ids"].tolist() == [list(source)]
    # Each place of the decoder has read all that comes before the token it predicts.
    assert found.facts["decoder_inputs.ids"].tolist() == [[7, *target[:-1]]]
    assert found.words.decoder_inputs == [[tokenizer.token(id_) for id_ in [7, *target[:-1]]]]
    with torch.no_grad():
        logits = model.module.double()(
            Inputs(ids=torch.tensor([source])), Inputs(ids=torch.tensor([[7, *target[:-1]]]))
        ).logits
    assert logits is not None
    torch.testing.assert_close(found["head.logits"], logits[0])
    assert found.verify().holds
    assert found.honesty.holds
    weights = found.explain("decoder.blocks.0.cross_attention.weights", "head=0,query=he,key=she")
    assert weights.value == pytest.approx(weights.recomputed)
    assert f"{tokenizer.token(7)} " in repr(found)
    own = independence(model, SOURCE, TARGET)
    assert own.holds
    assert own.padding is not None


def test_several_sources_and_targets(tokenizer: Tokenizer, shake: Shake) -> None:
    model = translator(tokenizer, shake)
    texts = [SOURCE, "They go hiking quite often"], [TARGET, "A dog"]
    found = model.trace(*texts, dtype=torch.float64)
    alone = model.trace(texts[0][1], texts[1][1], dtype=torch.float64)
    tokens = alone["head.logits"].shape[0]
    second = found.facts["decoder_inputs.ids"].shape[1]
    torch.testing.assert_close(found["head.logits"][second : second + tokens], alone["head.logits"])
    with refused(DataError, wanted="target for each source", got="2 and 1"):
        model.trace(texts[0], [TARGET])


def test_the_token_that_a_decoder_starts_with(tokenizer: Tokenizer, shake: Shake) -> None:
    assert Reader.of(translator(tokenizer, shake, decoder_start_token_id=7)).start == 7
    assert Reader.of(translator(tokenizer, shake)).start == tokenizer.pad_id
    assert Reader.of(translator(tokenizer, shake, decoder_start_token_id=10**6)).start == tokenizer.pad_id


def test_an_empty_target_is_the_start_alone(tokenizer: Tokenizer, shake: Shake) -> None:
    found = translator(tokenizer, shake).trace(SOURCE, "")
    before, _ = tokenizer.frame_ids
    assert found.facts["decoder_inputs.ids"].tolist() == [[tokenizer.pad_id, *before]]


def test_without_a_target_its_own_translation_is_read(tokenizer: Tokenizer, shake: Shake) -> None:
    two = translator(tokenizer, shake)
    own = two.trace(SOURCE).facts["decoder_inputs.ids"][0].tolist()
    reply = two.translate(SOURCE)
    assert own[0] == tokenizer.pad_id
    assert [tokenizer.token(id_) for id_ in own[1:]] == [each.token for each in reply.tokens[: len(own) - 1]]
    assert independence(two, SOURCE).holds


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_writers_trace_is_the_run_by_which_it_scores_and_goes_on(family: str) -> None:
    model, text = writing(family), "He loves to cook."
    ids, trace = model.tokenizer.ids(text), model.trace(text)
    assert trace.facts["inputs.ids"].tolist() == [[model.tokenizer.begin_id, *ids]]
    stated = trace["head.log_probabilities"]  # [1 + tokens, V]
    scored = [each.log_probability for each in model.score(text).tokens]
    assert scored == pytest.approx([float(stated[place, id_]) for place, id_ in enumerate(ids)])
    (first,) = model.generate(text, beams=1, max_tokens=1).tokens
    assert first.log_probability == pytest.approx(float(stated[-1].max()))
    asked = Asked(model="writer", texts=(text,))
    (found,) = spans(model, asked, trace)["inputs"] or []
    assert found[0] is None
    assert [each[1:] for each in found[1:] if each is not None] == model.tokenizer.encode(text, special=False).offsets


def test_a_prompt_as_long_as_the_model_reads_is_traced_without_an_opening() -> None:
    model = writing("gpt2")
    text = "a" * READ
    assert len(ids := model.tokenizer.ids(text)) == READ
    assert model.trace(text).facts["inputs.ids"].tolist() == [ids]


def test_the_own_target_of_a_talker_is_the_reply_that_chat_gives(tokenizer: Tokenizer, shake: Shake) -> None:
    plain = translator(tokenizer, shake)
    two = Model(plain.module, tokenizer, task=ChatSection())
    texts = [SOURCE, TARGET, SOURCE]
    for text, row in zip(texts, two.trace(texts, scored_at=[0]).facts["decoder_inputs.ids"].tolist(), strict=True):
        reply = two.chat(text)
        said = [each.token for each in reply.tokens[: len(reply.tokens) - reply.ended]]
        assert [tokenizer.token(id_) for id_ in row[1 : len(said) + 1]] == said
        assert set(row[len(said) + 1 :]) <= {tokenizer.pad_id}


def test_texts_that_do_not_fit_the_stacks_are_refused(tokenizer: Tokenizer, shake: Shake, model: Model) -> None:
    two = translator(tokenizer, shake)
    ids = Inputs(ids=torch.tensor([[5, 6, 7]]))
    with refused(ConfigError, wanted="decoder_inputs", got="one text"):
        glassformer.trace(two, ids)
    with refused(ConfigError, wanted="one stack", got="two"):
        glassformer.trace(model, ids, ids)
    with refused(ConfigError, got="str", do="model.trace(text)"):
        glassformer.trace(model, SOURCE)  # type: ignore[arg-type]  # what is refused
    with refused(DataError, wanted="at least one text"):
        model.trace([])


@pytest.mark.parametrize("places", [[99], ["likes"], [0.5], 3, torch.tensor([0.5])])
def test_places_that_are_not_there_are_refused(model: Model, places: list[int]) -> None:
    with refused(ShapeError, wanted="scored_at"):
        model.trace(SOURCE, scored_at=places)


@pytest.mark.parametrize("labels", [[[0]], [[99999] * 6], "the"])
def test_labels_that_are_not_there_are_refused(model: Model, labels: torch.Tensor) -> None:
    with refused(ShapeError, wanted="labels"):
        model.trace(SOURCE, labels=labels)
