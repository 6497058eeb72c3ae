"""With a cache, one token or several at a time, a decoder answers as without."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from glassformer.base.errors import ConfigError, ShapeError
from glassformer.config import ModelConfig
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.parts.cache import Cache
from tests.contracts.families import OF_ANY_LENGTH, Padding, Row, real_of
from tests.refusals import refused

# The same sums in another order, in float64.
TOLERANCE = 1e-12
DECODERS = [row for row in OF_ANY_LENGTH if row.config().decoder is not None]
BITES = {"one by one": (1,) * 6, "three at first": (3, 1, 1, 1), "in bites": (2, 3, 1), "at once": (6,)}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("padding", ["none", "left", "right"])
@pytest.mark.parametrize("row", DECODERS, ids=str)
def test_cached_is_uncached(row: Row, padding: Padding) -> None:
    model = row.model()
    source, side = sides(row, padding)
    whole = answers(model, source, side, None)
    real = real_of(side)
    for bites in BITES.values():
        cache = model.new_cache()
        found, start = [], 0
        for bite in bites:
            found.append(answers(model, source, cut(side, start, start + bite), cache))
            start += bite
        assert cache.length == start
        torch.testing.assert_close(torch.cat(found, dim=1)[real], whole[real], rtol=0, atol=TOLERANCE)


def hides_words(config: ModelConfig) -> ModelConfig:
    """A decoder in which masked words are no keys."""
    assert config.decoder is not None
    return config.model_copy(update={"decoder": config.decoder.model_copy(update={"hide_masked": True})})


FACTS = {
    "documents": torch.tensor([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 0], [0, 1, 2, 2, 2, 2]]),
    "masked_words": torch.tensor([[0, 1, 0, 0, 1, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1]], dtype=torch.bool),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("what", ["documents", "masked_words"])
@pytest.mark.parametrize("row", [Row(row.name, row.family, row.settings, hides_words) for row in DECODERS], ids=str)
def test_document_mask_and_masked_words_hold_for_the_tokens_that_come_later(row: Row, what: str) -> None:
    model = row.model()
    source, side = sides(row, "none")
    plain = answers(model, source, side, None)
    given = replace(side, masked_words=FACTS[what]) if what == "masked_words" else replace(side, documents=FACTS[what])
    whole = answers(model, source, given, None)
    assert (whole - plain).abs().max() > 1e-3
    for bites in BITES.values():
        cache, start, found = model.new_cache(), 0, []
        for bite in bites:
            found.append(answers(model, source, cut(given, start, start + bite), cache))
            start += bite
        torch.testing.assert_close(torch.cat(found, dim=1), whole, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("first", [True, False])
def test_a_document_mask_is_given_for_all_tokens_or_for_none(first: bool) -> None:
    row = next(row for row in DECODERS if row.name == "gpt2")
    _, side = sides(row, "none")
    given = replace(side, documents=FACTS["documents"])
    model = row.model()
    cache = model.new_cache()
    model(cut(given if first else side, 0, 4), cache=cache)
    with refused(ShapeError, wanted="documents"):
        model(cut(side if first else given, 4, 5), cache=cache)


REFUSED: dict[tuple[str, str], Callable[[Inputs], Inputs]] = {
    ("16", "17"): lambda side: Inputs(ids=of(side)[:, :1].expand(-1, 13)),
    ("documents", ""): lambda side: replace(cut(side, 4, 6), documents=torch.zeros(3, 2).long()),
    ("3", "1"): lambda side: Inputs(ids=of(side)[:1, 4:]),
    ("inputs.real", "[3, 1]"): lambda side: Inputs(ids=of(side)[:, 4:], real=torch.ones(3, 1).bool()),
}


@pytest.mark.parametrize(("wanted", "got"), REFUSED)
def test_after_a_refused_step_the_cache_goes_on_as_if_nothing_had_been(wanted: str, got: str) -> None:
    row = next(row for row in DECODERS if row.name == "gpt2")
    _, side = sides(row, "left")
    model = row.model()
    whole = answers(model, None, side, None)
    cache = model.new_cache()
    first = answers(model, None, cut(side, 0, 4), cache)
    with refused(ShapeError, wanted=wanted, got=got):
        model(REFUSED[wanted, got](side), cache=cache)
    assert cache.length == 4
    found = torch.cat((first, answers(model, None, cut(side, 4, 6), cache)), dim=1)
    real = real_of(side)
    torch.testing.assert_close(found[real], whole[real], rtol=0, atol=TOLERANCE)


def test_hiding_may_begin_late() -> None:
    """Tokens of which nothing was given are real and not hidden."""
    row = Row("gpt2", "gpt2", change=hides_words)
    _, side = sides(row, "none")
    model, late = row.model(), FACTS["masked_words"] & (torch.arange(6) > 3)
    whole = answers(model, None, replace(side, masked_words=late), None)
    cache = model.new_cache()
    first = answers(model, None, cut(side, 0, 3), cache)
    rest = answers(model, None, cut(replace(side, masked_words=late), 3, 6), cache)
    torch.testing.assert_close(torch.cat((first, rest), dim=1), whole, rtol=0, atol=TOLERANCE)


def test_a_stack_that_looks_ahead_has_no_cache() -> None:
    with refused(ConfigError, wanted="causal", got="bert"):
        Row("bert", "bert").model().new_cache()


def sides(row: Row, padding: Padding) -> tuple[Inputs | None, Inputs]:
    """The source, where there is one, and the decoder's side, six tokens long; long enough for any padding."""
    inputs, decoder_inputs = row.batch(padding=padding)
    if decoder_inputs is None:
        return None, cut(inputs, inputs.shape[1] - 6, inputs.shape[1])
    return inputs, decoder_inputs


def answers(model: Transformer, source: Inputs | None, side: Inputs, cache: Cache | None) -> Tensor:
    """Logits of the newest tokens, [B, S, V]."""
    output = model(side, cache=cache) if source is None else model(source, side, cache=cache)
    logits: Tensor = output.logits
    return logits


def of(side: Inputs) -> Tensor:
    assert side.ids is not None
    return side.ids


def cut(side: Inputs, start: int, stop: int) -> Inputs:
    """Some tokens of each row."""
    names = ("ids", "real", "documents", "masked_words")
    return Inputs(**{name: fact[:, start:stop] for name in names if (fact := getattr(side, name)) is not None})
