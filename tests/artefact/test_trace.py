"""One text through a model: which of its tokens is asked about."""

from __future__ import annotations

import torch

import glassformer
from glassformer.artefact.independence import independence
from glassformer.artefact.model import Model
from glassformer.errors import ConfigError
from glassformer.models.families import gpt2, t5
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import build
from glassformer.text.tokenizer import Tokenizer
from tests.refusals import refused


def test_a_decoder_tells_what_comes_after_the_texts_own_last_token(tokenizer: Tokenizer) -> None:
    """Not after the token that the tokenizer sets at the end."""
    module = build(gpt2(layers=1, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=24))
    text = "She likes the summer"
    found = Model(module, tokenizer).trace(text)
    tokens = [tokenizer.token(id_) for id_ in found.facts["inputs.ids"][0].tolist()]
    before, after = tokenizer.frame_ids
    assert after
    last = len(tokens) - len(after) - 1
    assert found.scored_at is not None
    assert found.scored_at.tolist() == [last]
    assert tokens[last] == tokenizer.encode(text, special=False).tokens[-1]
    alone = torch.tensor([[*before, *tokenizer.encode(text, special=False).ids]])
    with torch.no_grad():
        logits = module(Inputs(ids=alone)).logits  # [1, S, V]
    torch.testing.assert_close(found["head.logits"], logits[:, -1])


def test_an_encoder_decoder_is_refused_with_the_call_that_works(tokenizer: Tokenizer) -> None:
    module = build(t5(layers=1, width=16, heads=2, vocabulary=tokenizer.vocabulary_size))
    model = Model(module, tokenizer)
    for look in (model.trace, lambda text: independence(model, text)):
        with refused(ConfigError, got="t5", do="glassformer.trace(model.module, source, target)"):
            look("She likes")
    source, target = Inputs(ids=torch.tensor([[5, 6, 7]])), Inputs(ids=torch.tensor([[8, 9]]))
    assert glassformer.trace(model.module, source, target).verify().holds
